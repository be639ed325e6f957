import { Sensitive } from '../../core/sensitive.js';
import { decrypt, encrypt } from '../aes-gcm.js';
import { machineStore } from '../machine-store.js';
import type { Store, StoreOptions, StoreRecord } from '../store.js';
import { generatedKey, loadNamedKey, readGeneratedKey } from './key.js';

/**
 * Stores each value in its record's file, encrypted with AES-256-GCM. The rest of the record is authenticated with it,
 * so a value cannot be moved to another host's record or given a longer life.
 */
export function fileStore(options: StoreOptions): Store {
  const { configDir, warn } = options;
  let named: Promise<Buffer | undefined> | undefined;
  // The key is loaded only once, because it may come through a pipe.
  const namedKey = () => {
    named ??= loadNamedKey(options);
    return named;
  };
  const keyToWrite = async () => (await namedKey()) ?? generatedKey(configDir);

  return machineStore('file', options, {
    check: async () => void (await keyToWrite()),
    encrypt: async (record, value) => encryptValue(await keyToWrite(), record, value),

    async get(record, readEncrypted) {
      const encrypted = readEncrypted();
      if (encrypted === undefined) return undefined;
      const key = (await namedKey()) ?? readGeneratedKey(configDir);
      const value = key && decryptValue(key, record, encrypted);
      if (value === undefined)
        warn(
          `Ignoring a stored ${describe(record)}: it was encrypted with another key, or was changed since.`,
        );
      return value;
    },
  });
}

/** Encrypts a value and authenticates the rest of its record with it. */
export function encryptValue(key: Buffer, record: StoreRecord, value: Sensitive): string {
  return encrypt(key, canonical(record), value.reveal()).toString('base64');
}

/** Decrypts a value. Undefined when the key, the record or the text differs from those it was encrypted with. */
export function decryptValue(key: Buffer, record: StoreRecord, encrypted: string): Sensitive | undefined {
  const text = decrypt(key, canonical(record), Buffer.from(encrypted, 'base64'));
  return text === undefined ? undefined : new Sensitive(text);
}

/** Returns what a person calls the entry: `token for graph demo`, `secret ci for graph demo`, `password`. */
function describe({ kind, info: { alias, graph } }: StoreRecord): string {
  const name = kind === 'secret' && alias ? ` ${alias}` : '';
  return `${kind}${name}${graph ? ` for graph ${graph}` : ''}`;
}

/** Serializes the record so that the order of its fields does not matter. */
function canonical(record: StoreRecord): string {
  const { v, kind, key, store, createdAtUnix, expiresAtUnix, info } = record;
  const sorted = Object.entries(info).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([v, kind, key, store, createdAtUnix, expiresAtUnix ?? null, sorted]);
}
