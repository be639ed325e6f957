import crypto from 'node:crypto';
import { decrypt, encrypt } from '../aes-gcm.js';

export type Cipher = ReturnType<typeof cipherOf>;

/** Derives key names that reveal nothing, and binds each encrypted value to its key. @param storeKey 32 bytes */
export function cipherOf(storeKey: Buffer) {
  const derive = (purpose: string, bytes: number) =>
    Buffer.from(crypto.hkdfSync('sha256', storeKey, '', `graphcred redis 1 ${purpose}`, bytes));
  const nameKey = derive('names', 32);
  const valueKey = derive('values', 32);
  /** Identifies the store key without revealing it. */
  const keyId = derive('key id', 8).toString('hex');
  // Machines with another store key meet no entries they cannot decrypt. The braces keep all in one slot of a cluster.
  const prefix = `graphcred:1:{${keyId}}`;
  return {
    keyId,
    /** The sorted set that lists the names of all tokens. */
    index: `${prefix}:i`,

    /** Returns the name of a token or an identity on the server, without prefix: 32 hexadecimal digits. */
    nameOf(key: string): string {
      const hmac = crypto.createHmac('sha256', nameKey).update(JSON.stringify(['token', key]));
      return hmac.digest('hex').slice(0, 32);
    },

    /** Returns the keys on the server of a token, its lock, the last refusal, and the number of the last lock. */
    keysOf(name: string) {
      const keyOf = (kind: string) => `${prefix}:${kind}:${name}`;
      return { token: keyOf('t'), lock: keyOf('l'), refusal: keyOf('r'), counter: keyOf('g') };
    },

    encrypt: (key: string, content: object) => encrypt(valueKey, key, JSON.stringify(content)),

    /** Returns what was encrypted for this key; undefined when it is something else, or nothing. */
    decrypt(key: string, stored: unknown): Record<string, unknown> | undefined {
      const text = Buffer.isBuffer(stored) ? decrypt(valueKey, key, stored) : undefined;
      return text === undefined ? undefined : JSON.parse(text);
    },
  };
}
