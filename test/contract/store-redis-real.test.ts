// The store redis in this process against a real redis-server, which knows better than an imitation what the scripts do. Storms, failovers, clusters
// and killed processes are in test/e2e.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { tryLock } from '../../src/files/lock.js';
import { entryPath, tokenKey } from '../../src/store/records.js';
import { type Cipher, cipherOf } from '../../src/store/redis/cipher.js';
import type { RedisStoreOptions } from '../../src/store/redis/store.js';
import type { Lock, StoreRecord } from '../../src/store/store.js';
import { temporaryHome } from '../helpers/cli.js';
import { array, bulk, startHostileRedis } from '../helpers/hostile-redis.js';
import { type RedisServer, redisSkipReason, startRedis } from '../helpers/redis.js';
import {
  failureOf,
  freshToken,
  type Opened,
  openRedis,
  turnOptions,
  valueIn,
} from '../helpers/redis-store.js';

describe.skipIf(redisSkipReason())('a real Redis server', () => {
  let redis: RedisServer;
  let storeKey: Buffer;
  let cipher: Cipher;
  const ends: (() => void)[] = [];
  beforeAll(async () => {
    redis = await startRedis({ onEnd: (end) => ends.push(end), args: ['--databases', '3'] });
  });
  afterAll(() => {
    for (const end of ends) end();
  });
  // With a store key of its own a test finds nothing that another one left.
  beforeEach(() => {
    storeKey = crypto.randomBytes(32);
    cipher = cipherOf(storeKey);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  /** Opens the store as another machine of the same fleet would. */
  const machine = (options: Partial<RedisStoreOptions> = {}) =>
    openRedis(redis.url, { storeKey, ...options });
  const keyOf = (what: keyof ReturnType<Cipher['keysOf']>, key = 'one') =>
    cipher.keysOf(cipher.nameOf(key))[what];
  const number = async (...command: string[]) => Number(await redis.cli(...command));
  const write = ({ store }: Opened, value: string, record = freshToken('one')) =>
    store.put(record, new Sensitive(value));
  const take = ({ store }: Opened, waitMs = 20_000, accepts = true) =>
    store.lock('one', turnOptions(waitMs, accepts));
  const publish = (turn: Lock | undefined, value: string, record: StoreRecord = freshToken('one')) =>
    machine().store.put(record, new Sensitive(value), turn);

  describe('stores a token', () => {
    it('for as long as it lives, and returns what was written, from the store redis', async () => {
      const opened = machine();
      await write(opened, 'first', { ...freshToken('one', 600), store: 'file' });
      expect(await number('PTTL', keyOf('token'))).toBeGreaterThan(590_000);
      expect(await number('PTTL', keyOf('token'))).toBeLessThanOrEqual(600_000);
      const [record] = await machine().store.list('one');
      expect(record).toMatchObject({ store: 'redis', kind: 'token', key: 'one', info: { graph: 'demo' } });
      expect(Math.abs((record?.expiresAtUnix ?? 0) - Date.now() / 1000 - 600)).toBeLessThan(5);
      expect(opened.warnings).toEqual([]);
    });

    it('unless it has just ended', async () => {
      await write(machine(), 'late', freshToken('one', -5));
      expect(await number('EXISTS', keyOf('token'))).toBe(0);
    });

    it('and reads the value that belongs to the record that was found, also from a list', async () => {
      await write(machine(), 'old');
      const { store } = machine();
      const [found] = await store.list('one');
      const [listed] = await store.list();
      await write(machine(), 'new');
      expect((await store.get(found as StoreRecord))?.reveal()).toBe('old');
      expect((await store.get(listed as StoreRecord))?.reveal()).toBe('old');
    });

    it('whose times a clock of two hours off does not end early, and an older one does', async () => {
      await write(machine(), 'value', freshToken('one', 600));
      const reading = (aheadMs: number) => valueIn(machine({ now: () => Date.now() + aheadMs }), 'one');
      const [ahead] = await machine({ now: () => Date.now() + 3_600_000 }).store.list('one');
      // Both of its times are by the clock of the reader.
      expect(ahead && (ahead.expiresAtUnix ?? 0) - ahead.createdAtUnix).toBe(600);
      expect(await reading(600_000 + 7_100_000)).toBe('value');
      expect(await reading(600_000 + 7_300_000)).toBeUndefined();
    });
  });

  it('gives a token no end that is later than two clocks can differ by', async () => {
    const record = freshToken('one', 10_000);
    await write(machine(), 'value', record);
    await redis.cli('PEXPIRE', keyOf('token'), '10000000');
    const late = await machine({ now: () => Date.now() + 9_990_000 }).store.list('one');
    expect(late).toMatchObject([{ expiresAtUnix: record.expiresAtUnix + 7200 }]);
  });

  describe('lists tokens', () => {
    // holds: C11.10
    it('all of them, also more than are read at once', async () => {
      const opened = machine();
      const keys = Array.from({ length: 120 }, (_, index) => `key ${index}`);
      for (const key of keys) await write(opened, `value of ${key}`, freshToken(key));
      const reader = machine();
      const records = await reader.store.list();
      expect(records.map(({ key }) => key).sort()).toEqual([...keys].sort());
      expect((await reader.store.get(records[99] as StoreRecord))?.reveal()).toBe(
        `value of ${records[99]?.key}`,
      );
    });

    it('without one that has gone or was changed, of which it warns, and without those of another fleet', async () => {
      for (const key of ['one', 'two', 'three']) await write(machine(), key, freshToken(key));
      await redis.cli('DEL', keyOf('token', 'one'));
      await redis.cli('SET', keyOf('token', 'two'), 'changed', 'PX', '60000');
      const { store, warnings } = machine();
      expect((await store.list()).map(({ key }) => key)).toEqual(['three']);
      expect(warnings).toEqual([expect.stringContaining('a token on the Redis server cannot be used')]);
      expect(await openRedis(redis.url, { storeKey: crypto.randomBytes(32) }).store.list()).toEqual([]);
    });

    it('from an index that forgets what has ended, and ends with its last token', async () => {
      await redis.cli('ZADD', cipher.index, '1000', 'f'.repeat(32));
      await write(machine(), 'long', freshToken('one', 600));
      await write(machine(), 'short', freshToken('two', 60));
      expect(await number('ZCARD', cipher.index)).toBe(2);
      const score = await number('ZSCORE', cipher.index, cipher.nameOf('two'));
      expect(Math.abs(score - Date.now() / 1000 - 60)).toBeLessThan(3);
      const life = await number('PTTL', cipher.index);
      expect(life).toBeGreaterThan(590_000);
      expect(life).toBeLessThanOrEqual(600_000);
    });
  });

  describe('removes a token', () => {
    const listed = () => number('ZCARD', cipher.index);

    it('from the index too, and says whether there was one', async () => {
      await write(machine(), 'value');
      expect(await listed()).toBe(1);
      expect(await machine().store.delete('one')).toBe(true);
      expect(await number('EXISTS', keyOf('token'))).toBe(0);
      expect(await listed()).toBe(0);
      expect(await machine().store.delete('one')).toBe(false);
    });

    it('and leaves the newest one of the identity as it is when it is another', async () => {
      const { store } = machine();
      const [old, next] = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb'].map((name) => freshToken(tokenKey('one', name)));
      for (const record of [old, next]) await store.put(record as StoreRecord, new Sensitive('value'));
      expect(await listed()).toBe(2);
      expect(await store.delete(String(old?.key))).toBe(true);
      expect((await machine().store.list('one')).map(({ key }) => key)).toEqual([next?.key]);
      expect(await store.delete(String(next?.key))).toBe(true);
      expect(await machine().store.list('one')).toEqual([]);
      expect(await listed()).toBe(0);
    });
  });

  describe('gives a turn', () => {
    const machineLockOf = (stateDir: string) => entryPath(stateDir, 'token', 'one', 'lock');

    it('for three seconds, renewed each second, and frees it at once', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      const stateDir = temporaryHome();
      const turn = await take(machine({ stateDir }));
      expect(await number('PTTL', keyOf('lock'))).toBeGreaterThan(2000);
      expect(await number('PTTL', keyOf('lock'))).toBeLessThanOrEqual(3000);
      for (let renewal = 0; renewal < 2; renewal++) {
        await redis.cli('PEXPIRE', keyOf('lock'), '1000');
        vi.advanceTimersByTime(1000);
        await expect.poll(() => number('PTTL', keyOf('lock'))).toBeGreaterThan(2000);
        // The answer to the renewal has to arrive before the next one is sent.
        await new Promise((resolve) => setImmediate(resolve));
      }
      await turn?.release();
      expect(await number('EXISTS', keyOf('lock'))).toBe(0);
      expect(vi.getTimerCount()).toBe(0);
      const local = tryLock(machineLockOf(stateDir));
      expect(local).toBeDefined();
      local?.release();
    });

    it('back to a process whose lock the server lost, and not over the lock of another one', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      const turn = await take(machine());
      const mine = await redis.cli('GET', keyOf('lock'));
      await redis.cli('DEL', keyOf('lock'));
      vi.advanceTimersByTime(1000);
      await expect.poll(() => redis.cli('GET', keyOf('lock'))).toBe(mine);
      await redis.cli('SET', keyOf('lock'), 'somebody else', 'PX', '60000');
      vi.advanceTimersByTime(1000);
      await publish(turn, 'mine');
      await turn?.release();
      expect(await redis.cli('GET', keyOf('lock'))).toBe('somebody else');
      expect(await number('PTTL', keyOf('lock'))).toBeGreaterThan(50_000);
    });

    // holds: C11.3
    it('to one of several machines that ask at the same moment', async () => {
      const got: (Lock | undefined)[] = [];
      const asking = Array.from({ length: 6 }, async () => {
        const opened = machine();
        const turn = await take(opened);
        got.push(turn);
        if (turn) await publish(turn, 'minted');
        await turn?.release();
        return valueIn(opened, 'one');
      });
      expect(await Promise.all(asking)).toEqual(Array(6).fill('minted'));
      expect(got.filter((turn) => turn !== undefined)).toHaveLength(1);
    });

    it('to nobody else meanwhile', async () => {
      const turn = await take(machine());
      expect(await failureOf(take(machine(), 100))).toMatchObject({
        code: 'LOCK_TIMEOUT',
        message: 'another machine is getting this token; waited 0 s',
        hint: expect.stringContaining('--timeout'),
      });
      await turn?.release();
      const next = await take(machine(), 100);
      expect(next).toBeDefined();
      await next?.release();
    });

    it('whose token replaces an older one, and ends the wait of the others', async () => {
      await write(machine(), 'old');
      const turn = await take(machine(), 20_000, false);
      const { store } = machine();
      const accepts = async (record: StoreRecord) => (await store.get(record))?.reveal();
      const values: (string | undefined)[] = [];
      const waiting = store.lock('one', {
        ...turnOptions(20_000, true),
        accepts: (record) => {
          void accepts(record).then((value) => values.push(value));
          return (record.expiresAtUnix ?? 0) > Date.now() / 1000 + 4000;
        },
      });
      await publish(turn, 'new', freshToken('one', 5000));
      expect(await waiting).toBeUndefined();
      expect(values.at(-1)).toBe('new');
      await turn?.release();
    });

    it('to nobody when a usable token is there, and leaves no lock', async () => {
      await write(machine(), 'there');
      const stateDir = temporaryHome();
      expect(await take(machine({ stateDir }))).toBeUndefined();
      expect(await number('EXISTS', keyOf('lock'))).toBe(0);
      expect(fs.readdirSync(path.dirname(machineLockOf(stateDir)))).not.toContain(
        path.basename(machineLockOf(stateDir)),
      );
    });

    it('that another process of the machine does not get, even when the server has lost the lock', async () => {
      const stateDir = temporaryHome();
      const turn = await take(machine({ stateDir }));
      await redis.cli('DEL', keyOf('lock'));
      expect(await failureOf(take(machine({ stateDir }), 50))).toMatchObject({
        code: 'LOCK_TIMEOUT',
        message: expect.stringContaining('another graphcred process'),
      });
      await turn?.release();
    });

    it('that was lost adds its token without hiding that of its new owner, and does not free the new lock', async () => {
      const { store } = machine();
      const lost = await take(machine());
      await redis.cli('SET', keyOf('lock'), 'somebody else', 'PX', '60000');
      const mine = freshToken(tokenKey('one', 'aaaaaaaaaaaa'));
      await store.put(mine, new Sensitive('kept'), lost);
      expect(await valueIn(machine(), 'one')).toBe('kept');
      await write(machine(), 'theirs');
      await store.put(mine, new Sensitive('mine'), lost);
      await lost?.release();
      expect(await valueIn(machine(), 'one')).toBe('theirs');
      expect(await machine().store.get(mine)).toEqual(new Sensitive('mine'));
      expect(await redis.cli('GET', keyOf('lock'))).toBe('somebody else');
    });

    it('with a number that goes up, and begins at the time when the server lost the counter', async () => {
      const turns = async () => {
        const turn = await take(machine());
        await turn?.release();
        return number('GET', keyOf('counter'));
      };
      const first = await turns();
      expect(Math.abs(first - Date.now())).toBeLessThan(5000);
      await redis.cli('SET', keyOf('counter'), '9000000000000');
      expect(await turns()).toBe(9_000_000_000_001);
      const life = await number('PTTL', keyOf('counter'));
      expect(life).toBeGreaterThan(86_000_000);
      expect(life).toBeLessThanOrEqual(86_400_000);
    });
  });

  describe('shares a refusal', () => {
    const refusal = new GraphException('AUTH_FAILED', 'wrong secret', {
      hint: 'check it',
      status: 401,
      serverCode: 'X-1',
      serverText: 'no',
    });

    it('with those who waited, and not with those who came later', async () => {
      const turn = await take(machine());
      const stateDir = temporaryHome();
      const waiter = machine({ stateDir });
      await waiter.store.list('one');
      const waiting = failureOf(take(waiter));
      await turn?.refuse(refusal);
      await turn?.release();
      expect(await waiting).toMatchObject({ ...refusal });
      const local = tryLock(entryPath(stateDir, 'token', 'one', 'lock'));
      expect(local).toBeDefined();
      local?.release();
      const life = await number('PTTL', keyOf('refusal'));
      expect(life).toBeGreaterThan(25_000);
      expect(life).toBeLessThanOrEqual(30_000);
      const late = await take(machine());
      expect(late).toBeDefined();
      await late?.release();
    });

    it('or releases a turn without an error when the server has gone', async () => {
      const own = await startRedis();
      const turn = await take(openRedis(own.url, { storeKey, timeoutMs: 500 }));
      await own.kill();
      await turn?.refuse(refusal);
      await turn?.release();
      expect(turn).toBeDefined();
    });
  });

  it('tells what was minted after the first look from what was there before', async () => {
    const mint = async (value: string) => {
      const turn = await take(machine(), 20_000, false);
      await publish(turn, value, freshToken('one', 3600, { requestedAtMs: 5 }));
      await turn?.release();
    };
    await mint('old');
    // The server has lost the counter, but not the token.
    await redis.cli('DEL', keyOf('counter'));
    let clock = Date.now() - 1000;
    const reader = machine({ now: () => clock });
    expect((await reader.store.list('one'))[0]?.info.requestedAtMs).toBeUndefined();
    const looked = clock;
    clock += 500;
    await mint('new');
    expect((await reader.store.list('one'))[0]?.info.requestedAtMs).toBe(looked);
  });

  it('keeps the process alive until it has answered, and no longer', async () => {
    const active = () =>
      process.getActiveResourcesInfo().filter((name) => /TCPSocket|Timeout/.test(name)).length;
    const { store } = machine();
    const before = active();
    await store.check();
    // What an earlier test has left in this process may end meanwhile.
    const idle = active();
    expect(idle).toBeLessThanOrEqual(before);
    const asking = store.check();
    await new Promise((resolve) => process.nextTick(resolve));
    expect(active()).toBeGreaterThan(idle);
    await asking;
    expect(active()).toBeLessThanOrEqual(idle);
  });

  describe('with a password', () => {
    let guarded: RedisServer;
    const ending: (() => void)[] = [];
    beforeAll(async () => {
      const users = ['user default on >opensesame ~* &* +@all', 'user job on >letmein ~* &* +@all'];
      guarded = await startRedis({ users, onEnd: (end) => ending.push(end) });
    });
    afterAll(() => {
      for (const end of ending) end();
    });
    const login = { password: new Sensitive('opensesame') };

    it('gets it from a user without a name and from one with a name', async () => {
      await openRedis(guarded.url, { storeKey, ...login }).store.check();
      const named = { username: 'job', password: new Sensitive('letmein') };
      await openRedis(guarded.url, { storeKey, ...named }).store.check();
      expect(await failureOf(openRedis(guarded.url, { storeKey }).store.check())).toMatchObject({
        serverCode: 'NOAUTH',
        hint: expect.stringContaining('GRAPHCRED_REDIS_PASSWORD_FILE'),
      });
      const wrong = { username: 'job', password: new Sensitive('opensesame') };
      expect(await failureOf(openRedis(guarded.url, { storeKey, ...wrong }).store.check())).toMatchObject({
        serverCode: 'WRONGPASS',
        hint: expect.stringContaining('GRAPHCRED_REDIS_USERNAME'),
      });
    });

    it('gets it behind a Sentinel, which is given the one in the address alone', async () => {
      const told: string[] = [];
      const { url } = await startHostileRedis(([name = '', ...args]) => {
        told.push(...args);
        return name === 'hello' ? '*0\r\n' : array(bulk('127.0.0.1'), bulk(String(guarded.port)));
      });
      const behind = { storeKey, sentinelMaster: 'tokens', ...login };
      await openRedis(url, behind).store.check();
      expect(told).not.toContain('opensesame');
      await openRedis(url, { ...behind, sentinelLogin: { password: new Sensitive('theirs') } }).store.check();
      expect(told).toContain('theirs');
      expect(told).not.toContain('opensesame');
    });
  });
});
