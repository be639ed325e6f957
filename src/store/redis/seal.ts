import crypto from 'node:crypto';
import { decrypt, encrypt } from '../aes-gcm.js';
import type { StoreRecord } from '../store.js';

/** The kinds of keys on the engine: token, lock, refusal, generation. */
export type EntryKind = 't' | 'l' | 'r' | 'g';

/**
 * Derives key names that reveal nothing, and encrypts values so that only holders of the same store key can read them.
 */
export interface Seal {
  /** The sorted set that lists the names of all tokens. */
  readonly index: string;
  /** Returns the name of an entry on the engine, without prefix and kind: 32 hexadecimal digits. */
  nameOf(kind: StoreRecord['kind'], key: string): string;
  /** Returns the full key of an entry. All keys under one store key are in the same slot of a cluster. */
  keyOf(kind: EntryKind, name: string): string;
  /** Encrypts a value, which can then be decrypted only under the same key of the engine. */
  close(engineKey: string, content: unknown): Buffer;
  /** Decrypts what `close` encrypted; undefined when any byte, the engine's key or the store key differs. */
  open(engineKey: string, sealed: Buffer): unknown;
}

/** @param storeKey 32 bytes */
export function createSeal(storeKey: Buffer): Seal {
  const derive = (purpose: string, bytes: number) =>
    Buffer.from(crypto.hkdfSync('sha256', storeKey, '', `graphcred redis 1 ${purpose}`, bytes));
  const nameKey = derive('names', 32);
  const valueKey = derive('values', 32);
  // The prefix depends on the store key, so that machines with another store key do not meet entries they cannot
  // decrypt.
  const prefix = `graphcred:1:{${derive('key id', 8).toString('hex')}}`;
  return {
    index: `${prefix}:i`,
    nameOf: (kind, key) =>
      crypto
        .createHmac('sha256', nameKey)
        .update(JSON.stringify([kind, key]))
        .digest('hex')
        .slice(0, 32),
    keyOf: (kind, name) => `${prefix}:${kind}:${name}`,
    close: (engineKey, content) => encrypt(valueKey, engineKey, JSON.stringify(content)),
    open(engineKey, sealed) {
      try {
        return JSON.parse(decrypt(valueKey, engineKey, sealed) ?? '');
      } catch {
        return undefined;
      }
    },
  };
}
