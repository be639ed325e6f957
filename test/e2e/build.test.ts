import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';

function hashes(folder: string): Record<string, string> {
  const files = fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => fs.statSync(path.join(folder, name)).isFile())
    .sort();
  const hashOf = (name: string) =>
    createHash('sha256')
      .update(fs.readFileSync(path.join(folder, name)))
      .digest('hex');
  return Object.fromEntries(files.map((name) => [name, hashOf(name)]));
}

test('a second build in another folder gives the same bytes', () => {
  const again = path.join(temporaryHome(), 'again');
  execFileSync(process.execPath, ['scripts/build.mjs', again], { stdio: 'pipe' });
  const built = hashes('dist');
  expect(Object.keys(built).length).toBeGreaterThan(50);
  expect(hashes(again)).toEqual(built);
});
