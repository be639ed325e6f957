// The tests that every store has to pass. A file that runs them gives the function that performs the operations, in this process or in processes of
// their own.
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { StoreName, StoreRecord, TokenRecord } from '../../src/store/store.js';
import { defined } from './defined.js';
import { startKeyring } from './keyring.js';
import { type RedisServer, startRedis } from './redis.js';
import { type Changes, secretRecord, tokenRecord } from './store-options.js';
import type { Job, Result, Step } from './store-steps.js';

export interface Subject {
  readonly store: StoreName;
}

/** Performs the steps of a job, and returns their results and the warnings. */
export type Perform = (
  job: Job,
  env: Readonly<Record<string, string>>,
) => Promise<{ results: Result[]; stderr: string }>;

/** Adds the tests that every store has to pass. It is called inside a `describe`. */
export function storeSuite(subject: Subject, performJob: Perform): void {
  const keeps = subject.store !== 'none';
  const isShared = subject.store === 'redis';
  // A server that shares entries deletes them when they expire.
  const madeAt = isShared ? Math.floor(Date.now() / 1000) - 200 : 1_700_000_000;
  let server: RedisServer | undefined;
  let storeKey = '';
  const ends: (() => void | Promise<void>)[] = [];
  let home: string;
  let env: Readonly<Record<string, string>>;
  let stateDir: string;
  let round = 0;

  beforeAll(async () => {
    if (isShared) server = await startRedis({ onEnd: (end) => ends.push(end) });
    if (subject.store === 'keychain') {
      const keyring = await startKeyring();
      ends.push(keyring.stop);
      ({ home, env } = keyring);
    } else {
      home = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-stores-'));
      ends.push(() => fs.rmSync(home, { recursive: true, force: true }));
      env = { HOME: home };
    }
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });
  beforeEach(() => {
    // Entries under another store key belong to another fleet.
    storeKey = crypto.randomBytes(32).toString('base64');
    stateDir = path.join(home, `.local/state${round++}/graphcred`);
  });

  const store = subject.store === 'none' ? 'file' : subject.store;
  const record = (key: string, more: Changes<TokenRecord> = {}) =>
    tokenRecord({
      key,
      store,
      createdAtUnix: madeAt,
      expiresAtUnix: madeAt + 3600,
      ...more,
      info: { ...more.info },
    });

  async function perform(...steps: Step[]): Promise<{ results: Result[]; stderr: string }> {
    const job: Job = {
      store: subject.store,
      stateDir,
      configDir: path.join(home, '.config/graphcred'),
      steps,
      ...(server && { redis: { url: server.url, storeKey } }),
    };
    return performJob(job, env);
  }

  async function valuesOf(...steps: Step[]): Promise<unknown[]> {
    const { results, stderr } = await perform(...steps);
    expect(stderr).toBe('');
    return results.map((result) => ('code' in result ? result : result.value));
  }

  it.each([
    ['unicode', 'pässwörd \u{1f511} 漢字 "quoted" \\ end'],
    ['10 KB', `${'x'.repeat(10_239)}!`],
  ])('stores %s for the next process', async (_what, value) => {
    const expiring = record('demo ünïcode key');
    expect(await valuesOf({ do: 'write', record: expiring, value })).toEqual([true]);
    expect(
      await valuesOf({ do: 'read', key: expiring.key }, { do: 'find', key: expiring.key }, { do: 'list' }),
    ).toEqual(keeps ? [value, expiring, [expiring]] : [undefined, undefined, []]);
  });

  it('replaces value and record', async () => {
    const older = record('demo');
    const newer = record('demo', {
      createdAtUnix: madeAt + 100,
      expiresAtUnix: madeAt + 3700,
      info: { graph: 'social' },
    });
    const results = await valuesOf(
      { do: 'write', record: older, value: 'long '.repeat(2_000) },
      { do: 'write', record: newer, value: 'short' },
      { do: 'read', key: 'demo' },
      { do: 'list' },
    );
    expect(results.slice(2)).toEqual(keeps ? ['short', [newer]] : [undefined, []]);
  });

  it('removes an entry once, and reports it', async () => {
    expect(
      await valuesOf(
        { do: 'write', record: record('demo'), value: 'v'.repeat(6_000) },
        { do: 'remove', key: 'demo' },
        { do: 'remove', key: 'demo' },
        { do: 'read', key: 'demo' },
        { do: 'list' },
      ),
    ).toEqual([true, keeps, false, undefined, []]);
    expect(fs.existsSync(stateDir) ? fs.readdirSync(stateDir) : []).toEqual([]);
  });

  it('finds nothing if nothing was stored, and creates no folder for that', async () => {
    expect(await valuesOf({ do: 'read', key: 'x' }, { do: 'list' }, { do: 'remove', key: 'x' })).toEqual([
      undefined,
      [],
      false,
    ]);
    expect(fs.existsSync(stateDir)).toBe(false);
  });

  it('stores entries of different kinds and keys separately', async () => {
    const token = record('one');
    const secret = isShared ? record('two') : secretRecord({ key: 'two', store });
    const results = await valuesOf(
      { do: 'write', record: token, value: 'a token' },
      { do: 'write', record: secret, value: 'a secret' },
      { do: 'remove', key: 'one' },
      { do: 'read', key: 'one' },
      { do: 'read', key: 'two' },
      { do: 'list' },
    );
    expect(results.slice(3)).toEqual(keeps ? [undefined, 'a secret', [secret]] : [undefined, undefined, []]);
  });

  it('loses nothing when twenty processes write at once', { timeout: 60_000 }, async () => {
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    const own = await Promise.all(
      numbers.map((i) =>
        valuesOf(
          { do: 'write', record: record(`own ${i}`), value: `value ${i} ${'.'.repeat(3_000)}` },
          { do: 'write', record: record('shared'), value: `shared ${i}` },
          { do: 'read', key: `own ${i}` },
        ),
      ),
    );
    expect(own).toEqual(
      numbers.map((i) => [true, true, keeps ? `value ${i} ${'.'.repeat(3_000)}` : undefined]),
    );
    const [listed, shared, ...values] = await valuesOf(
      { do: 'list' },
      { do: 'read', key: 'shared' },
      ...numbers.map((i): Step => ({ do: 'read', key: `own ${i}` })),
    );
    expect((listed as StoreRecord[]).map(({ key }) => key).sort()).toEqual(
      keeps ? ['shared', ...numbers.map((i) => `own ${i}`)].sort() : [],
    );
    expect(values).toEqual(numbers.map((i) => (keeps ? `value ${i} ${'.'.repeat(3_000)}` : undefined)));
    if (keeps) expect(shared).toMatch(/^shared \d+$/);
  });

  it('leaves the value in no file in plain text, and its files can be read by this user only', async () => {
    const value = `needle${'0123456789abcdef'.repeat(4)}`;
    await valuesOf({ do: 'write', record: record('demo'), value }, { do: 'read', key: 'demo' });
    for (const form of [
      value,
      Buffer.from(value).toString('base64').slice(0, -4),
      Buffer.from(value).toString('hex'),
    ])
      expect(filesWith(form, home)).toEqual([]);
    for (const name of ['.config/graphcred', path.relative(home, stateDir)]) {
      const dir = path.join(home, name);
      if (!fs.existsSync(dir)) continue;
      expect(modeOf(dir)).toBe('700');
      for (const file of fs.readdirSync(dir)) expect(modeOf(path.join(dir, file))).toBe('600');
    }
    expect(fs.existsSync(stateDir)).toBe(keeps && !isShared);
  });

  if (!keeps || isShared) return;

  describe('ignores', () => {
    const cases: [string, RegExp, (file: string) => void][] = [
      ['a record that others can change', /other users can write it/, (file) => fs.chmodSync(file, 0o620)],
      ['half a record', /not a graphcred record/, (file) => fs.truncateSync(file, 40)],
    ];
    it.each(cases)('%s, and works without it', async (_what, warning, spoil) => {
      await valuesOf({ do: 'write', record: record('demo'), value: 'kept' });
      spoil(path.join(stateDir, defined(fs.readdirSync(stateDir)[0])));
      const { results, stderr } = await perform({ do: 'read', key: 'demo' }, { do: 'list' });
      expect(results).toEqual([{}, { value: [] }]);
      expect(stderr).toMatch(warning);
    });

    it('a folder in which nothing can be written', async () => {
      const parent = path.dirname(stateDir);
      fs.mkdirSync(path.dirname(parent), { recursive: true });
      fs.writeFileSync(parent, 'in the way');
      const { results } = await perform(
        { do: 'find', key: 'demo' },
        { do: 'write', record: record('demo'), value: 'kept' },
      );
      expect(results).toEqual([
        {},
        {
          code: 'STORE_UNAVAILABLE',
          message: expect.stringContaining(`cannot write to ${stateDir}`),
          hint: 'move that file away',
        },
      ]);
    });
  });
}

function modeOf(file: string): string {
  return (fs.lstatSync(file).mode & 0o777).toString(8);
}

function filesWith(text: string, dir: string): string[] {
  try {
    const found = execFileSync('grep', ['-rlF', '-D', 'skip', '-e', text, dir], { encoding: 'utf8' });
    return found.trim().split('\n');
  } catch (error) {
    // grep exits with 1 if it found nothing, and with 2 if it could not search.
    expect((error as { status: number }).status).toBe(1);
    return [];
  }
}
