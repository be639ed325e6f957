import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type WithLock, writeProfile } from '../../src/config/write.js';
import { temporaryHome } from '../helpers/cli.js';

/** Only this process writes, so no lock is needed. */
const now: WithLock = async (_lock, work) => work();
const read = (file: string) => JSON.parse(fs.readFileSync(file, 'utf8'));

test('a profile is added to the file that a symbolic link points to, and the link stays', async () => {
  const home = temporaryHome();
  const [folder, elsewhere] = [path.join(home, 'config'), path.join(home, 'dotfiles')];
  for (const one of [folder, elsewhere]) fs.mkdirSync(one);
  fs.writeFileSync(path.join(elsewhere, 'mine.json'), '{"profiles":{"a":{"graph":"one"}}}');
  fs.symlinkSync('../dotfiles/mine.json', path.join(folder, 'config.json'));
  expect(await writeProfile(folder, 'b', { profile: { graph: 'two' }, removed: [] }, now)).toBe(
    path.join(folder, 'config.json'),
  );
  expect(fs.lstatSync(path.join(folder, 'config.json')).isSymbolicLink()).toBe(true);
  expect(read(path.join(elsewhere, 'mine.json')).profiles).toEqual({
    a: { graph: 'one' },
    b: { graph: 'two' },
  });
  expect(fs.readdirSync(elsewhere)).toEqual(['mine.json']);
});

test('a profile file is readable only by this user, and other keys and the default profile do not change', async () => {
  const folder = path.join(temporaryHome(), 'graphcred');
  const file = path.join(folder, 'config.json');
  await writeProfile(folder, 'a', { profile: { graph: 'one', lifetime: '1h' }, removed: [] }, now);
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
  await writeProfile(folder, 'b', { profile: { graph: 'two' }, removed: [] }, now);
  await writeProfile(folder, 'a', { profile: { minTtl: '1m' }, removed: ['graph'] }, now);
  expect(read(file)).toEqual({
    defaultProfile: 'a',
    profiles: { a: { lifetime: '1h', minTtl: '1m' }, b: { graph: 'two' } },
  });
  await writeProfile(folder, 'b', { profile: {}, removed: [], makeDefault: true }, now);
  expect(read(file).defaultProfile).toBe('b');
});
