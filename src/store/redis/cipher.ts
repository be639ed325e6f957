import crypto from 'node:crypto';
import type { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import { decrypt, encrypt } from '../aes-gcm.js';
import { fieldsOf, refusalFrom } from '../lock.js';
import { isRecord, partsOf } from '../records.js';
import type { StoreRecord, TokenRecord } from '../store.js';

/** A token as stored in Redis, with its times converted to this machine's clock. */
export interface TokenEntry<R extends StoreRecord = TokenRecord> {
  readonly record: R;
  readonly value: Sensitive;
  /** The number of the lock under which it was minted; 0 when it was written without one. */
  readonly generation: number;
}

/**
 * The clocks of two machines may differ by the hour of a time zone. A token that expired two hours ago by this
 * machine's clock has certainly expired.
 */
const CLOCK_TOLERANCE_MS = 2 * 3_600_000;

/**
 * Derives key names that reveal nothing, and encrypts values so that only holders of the same store key can read them:
 * under the same key of the server, so that a value cannot be moved to another one.
 */
export class Cipher {
  /** The sorted set that lists the names of all tokens. */
  readonly index: string;
  /** Identifies the store key without revealing it. */
  readonly keyId: string;
  readonly #prefix: string;
  readonly #nameKey: Buffer;
  readonly #valueKey: Buffer;

  /** @param storeKey 32 bytes */
  constructor(storeKey: Buffer) {
    const derive = (purpose: string, bytes: number) =>
      Buffer.from(crypto.hkdfSync('sha256', storeKey, '', `graphcred redis 1 ${purpose}`, bytes));
    this.#nameKey = derive('names', 32);
    this.#valueKey = derive('values', 32);
    this.keyId = derive('key id', 8).toString('hex');
    // Machines with another store key do not meet entries that they cannot decrypt. The braces put all keys of this
    // store key into one slot of a cluster.
    this.#prefix = `graphcred:1:{${this.keyId}}`;
    this.index = `${this.#prefix}:i`;
  }

  /** Returns the name of a token on the server, without prefix: 32 hexadecimal digits. */
  nameOf(key: string): string {
    const hmac = crypto.createHmac('sha256', this.#nameKey).update(JSON.stringify(['token', key]));
    return hmac.digest('hex').slice(0, 32);
  }

  /** Returns the keys on the server of a token, its lock, the last refusal, and the number of the last lock. */
  keysOf(name: string): { token: string; lock: string; refusal: string; counter: string } {
    const keyOf = (kind: string) => `${this.#prefix}:${kind}:${name}`;
    return { token: keyOf('t'), lock: keyOf('l'), refusal: keyOf('r'), counter: keyOf('g') };
  }

  encryptToken(name: string, { record, value, generation }: TokenEntry): Buffer {
    return this.#encrypt(this.keysOf(name).token, { record, value: value.reveal(), generation });
  }

  /**
   * Decrypts a token. Undefined when it was not encrypted for this name, or has expired.
   * @param lifeMs the rest of its life according to the server, whose clock decides because it deletes the token
   */
  decryptToken(name: string, encrypted: Buffer, lifeMs: number, nowMs: number): TokenEntry | undefined {
    const content = this.#decrypt(this.keysOf(name).token, encrypted) as
      | { record: unknown; value: unknown; generation: number }
      | undefined;
    // The writer had the store key and is trusted, but may be another version of graphcred.
    const { record, value, generation } = content ?? { generation: 0 };
    if (!isRecord(record) || record.kind !== 'token' || typeof value !== 'string') return undefined;
    const { createdAtUnix, expiresAtUnix } = record;
    // A token lies under its own name, and the newest of an identity under that of the identity too.
    const isNamed = [record.key, partsOf(record.key).identity].some((one) => this.nameOf(one) === name);
    if (!isNamed || lifeMs <= 0 || nowMs > expiresAtUnix * 1000 + CLOCK_TOLERANCE_MS) return undefined;
    // The server cannot give the token more life than it had at first.
    const life = expiresAtUnix - createdAtUnix;
    const end = Math.round((nowMs + Math.min(lifeMs, life * 1000)) / 1000);
    return {
      record: { ...record, createdAtUnix: end - life, expiresAtUnix: end },
      value: new Sensitive(value),
      generation,
    };
  }

  /** @param generation a number of its own, so that processes that were already waiting get it and later ones do not */
  encryptRefusal(name: string, refusal: GraphException, generation: number): Buffer {
    return this.#encrypt(this.keysOf(name).refusal, { ...fieldsOf(refusal), generation });
  }

  /** Returns the error that another process met, if it met it after the lock of that number. */
  decryptRefusal(name: string, encrypted: Buffer, since: number): GraphException | undefined {
    const content = this.#decrypt(this.keysOf(name).refusal, encrypted) as { generation: number } | undefined;
    if (!content || !(content.generation > since)) return undefined;
    return refusalFrom({ ...content });
  }

  #encrypt(key: string, content: unknown): Buffer {
    return encrypt(this.#valueKey, key, JSON.stringify(content));
  }

  #decrypt(key: string, encrypted: Buffer): unknown {
    try {
      return JSON.parse(decrypt(this.#valueKey, key, encrypted) ?? '');
    } catch {
      return undefined;
    }
  }
}
