import crypto from 'node:crypto';
import fs from 'node:fs';
import type { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import { ifUnwritable, retry } from '../../files/lock.js';
import { acquireMachineLock, errorFrom } from '../lock.js';
import { entryPath, isStoreRecord, partsOf } from '../records.js';
import type { Lock, LockOptions, Store, StoreOptions, StoreRecord, TokenRecord } from '../store.js';
import { type Cipher, cipherOf } from './cipher.js';
import { listOf, type RedisServer, redisServer } from './client.js';
import { FREE, PUBLISH, TAKE } from './scripts.js';
import type { RedisOptions } from './url.js';

export interface RedisStoreOptions extends RedisOptions, Pick<StoreOptions, 'stateDir' | 'warn'> {
  /** 32 bytes, the same for the whole fleet. */
  readonly storeKey: Buffer;
}

const READ_AT_ONCE = 50;
/** The clocks of two machines may differ by the hour of a time zone. */
const CLOCK_TOLERANCE_MS = 2 * 3_600_000;
/** How long the lock of a process that died delays the others. */
const LEASE_MS = 3_000;
const LOCK_RENEW_MS = 1_000;
/** Longer than any process waits. After that the counter starts again at the current time. */
const COUNTER_MS = 24 * 3_600_000;
const REFUSAL_KEPT_MS = 30_000;

/** Shares tokens between machines through a Redis server, which sees neither names nor values. */
export class RedisStore implements Store {
  readonly name = 'redis';
  readonly server: RedisServer;
  readonly cipher: Cipher;
  readonly options: RedisStoreOptions;
  /** The values that were read. Records do not hold them, because callers print records. */
  readonly #values = new WeakMap<StoreRecord, Sensitive>();
  /** By name: the number of the last lock when this process looked first, and when that was. */
  readonly #firstLooks = new Map<string, { readonly generation: number; readonly atMs: number }>();

  /** @param asksAlways whether the server is asked although another process of this machine has just waited in vain */
  constructor(options: RedisStoreOptions, asksAlways = false) {
    const { stateDir, addresses, tls, ca, sentinelMaster, storeKey } = options;
    // The same for all processes of this machine that reach this server in this way.
    const way = JSON.stringify([addresses, tls, ca, sentinelMaster]);
    const awayFile = entryPath(stateDir, 'token', way, 'refused');
    this.server = redisServer(options, asksAlways ? undefined : awayFile);
    this.cipher = cipherOf(storeKey);
    this.options = options;
  }

  async list(keyOrIdentity?: string): Promise<TokenRecord[]> {
    const { server, cipher } = this;
    const names =
      keyOrIdentity === undefined
        ? listOf(await server.run('ZRANGEBYSCORE', cipher.index, '-inf', '+inf')).map(String)
        : [cipher.nameOf(keyOrIdentity)];
    const records: TokenRecord[] = [];
    for (let at = 0; at < names.length; at += READ_AT_ONCE) {
      const page = names.slice(at, at + READ_AT_ONCE).map((name) => this.#look(name));
      records.push(...(await Promise.all(page)).flatMap(({ record }) => record ?? []));
    }
    return records;
  }

  async get(record: StoreRecord): Promise<Sensitive | undefined> {
    const [found = record] = this.#values.has(record) ? [] : await this.list(record.key);
    return this.#values.get(found);
  }

  /** Without the lock under which it was minted, the token becomes the newest of its identity in any case. */
  async put(record: StoreRecord, value: Sensitive, lock?: Lock): Promise<void> {
    if (record.kind !== 'token') throw new TypeError(`a ${record.kind} is never stored on a Redis server`);
    const lifeMs = record.expiresAtUnix * 1000 - this.options.now();
    if (lifeMs <= 0) return;
    const { server, cipher } = this;
    const { nonce, generation } = lock?.lease ?? { nonce: '', generation: 0 };
    const { name, token, newest } = this.#placesOf(record.key);
    const content = { record: { ...record, store: 'redis' }, value: value.reveal(), generation };
    const keys = [newest.lock, newest.token, cipher.index, token];
    const values = [newest.token, token].map((key) => cipher.encrypt(key, content));
    await server.run('EVAL', PUBLISH, keys.length, ...keys, nonce, Math.ceil(lifeMs), name, ...values);
  }

  async delete(key: string): Promise<boolean> {
    const { name, token, newest } = this.#placesOf(key);
    const [last] = await this.list(partsOf(key).identity);
    const deleted = await this.server.run('DEL', token);
    await this.server.run('ZREM', this.cipher.index, name);
    // A newer one that is stored just now goes too, which costs one more mint.
    if (last?.key === key) await this.server.run('DEL', newest.token);
    return deleted === 1;
  }

  async check(): Promise<void> {
    await this.server.run('PING');
  }

  /**
   * Waits for the lock of this machine, then for that of the fleet: one process of a machine asks the server, which is
   * spared, and cannot make this machine mint more than one token at a time, whatever it answers.
   */
  async lock(identity: string, options: LockOptions): Promise<Lock | undefined> {
    const { server, cipher } = this;
    const { stateDir, now } = this.options;
    const name = cipher.nameOf(identity);
    const { lock, counter } = cipher.keysOf(name);
    // What was minted while this process waits is newer than what it sees now.
    if (!this.#firstLooks.has(name)) await this.#look(name);
    const end = now() + options.waitMs;
    if (fs.existsSync(entryPath(stateDir, 'token', identity, 'lock'))) server.disconnect();
    // Without a writable folder only the fleet's lock is used.
    const own = await acquireMachineLock(identity, { ...options, stateDir }).catch(ifUnwritable);

    const nonce = crypto.randomBytes(16).toString('base64url');
    const take = () => server.run('EVAL', TAKE, 2, lock, counter, nonce, LEASE_MS, COUNTER_MS);
    /** Returns the number of the lock once it is taken, and 0 when it is not needed. */
    const attempt = async (): Promise<number | undefined> => {
      // Looking comes first: it costs the server less than a script, and a token is stored before a lock is freed.
      const { record, error, isLocked } = await this.#look(name);
      if (error) throw error;
      if (record && options.accepts(record)) return 0;
      return isLocked ? undefined : Number(await take()) || undefined;
    };
    let generation = 0;
    try {
      generation = await retry(attempt, {
        waitMs: Math.max(0, end - now()),
        longestPauseMs: 400,
        busy: 'another machine is getting this token',
        hint: 'run the command again, or allow more time with --timeout',
      });
    } finally {
      if (generation === 0) await own?.release();
    }
    if (generation === 0) return undefined;
    // If this fails, the lock is lost, which costs one more mint.
    const renewal = setInterval(() => void take().catch(() => {}), LOCK_RENEW_MS);
    return {
      lease: { nonce, generation },
      refuse: async (error) => {
        // If this fails, the waiting machines ask the database themselves.
        await this.#refuse(name, error).catch(() => {});
        await own?.refuse(error);
      },
      release: async () => {
        clearInterval(renewal);
        await server.run('EVAL', FREE, 1, lock, nonce).catch(() => {});
        await own?.release();
      },
    };
  }

  async #refuse(name: string, error: GraphException): Promise<void> {
    const { server, cipher } = this;
    const { refusal, counter } = cipher.keysOf(name);
    // Processes that were already waiting get its number, and later ones do not.
    const content = { ...error.toJSON(), generation: Number(await server.run('INCR', counter)) };
    await server.run('SET', refusal, cipher.encrypt(refusal, content), 'PX', REFUSAL_KEPT_MS);
  }

  /** Returns where a token lies: under its own name, and as the newest of its identity. */
  #placesOf(key: string) {
    const { cipher } = this;
    const name = cipher.nameOf(key);
    const newest = cipher.keysOf(cipher.nameOf(partsOf(key).identity));
    return { name, token: cipher.keysOf(name).token, newest };
  }

  /** Asks for the token of this name and for all else that the server has under it. */
  async #look(name: string) {
    const { server, cipher } = this;
    const { now, warn } = this.options;
    const { token, counter, lock, refusal } = cipher.keysOf(name);
    // In this order: a token that is replaced in between gets too short a life, rather than too long a one.
    const [life, replies] = await Promise.all([
      server.run('PTTL', token),
      server.run('MGET', token, counter, lock, refusal),
    ]);
    const [stored, count, holder, refused] = listOf(replies);
    const entry = entryOf(cipher.decrypt(token, stored), Number(life), now());
    if (!entry && Buffer.isBuffer(stored))
      warn(
        'a token on the Redis server cannot be used: it was changed, or a clock is wrong; a new one takes its place',
      );
    // The server may have lost the counter but not the token.
    const generation = Math.max(Number(count ?? 0), entry?.generation ?? 0);
    const first = this.#firstLooks.get(name) ?? { generation, atMs: now() };
    this.#firstLooks.set(name, first);
    /** Whether this was made under a lock that was taken after the first look. Clocks would not tell. */
    const isLater = (made: { readonly generation?: unknown }) => Number(made.generation) > first.generation;
    // The earliest time at which it can have been asked for, by this machine's clock.
    const requestedAtMs = entry && isLater(entry) ? first.atMs : undefined;
    const record = entry && { ...entry.record, info: { ...entry.record.info, requestedAtMs } };
    if (record) this.#values.set(record, entry.value);
    const met = cipher.decrypt(refusal, refused);
    return { record, isLocked: Boolean(holder), error: met && isLater(met) ? errorFrom(met) : undefined };
  }
}

/**
 * Returns the token in decrypted content, with its times by this machine's clock. Undefined when it has ended.
 * @param lifeMs the rest of its life according to the server, whose clock decides because it deletes the token
 */
function entryOf(content: Record<string, unknown> | undefined, lifeMs: number, nowMs: number) {
  const { record, value, generation } = content ?? {};
  if (!isStoreRecord(record) || record.kind !== 'token' || typeof value !== 'string') return undefined;
  const { createdAtUnix, expiresAtUnix } = record;
  const latestMs = expiresAtUnix * 1000 + CLOCK_TOLERANCE_MS;
  if (!(lifeMs > 0) || nowMs > latestMs) return undefined;
  // The server cannot give the token more life than it had at first, or another end than two clocks may differ by.
  const life = expiresAtUnix - createdAtUnix;
  const end = Math.round(Math.min(nowMs + Math.min(lifeMs, life * 1000), latestMs) / 1000);
  return {
    record: { ...record, createdAtUnix: end - life, expiresAtUnix: end },
    value: new Sensitive(value),
    /** The number of the lock under which it was minted; 0 when it was written without one. */
    generation: Number(generation),
  };
}
