import { execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bench, temporaryHome } from '../helpers/cli.js';
import { COMMAND, endOf, sandboxFor } from '../helpers/process.js';

const KEY = `${crypto.randomBytes(32).toString('base64')}\n`;
const ONE_SECOND = { GRAPHCRED_TIMEOUT: '1' };

describe.skipIf(process.platform === 'win32')(
  'the file named by GRAPHCRED_STORE_KEY_FILE (not on Windows)',
  () => {
    test('may be a pipe, which is read only once', async () => {
      const { run, json, home } = await bench();
      const [pipe, plain] = [path.join(home, 'pipe'), path.join(home, 'plain')];
      execFileSync('mkfifo', ['-m', '600', pipe]);
      fs.writeFileSync(plain, KEY, { mode: 0o600 });
      const written = fs.promises.writeFile(pipe, KEY);
      const first = await run('token get', { env: { GRAPHCRED_STORE_KEY_FILE: pipe } });
      await written;
      expect(first).toMatchObject({ status: 0, stderr: '' });
      const env = { GRAPHCRED_STORE_KEY_FILE: plain };
      expect(await json('token get', { env })).toMatchObject({ source: 'store', token: first.stdout.trim() });
    });

    test('may be a pipe without a writer: the wait ends with the time limit, and the token is printed all the same', async () => {
      const { run, home } = await bench();
      const pipe = path.join(home, 'pipe');
      execFileSync('mkfifo', ['-m', '600', pipe]);
      const { status, stderr } = await run('token get', {
        env: { GRAPHCRED_STORE_KEY_FILE: pipe, ...ONE_SECOND },
      });
      expect(status).toBe(0);
      expect(stderr).toContain(`cannot read the key file ${pipe}: its writer did not finish within 1 s`);
    });

    test('may not be an empty pipe, whose end is told at once', async () => {
      const { env } = await sandboxFor(temporaryHome());
      const words = ['-c', 'GRAPHCRED_STORE_KEY_FILE=<(true) "$@"', 'bash', ...COMMAND, 'token', 'get'];
      const { status, stderr } = await endOf(
        spawn('bash', words, { env: { ...process.env, ...env, GRAPHCRED_STORE: 'file' } }),
      );
      expect(status).toBe(0);
      expect(stderr).toContain('is not 32 bytes in base64');
    });

    test.each([
      ['620', 6, 'is not used: other users can write'],
      ['602', 6, 'is not used: other users can write'],
      ['640', 0, 'other users can read the key file'],
      ['604', 0, 'other users can read the key file'],
    ])('with mode %s gives exit %i, and the message says why', async (mode, status, why) => {
      const { run, home } = await bench();
      const file = path.join(home, 'key');
      fs.writeFileSync(file, KEY);
      fs.chmodSync(file, Number.parseInt(mode, 8));
      const saved = await run('secret create ci --save', { env: { GRAPHCRED_STORE_KEY_FILE: file } });
      expect(saved.status).toBe(status);
      expect(saved.stderr).toContain(why);
    });

    test.each([
      ['/dev/zero', 'neither a file nor a pipe'],
      ['/dev/full', 'neither a file nor a pipe'],
      ['.', 'neither a file nor a pipe'],
    ])('is refused when it is %s', async (file, why) => {
      const { run } = await bench();
      const { status, stderr } = await run('secret create ci --save', {
        env: { GRAPHCRED_STORE_KEY_FILE: file },
      });
      expect(status).toBe(6);
      expect(stderr).toContain(why);
    });

    test('is refused if it is larger than a key can be', async () => {
      const { run, home } = await bench();
      const file = path.join(home, 'large');
      fs.writeFileSync(file, KEY, { mode: 0o600 });
      fs.truncateSync(file, 100e9);
      const { status, stderr } = await run('secret create ci --save', {
        env: { GRAPHCRED_STORE_KEY_FILE: file },
      });
      expect(status).toBe(6);
      expect(stderr).toContain('larger than 4096 bytes');
    });

    test('is not asked for when the file that records the store is a FIFO, which does not block', async () => {
      const { run, home } = await bench();
      const folder = path.join(home, '.config/graphcred');
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
      execFileSync('mkfifo', ['-m', '600', path.join(folder, 'store')]);
      expect(await run('token get', { env: { GRAPHCRED_STORE: '', CI: '1' } })).toMatchObject({
        status: 6,
        stderr: expect.stringContaining('cannot be used: it is not a plain file.'),
      });
    });
  },
);
