import { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import { isRecord, partsOf } from '../records.js';
import type { Store, StoreOptions, StoreRecord, TokenRecord } from '../store.js';
import { Cipher } from './cipher.js';
import { list, RedisServer, type ServerOptions } from './client.js';
import { PUBLISH } from './scripts.js';

export interface RedisStoreOptions extends ServerOptions, Pick<StoreOptions, 'stateDir'> {
  /** 32 bytes, the same for the whole fleet. */
  readonly storeKey: Buffer;
}

/** A token as stored in Redis, with its times converted to this machine's clock. */
interface Entry {
  readonly record: TokenRecord;
  readonly value: Sensitive;
  /** The number of the lock under which it was minted; 0 when it was written without one. */
  readonly generation: number;
}

/** How many tokens are read at once. */
const READ_AT_ONCE = 50;
/**
 * The clocks of two machines may differ by the hour of a time zone. A token that expired two hours ago by this
 * machine's clock has certainly expired.
 */
const CLOCK_TOLERANCE_MS = 2 * 3_600_000;

/** The tokens on a Redis server, which sees neither names nor values. */
export class SharedTokens implements Omit<Store, 'lock'> {
  readonly name = 'redis';
  readonly server: RedisServer;
  readonly cipher: Cipher;
  readonly options: RedisStoreOptions;
  /**
   * The tokens that were decrypted, so that the server is not asked again. They are not stored on the record, because
   * callers print records.
   */
  readonly #values = new WeakMap<StoreRecord, Sensitive>();
  readonly #firstLook = new Map<string, { readonly generation: number; readonly atMs: number }>();

  constructor(options: RedisStoreOptions, awayFile?: string) {
    this.server = new RedisServer(options, awayFile);
    this.cipher = new Cipher(options.storeKey);
    this.options = options;
  }

  async find(key: string): Promise<TokenRecord | undefined> {
    return (await this.#read(this.cipher.nameOf(key)))?.record;
  }

  /** Returns the newest token of an identity. */
  async tokensOf(identity: string): Promise<TokenRecord[]> {
    const { token, counter } = this.cipher.keysOf(this.cipher.nameOf(identity));
    const [life, both] = await Promise.all([
      this.server.run('PTTL', token),
      this.server.run('MGET', token, counter),
    ]);
    const [stored, count] = list(both);
    const entry = this.#decrypt(token, life, stored);
    // The server may have lost the counter but not the token.
    const generation = Math.max(Number(count ?? 0), entry?.generation ?? 0);
    const first = this.#firstLook.get(identity) ?? { generation, atMs: this.options.now() };
    this.#firstLook.set(identity, first);
    if (entry?.record.info.requestedAtMs === undefined) return entry ? [entry.record] : [];
    // The time of the mint by this machine's clock is not known: after this process looked first if the lock was taken
    // after that, else before.
    const requestedAtMs = entry.generation > first.generation ? first.atMs : 0;
    const record = { ...entry.record, info: { ...entry.record.info, requestedAtMs } };
    this.#values.set(record, entry.value);
    return [record];
  }

  /** Returns the number of the lock that was the last one when this process looked first. */
  async firstGeneration(identity: string): Promise<number> {
    if (!this.#firstLook.has(identity)) await this.tokensOf(identity);
    return this.#firstLook.get(identity)?.generation ?? 0;
  }

  async read(record: StoreRecord): Promise<Sensitive | undefined> {
    if (record.store !== 'redis') return undefined;
    return this.#values.get(record) ?? (await this.#read(this.cipher.nameOf(record.key)))?.value;
  }

  /** @param lock under which it was minted; without one, it becomes the newest of its identity in any case */
  async write(record: StoreRecord, value: Sensitive, lock = { nonce: '', generation: 0 }): Promise<void> {
    if (record.kind !== 'token')
      throw new GraphException('USAGE', `a ${record.kind} is never stored on a Redis server`, {
        hint: 'use --store keychain or file for it, or secretCommand with a vault',
      });
    const lifeMs = record.expiresAtUnix * 1000 - this.options.now();
    if (lifeMs <= 0) return;
    const { cipher } = this;
    const { name, token, newest } = this.#placesOf(record.key);
    const { nonce, generation } = lock;
    const content = { record: { ...record, store: 'redis' }, value: value.reveal(), generation };
    const keys = [newest.lock, newest.token, cipher.index, token];
    const values = [cipher.encrypt(newest.token, content), cipher.encrypt(token, content)] as const;
    await this.server.evaluate(PUBLISH, keys, nonce, Math.ceil(lifeMs), name, ...values);
  }

  async delete(key: string): Promise<boolean> {
    const { name, token, newest } = this.#placesOf(key);
    const last = await this.#read(this.cipher.nameOf(partsOf(key).identity));
    const deleted = await this.server.run('DEL', token);
    await this.server.run('ZREM', this.cipher.index, name);
    // A newer one that is stored just now goes too, which costs one more mint.
    if (last?.record.key === key) await this.server.run('DEL', newest.token);
    return deleted === 1;
  }

  async list(): Promise<TokenRecord[]> {
    const names = list(await this.server.run('ZRANGEBYSCORE', this.cipher.index, '-inf', '+inf')).map(String);
    const records: TokenRecord[] = [];
    for (let at = 0; at < names.length; at += READ_AT_ONCE) {
      const page = names.slice(at, at + READ_AT_ONCE).map((name) => this.#read(name));
      records.push(...(await Promise.all(page)).flatMap((entry) => entry?.record ?? []));
    }
    return records;
  }

  async check(): Promise<void> {
    await this.server.run('PING');
  }

  /** Returns where a token lies: under its own name, and as the newest of its identity. */
  #placesOf(key: string) {
    const { cipher } = this;
    const name = cipher.nameOf(key);
    const newest = cipher.keysOf(cipher.nameOf(partsOf(key).identity));
    return { name, token: cipher.keysOf(name).token, newest };
  }

  async #read(name: string): Promise<Entry | undefined> {
    const { token } = this.cipher.keysOf(name);
    // In this order: a token that is replaced in between gets too short a life, rather than too long a one.
    const [life, stored] = await Promise.all([this.server.run('PTTL', token), this.server.run('GET', token)]);
    return this.#decrypt(token, life, stored);
  }

  #decrypt(key: string, life: unknown, stored: unknown): Entry | undefined {
    if (!Buffer.isBuffer(stored)) return undefined;
    const entry = entryOf(this.cipher.decrypt(key, stored), Number(life), this.options.now());
    if (entry) this.#values.set(entry.record, entry.value);
    else
      this.options.warn(
        'Ignoring a token on the Redis server: it was changed there, or is for another place.',
      );
    return entry;
  }
}

/**
 * Returns the token in decrypted content, which another version of graphcred may have written. Undefined when it has
 * ended.
 * @param lifeMs the rest of its life according to the server, whose clock decides because it deletes the token
 */
function entryOf(
  content: Record<string, unknown> | undefined,
  lifeMs: number,
  nowMs: number,
): Entry | undefined {
  const { record, value, generation } = content ?? {};
  if (!isRecord(record) || record.kind !== 'token' || typeof value !== 'string') return undefined;
  const { createdAtUnix, expiresAtUnix } = record;
  if (!(lifeMs > 0) || nowMs > expiresAtUnix * 1000 + CLOCK_TOLERANCE_MS) return undefined;
  // The server cannot give the token more life than it had at first.
  const life = expiresAtUnix - createdAtUnix;
  const end = Math.round((nowMs + Math.min(lifeMs, life * 1000)) / 1000);
  return {
    record: { ...record, createdAtUnix: end - life, expiresAtUnix: end },
    value: new Sensitive(value),
    generation: Number(generation),
  };
}
