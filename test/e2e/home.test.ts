// Runs the command for users without a home folder of their own.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { COMMAND, start } from '../helpers/process.js';

const NOBODY = 54_321;
const cannotChangeUser =
  process.getuid?.() === 0 ? undefined : 'only root can start a process as a user without an entry';
if (cannotChangeUser) console.log(`skipped: ${cannotChangeUser}`);

describe.skipIf(cannotChangeUser)('a user without a passwd entry and without HOME', () => {
  const run = (argv: readonly string[], env: Record<string, string> = {}) => {
    const [command, ...first] = COMMAND;
    return spawnSync(command, [...first, ...argv], {
      env: { PATH: process.env.PATH ?? '', ...env },
      uid: NOBODY,
      gid: NOBODY,
      cwd: '/',
      encoding: 'utf8',
    });
  };

  test.each(['--version', 'help', 'help exit-codes'])('%s works', (line) => {
    const { status, stdout, stderr } = run(line.split(' '));
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).not.toBe('');
  });

  test.each(['token list', 'config path', 'status --offline'])('%s says so, in a line', (line) => {
    const { status, stderr } = run(line.split(' '));
    expect(stderr).not.toMatch(/^\s+at |ran into a bug/m);
    expect(stderr).toContain('there is no home folder, so nothing is stored');
    expect([0, 3, 6]).toContain(status);
  });
});

// holds: C3.4
test.each(['', '.', 'relative/home'])(
  'HOME=%j: a planted ./.config is not the user’s own config folder, and its program is not run',
  async (home) => {
    const folder = temporaryHome();
    const ran = path.join(folder, 'ran');
    for (const below of ['.config', 'relative/home/.config']) {
      fs.mkdirSync(path.join(folder, below, 'graphcred'), { recursive: true });
      fs.writeFileSync(
        path.join(folder, below, 'graphcred', 'config.json'),
        JSON.stringify({ graph: 'demo', username: 'x', secretCommand: ['touch', ran], timeout: 2 }),
      );
    }
    const { status } = await start(
      ['token', 'get', '--store', 'none', '--timeout', '2'],
      { HOME: home, CI: '1' },
      '',
      folder,
    ).ended;
    expect(status).not.toBe(0);
    expect(fs.existsSync(ran)).toBe(false);
  },
);
