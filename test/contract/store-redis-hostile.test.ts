import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { tryLock } from '../../src/files/lock.js';
import { entryPath } from '../../src/store/records.js';
import { cipherOf } from '../../src/store/redis/cipher.js';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { type Answer, array, bulk, startHostileRedis } from '../helpers/hostile-redis.js';
import {
  failureOf,
  freshToken,
  type Opened,
  openRedis,
  storeKey,
  turnOptions,
  valueIn,
} from '../helpers/redis-store.js';

const cipher = cipherOf(storeKey);

/** Encrypts a token as a machine with this store key would have stored it. */
function encryptedFor(
  key: string,
  { asKey = key, secondsLeft = 3600, of = cipher, generation = 1, info = {} } = {},
): Buffer {
  const record = freshToken(asKey, secondsLeft);
  const start = record.expiresAtUnix - Math.max(secondsLeft, 3600);
  const { token } = of.keysOf(of.nameOf(key));
  return of.encrypt(token, {
    record: { ...record, createdAtUnix: start, info: { ...record.info, ...info } },
    value: `token of ${asKey}`,
    generation,
  });
}

/** Starts a server that returns this token under every name, with this remaining life. */
const offering =
  (sealed: Buffer | null, lifeMs = 3_600_000): Answer =>
  ([name = '', ...args]) => {
    switch (name.toUpperCase()) {
      case 'PTTL':
        return `:${lifeMs}\r\n`;
      case 'GET':
        return bulk(sealed);
      case 'MGET':
        return array(bulk(sealed), ...args.slice(1).map(() => bulk(null)));
      case 'EVAL':
        return ':1\r\n';
      default:
        return '+OK\r\n';
    }
  };

