import crypto from 'node:crypto';
import type { StoreRecord } from '../store.js';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The kinds of keys on the engine: token, lock, refusal, generation. */
export type EntryKind = 't' | 'l' | 'r' | 'g';

/** Makes names that say nothing, and values that only holders of the same store key can open. */
export interface Seal {
  /** The sorted set that lists the names of all tokens. */
  readonly index: string;
  /** What an entry is called on the engine, without prefix and kind: 32 hexadecimal digits. */
  nameOf(kind: StoreRecord['kind'], key: string): string;
  /** The whole key of an entry. All of one store key are in one slot of a cluster. */
  keyOf(kind: EntryKind, name: string): string;
  /** Encrypts; what it returns can be opened under the same key of the engine only. */
  close(engineKey: string, content: unknown): Buffer;
  /** What was closed; undefined when any byte, the engine's key or the store key differ. */
  open(engineKey: string, sealed: Buffer): unknown;
}

/** @param storeKey 32 bytes */
export function createSeal(storeKey: Buffer): Seal {
  const derive = (purpose: string, bytes: number) =>
    Buffer.from(crypto.hkdfSync('sha256', storeKey, '', `graphcred redis 1 ${purpose}`, bytes));
  const nameKey = derive('names', 32);
  const valueKey = derive('values', 32);
  // Another store key has names of its own, so that it meets nothing it cannot open.
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
    close(engineKey, content) {
      const iv = crypto.randomBytes(IV_BYTES);
      const cipher = crypto.createCipheriv('aes-256-gcm', valueKey, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(engineKey));
      const text = Buffer.concat([cipher.update(JSON.stringify(content), 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), text]);
    },
    open(engineKey, sealed) {
      if (sealed.length < IV_BYTES + TAG_BYTES) return undefined;
      const iv = sealed.subarray(0, IV_BYTES);
      const decipher = crypto.createDecipheriv('aes-256-gcm', valueKey, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(engineKey));
      decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      try {
        const text = Buffer.concat([
          decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)),
          decipher.final(),
        ]);
        return JSON.parse(text.toString('utf8'));
      } catch {
        return undefined;
      }
    },
  };
}
