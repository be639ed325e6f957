// Tests what only a process of its own has: file descriptors, and standard input that nobody closes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { COMMAND, start } from '../helpers/process.js';

test('standard input that does not end is TIMEOUT after --timeout', async () => {
  const argv = ['token', 'check', '--token-stdin', '--timeout', '1', '-o', 'json'];
  const env = { HOME: temporaryHome(), GRAPHCRED_STORE: 'none' };
  const { child, ended } = start(argv, env, 'open');
  child.stdin?.write('x');
  const { status, stderr } = await ended;
  expect({ status, code: JSON.parse(stderr).error.code }).toEqual({ status: 7, code: 'TIMEOUT' });
});

test.skipIf(!fs.existsSync('/dev/full'))('a result that cannot be written is exit 2', async () => {
  const [program, ...first] = COMMAND;
  const full = fs.openSync('/dev/full', 'w');
  const child = spawn(program, [...first, '--version'], { stdio: ['ignore', full, 'pipe'] });
  fs.closeSync(full);
  let stderr = '';
  child.stderr?.on('data', (text) => {
    stderr += text;
  });
  expect(await once(child, 'close')).toEqual([2, null]);
  expect(stderr).toContain('The result cannot be written to standard output (ENOSPC).');
});
