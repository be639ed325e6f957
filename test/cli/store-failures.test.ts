import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { unfinished } from '../../src/store/machine-store.js';
import { listEntries, writeEntry } from '../../src/store/records.js';
import type { StoreRecord } from '../../src/store/store.js';
import { bench } from '../helpers/cli.js';
import { put, stateOf, unremovable, unsavable } from '../helpers/home.js';

afterEach(() => vi.restoreAllMocks());

describe('what a killed process leaves', () => {
  test('a trial entry is never used as a credential, and the next save removes it', async () => {
    const { run, home, env } = await bench();
    // This imitates a process that is killed between writing the trial entry and removing it.
    unremovable('secret');
    expect((await run('secret create ci --save')).status).not.toBe(0);
    vi.restoreAllMocks();
    const secrets = () => fs.readdirSync(stateOf(home)).filter((name) => name.startsWith('secret-'));
    expect(secrets()).toHaveLength(1);
    const nobody = { env: { GRAPHCRED_USERNAME: '', GRAPHCRED_PASSWORD: '' } };
    expect(env.GRAPHCRED_STORE).toBe('file');
    expect((await run('token get', nobody)).status).toBe(2);
    expect((await run('secret create other --save')).status).toBe(0);
    expect(secrets()).toHaveLength(1);
    expect((await run('token get', nobody)).status).toBe(0);
  });

  /** Imitates the keychain, where a value comes after its record and goes before it. */
  const mark = (home: string, step: 'write' | 'delete', isWanted: (record: StoreRecord) => boolean) => {
    for (const { record } of listEntries(stateOf(home)))
      if (isWanted(record)) writeEntry(stateOf(home), { record: unfinished(record, step) });
  };

  test('a saved secret whose value did not get into the keychain is not used', async () => {
    const { run, home } = await bench();
    for (const name of ['one', 'two']) expect((await run(`secret create ${name} --save`)).status).toBe(0);
    mark(home, 'write', ({ kind, info }) => kind === 'secret' && info.alias === 'two');
    expect(await run('token get', { env: { GRAPHCRED_PASSWORD: '' } })).toMatchObject({ status: 0 });
  });

  test('a record whose value is deleted already goes at the next try', async () => {
    const { run, home } = await bench();
    await run('token get');
    mark(home, 'delete', () => true);
    expect((await run('token delete')).status).toBe(3);
    expect(listEntries(stateOf(home))).toEqual([]);
  });

  test('the tokens of a dropped secret go at the next try', async () => {
    const { run, home } = await bench();
    await run('secret create ci --save');
    await run('token get', { env: { GRAPHCRED_PASSWORD: '' } });
    unremovable('token');
    expect((await run('secret drop ci')).stderr).toContain('could not delete the saved value of "ci"');
    vi.restoreAllMocks();
    expect((await run('secret drop ci')).status).toBe(3);
    expect(listEntries(stateOf(home))).toEqual([]);
  });
});

describe('a failure of the store', () => {
  test('after a refresh causes a warning, and the token is printed', async () => {
    const { run, json } = await bench();
    await run('token get --lifetime 1h');
    unremovable('token');
    const renewed = await run('token refresh --lifetime 2h');
    expect(renewed).toMatchObject({ status: 0, stderr: expect.stringContaining('old expiry time') });
    expect(renewed.stdout).toMatch(/^[a-z0-9]{32}\n$/);
    vi.restoreAllMocks();
    expect(await json('token get --lifetime 2h')).toMatchObject({ source: 'store' });
  });

  test('of an unexpected kind does not prevent that the token and the secret are printed', async () => {
    const { run } = await bench();
    const cipher = crypto.createCipheriv;
    let rounds = 0;
    const fail = (from: number) => {
      rounds = 0;
      vi.spyOn(crypto, 'createCipheriv').mockImplementation(((...args: Parameters<typeof cipher>) => {
        if (++rounds >= from) throw new TypeError('nobody thought of this');
        return cipher(...args);
      }) as typeof cipher);
    };
    fail(1);
    const got = await run('token get');
    expect(got).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/) });
    expect(got.stderr).toContain('the token is not kept');
    // The trial entry can be written, but the secret cannot.
    fail(2);
    const made = await run('secret create ci --save');
    expect(made).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/),
      stderr: expect.stringContaining('graphcred ran into a bug (TypeError).'),
    });
  });

  test('after a secret was created is exit 6, and its value is printed', async () => {
    const { run } = await bench();
    unsavable('ci');
    expect(await run('secret create ci --save')).toEqual({
      status: 6,
      stdout: expect.stringMatching(/^[a-z0-9]{32}\n$/),
      stderr: expect.stringMatching(
        /secret "ci": this is the only time.*The secret was made, but it could not be saved: .*keep the value/s,
      ),
    });
  });

  test('says of a token that it cannot be printed, and was made', async () => {
    const { run } = await bench();
    expect(await run('token get', { fullDisk: true })).toEqual({
      status: 2,
      stdout: '',
      stderr: 'graphcred: The result cannot be written. Already done: got a token.\nhint: check the disk\n',
    });
  });

  test('does not make a secret of which the disk has no room for the value look unmade', async () => {
    const { run, json } = await bench();
    const lost = await run('secret create ci', { fullDisk: true });
    expect(lost).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('drop the secret: graphcred secret drop ci\n'),
    });
    expect(await json('secret list')).toMatchObject({ secrets: [{ alias: 'ci' }] });
  });

  test('does not keep secret drop from saying what was dropped', async () => {
    const { run } = await bench({ serverVersion: '4.1.2' });
    await run('secret create ci --save');
    await run('token get', { env: { GRAPHCRED_PASSWORD: undefined } });
    unremovable('secret');
    const { stderr, ...result } = await run('secret drop ci');
    expect(result).toEqual({ status: 0, stdout: 'Dropped: ci\n' });
    expect(stderr).toMatch(
      / 1 token made from the secret "ci" can still be used .*not delete the saved value of "ci": cannot/s,
    );
  });

  test.each(['login', 'config trust .graphcredrc', 'token get -o gitlab --dotenv out.env'])(
    'of a full disk is exit 6 and not a mistake of the user: %s',
    async (line) => {
      const { run, home } = await bench();
      fs.writeFileSync(path.join(home, '.graphcredrc'), '');
      const full = vi.spyOn(fs, 'writeFileSync').mockImplementation(() => {
        throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
      });
      const { status, stderr } = await run(line);
      full.mockRestore();
      expect(status).toBe(6);
      expect(stderr).toMatch(/cannot write to \S+: the disk is full\nhint: /);
    },
  );

  test('because of a read-only config folder is a clear error', async () => {
    const { run, home } = await bench();
    put(home, '.graphcredrc', 'profiles: { default: { graph: demo } }\n');
    put(home, '.config/graphcred', 'a file');
    for (const line of ['config trust .graphcredrc', 'login']) {
      const refused = await run(`${line} -o json`);
      expect(refused.status, line).toBe(5);
      expect(refused.stderr, line).toContain('CONFIG_INVALID');
    }
    expect((await run('token get')).status).toBe(0);
  });

  test('because the file that records the store is a FIFO is told at once', async () => {
    const { run, home } = await bench();
    fs.mkdirSync(path.join(home, '.config/graphcred'), { recursive: true, mode: 0o700 });
    execFileSync('mkfifo', ['-m', '600', path.join(home, '.config/graphcred/store')]);
    expect(await run('token get', { env: { GRAPHCRED_STORE: '', CI: '1' } })).toMatchObject({
      status: 6,
      stderr: expect.stringContaining('cannot be read: it is not a regular file.'),
    });
  });
});
