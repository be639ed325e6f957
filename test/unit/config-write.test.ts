import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { writeProfile } from '../../src/config/write.js';
import { temporaryHome } from '../helpers/cli.js';

const read = (file: string) => JSON.parse(fs.readFileSync(file, 'utf8'));

test('a profile is added to a file that is linked to, and the link stays', () => {
  const home = temporaryHome();
  const [folder, elsewhere] = [path.join(home, 'config'), path.join(home, 'dotfiles')];
  for (const one of [folder, elsewhere]) fs.mkdirSync(one);
  fs.writeFileSync(path.join(elsewhere, 'mine.json'), '{"profiles":{"a":{"graph":"one"}}}');
  fs.symlinkSync('../dotfiles/mine.json', path.join(folder, 'config.json'));
  expect(writeProfile(folder, 'b', { graph: 'two' })).toBe(path.join(folder, 'config.json'));
  expect(fs.lstatSync(path.join(folder, 'config.json')).isSymbolicLink()).toBe(true);
  expect(read(path.join(elsewhere, 'mine.json')).profiles).toEqual({
    a: { graph: 'one' },
    b: { graph: 'two' },
  });
  expect(fs.readdirSync(elsewhere)).toEqual(['mine.json']);
});

test('a link to nowhere becomes a file', () => {
  const folder = temporaryHome();
  fs.symlinkSync('nowhere.json', path.join(folder, 'config.json'));
  writeProfile(folder, 'a', { graph: 'one' });
  expect(fs.lstatSync(path.join(folder, 'config.json')).isFile()).toBe(true);
  expect(read(path.join(folder, 'config.json')).profiles).toEqual({ a: { graph: 'one' } });
});