describe('a hostile Redis server', () => {
  it.each([
    ['the token of another identity', () => encryptedFor('two')],
    [
      'a token sealed with another store key',
      () => encryptedFor('one', { of: cipherOf(crypto.randomBytes(32)) }),
    ],
    ['a token that ended three hours ago', () => encryptedFor('one', { secondsLeft: -10_800 })],
    ['a few bytes', () => Buffer.from('x')],
    ['bytes without meaning', () => crypto.randomBytes(900)],
  ])('that returns %s has it ignored with a warning', async (_what, sealed) => {
    const { url } = await startHostileRedis(offering(sealed()));
    const opened = openRedis(url);
    expect(await valueIn(opened, 'one')).toBeUndefined();
    expect(opened.warnings).toEqual([expect.stringContaining('a token on the Redis server cannot be used')]);
  });

  it.each([
    [-7_100, 'token of one'],
    [-7_300, undefined],
  ])(
    'decides whether a token that ended %i s from now by this clock still lives, up to two hours',
    async (secondsLeft, value) => {
      const { url } = await startHostileRedis(offering(encryptedFor('one', { secondsLeft })));
      expect(await valueIn(openRedis(url), 'one')).toBe(value);
    },
  );

  it('that gives a token no life has it ignored', async () => {
    const { url } = await startHostileRedis(offering(encryptedFor('one'), 0));
    expect(await valueIn(openRedis(url), 'one')).toBeUndefined();
  });

  // holds: C11.2, C11.5
  it('cannot give a token a longer life than it had at first', async () => {
    const { url } = await startHostileRedis(offering(encryptedFor('one'), 9_000_000_000));
    const [record] = await openRedis(url).store.list('one');
    expect(record?.expiresAtUnix).toBeLessThanOrEqual(Date.now() / 1000 + 3601);
  });

  it('cannot present an old token as a new one', async () => {
    const sealed = encryptedFor('one', { generation: 7, info: { requestedAtMs: Date.now() } });
    const { url } = await startHostileRedis(offering(sealed));
    const { store } = openRedis(url);
    await store.list('one');
    expect((await store.list('one'))[0]?.info.requestedAtMs).toBeUndefined();
  });

  const used: ((opened: Opened) => Promise<unknown>)[] = [
    ({ store }) => store.list('one'),
    ({ store }) => store.list(),
    ({ store }) => store.check(),
    ({ store }) => store.delete('one'),
    ({ store }) => store.put(freshToken('one'), new Sensitive('mine')),
  ];

  // holds: C11.5
  it.each([
    ['an unknown error', '-ERR pw is \x1b[31mpassword\r\n'],
    ['an error without a text', '-\r\n'],
  ])('that answers with %s is given up at once, and not quoted', async (_what, answer) => {
    const hostile = await startHostileRedis(() => answer);
    for (const use of used)
      expect(await failureOf(use(openRedis(hostile.url)))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.not.stringMatching(/\p{Cc}|password/u),
      });
    expect(hostile.connections()).toBe(used.length);
  });

  it.each([
    ['a number', ':7\r\n'],
    ['nil', '$-1\r\n'],
    ['a text', bulk('x')],
    ['an array that is too short', array(bulk('x'))],
  ])('that answers everything with %s has no token', async (_what, answer) => {
    const { url } = await startHostileRedis(([name]) => (name === 'hello' ? '*0\r\n' : answer));
    for (const use of used) await use(openRedis(url));
    expect(await valueIn(openRedis(url), 'one')).toBeUndefined();
    expect(await openRedis(url).store.list()).toEqual([]);
  });

  it.each(['NOAUTH no', 'WRONGPASS no'])('that answers %s is not asked twice', async (text) => {
    const hostile = await startHostileRedis(() => `-${text}\r\n`);
    const { store } = openRedis(hostile.url, { username: 'job', password: new Sensitive('sesame') });
    const failure = await failureOf(store.list('one'));
    expect(failure).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(defined(text.split(' ')[0])),
    });
    expect(failure?.hint).toBeDefined();
    expect(await failureOf(store.check())).toBe(failure);
    expect(hostile.commands).toEqual(['HELLO']);
  });

  it('that never answers is waited for only once', async () => {
    const hostile = await startHostileRedis(() => undefined);
    const { store } = openRedis(hostile.url);
    const failure = await failureOf(store.list('one'));
    expect(failure).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('Command timed out'),
    });
    expect(await failureOf(store.lock('one', turnOptions(30_000, true)))).toBe(failure);
    expect(hostile.connections()).toBe(1);
  });

  // holds: C11.4
  it('that is slow to answer each command is given up when the time limit for all of them is over', async () => {
    const { url } = await startHostileRedis((command) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 15);
      return offering(null)(command);
    });
    const { store } = openRedis(url, { timeoutMs: 150 });
    const found = async () => {
      for (let asked = 0; asked < 20; asked++) await store.list('one');
    };
    expect(await failureOf(found())).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it.each([
    'LOADING Redis is loading the dataset in memory',
    'MOVED 1 127.0.0.1:1',
    "READONLY You can't write against a read only replica.",
  ])('that answers %s is not asked again', async (text) => {
    const hostile = await startHostileRedis(([name]) => (name === 'hello' ? '*0\r\n' : `-${text}\r\n`));
    expect(await failureOf(openRedis(hostile.url).store.list('one'))).toMatchObject({
      message: expect.stringContaining(`with ${text.split(' ')[0]}`),
    });
    expect(hostile.connections()).toBe(1);
  });

  // holds: C11.4
  it('that is away is waited for by one process of the machine, also when others wait for it', async () => {
    let answer: Answer | undefined = offering(null);
    const { url } = await startHostileRedis((command) => answer?.(command));
    const stateDir = temporaryHome();
    const lock = tryLock(entryPath(stateDir, 'token', 'one', 'lock'));
    const waiting = failureOf(openRedis(url, { stateDir }).store.lock('one', turnOptions(60_000, true)));
    answer = undefined;
    const impatient = openRedis(url, { stateDir, timeoutMs: 300 }).store;
    expect(await failureOf(impatient.list('one'))).toBeDefined();
    expect(fs.readdirSync(stateDir).filter((name) => name.endsWith('.refused'))).toEqual([]);
    expect(await failureOf(openRedis(url, { stateDir }).store.list('one'))).toBeDefined();
    expect(await waiting).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    lock?.release();
    const start = performance.now();
    expect(await failureOf(openRedis(url, { stateDir }).store.list('one'))).toMatchObject({
      message: expect.stringContaining('Command timed out'),
    });
    expect(performance.now() - start).toBeLessThan(1000);
  });

  // holds: C11.11
  it('is asked nothing, over no connection, by the processes that wait for another one of their machine', async () => {
    const hostile = await startHostileRedis(offering(encryptedFor('one')));
    const stateDir = temporaryHome();
    const lock = tryLock(entryPath(stateDir, 'token', 'one', 'lock'));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const waiting = openRedis(hostile.url, { stateDir }).store.lock('one', turnOptions(60_000, true));
    while (hostile.open() > 0 || hostile.commands.length < 3)
      await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(5000);
    expect(hostile.commands).toEqual(['HELLO', 'PTTL', 'MGET']);
    lock?.release();
    await vi.advanceTimersByTimeAsync(50);
    vi.useRealTimers();
    expect(await waiting).toBeUndefined();
    expect(hostile.connections()).toBe(2);
  });

  it('gets no script while another machine has the turn', async () => {
    const busy = array(bulk(null), bulk('7'), bulk('somebody'), bulk(null));
    const hostile = await startHostileRedis(([name]) => (name === 'MGET' ? busy : ':-2\r\n'));
    const { store } = openRedis(hostile.url);
    expect(await failureOf(store.lock('one', turnOptions(400, true)))).toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
    expect(new Set(hostile.commands.slice(1))).toEqual(new Set(['PTTL', 'MGET']));
  });

  it('is asked for the turn, and is told of its end, where this machine has no folder for its locks', async () => {
    const stateDir = path.join(temporaryHome(), 'file', 'state');
    fs.writeFileSync(path.dirname(stateDir), 'in the way');
    const stored = await startHostileRedis(offering(encryptedFor('one')));
    const waiting = openRedis(stored.url, { stateDir }).store;
    expect(await waiting.lock('one', turnOptions(500, true))).toBeUndefined();
    const empty = await startHostileRedis(offering(null));
    const turn = await openRedis(empty.url, { stateDir }).store.lock('one', turnOptions(500, true));
    await turn?.release();
    expect(empty.commands.filter((name) => name === 'EVAL')).toHaveLength(2);
  });

  // holds: C11.1, C11.5
  it('gets neither names, value nor store key in plain text', async () => {
    let received = '';
    const { url } = await startHostileRedis((command) => {
      received += command.join(' ');
      return offering(null)(command);
    });
    const { store } = openRedis(url);
    await store.list('a telling key');
    const record = freshToken('a telling key', 3600, {
      graph: 'a telling graph',
      principal: 'a telling user',
    });
    await failureOf(store.put(record, new Sensitive('a telling value')));
    const told = ['key', 'value', 'graph', 'user'].map((what) => `a telling ${what}`);
    for (const telling of [...told, storeKey.toString('latin1')])
      for (const form of ['latin1', 'hex', 'base64'] as const)
        expect(received).not.toContain(Buffer.from(telling, 'latin1').toString(form).replace(/=+$/, ''));
    expect(received).toContain('graphcred:1:');
  });
});
