import { Sensitive } from '../../core/sensitive.js';
import { decrypt, encrypt } from '../aes-gcm.js';
import { deleteEntry, listEntries, readEntry, stageEntry } from '../records.js';
import type { Store, StoreOptions, StoreRecord } from '../store.js';
import { withLocks } from '../with-locks.js';
import { loadKey } from './key.js';

/**
 * Stores each value in its record's file, encrypted with AES-256-GCM. The rest of the record is authenticated with it,
 * so a value cannot be moved to another host's record or given a longer life.
 */
export function fileStore(options: StoreOptions): Store {
  const { stateDir, warn } = options;
  // The encrypted values that `find` read, so that `read` does not read the file again. They are not stored on the
  // record, because callers print records.
  const encryptedOf = new WeakMap<StoreRecord, string>();
  const isNamed = options.storeKeyFile !== undefined;
  let named: Promise<Buffer> | undefined;
  const loadNamed = () => {
    // The key is loaded only once, because it may come through a pipe.
    named ??= loadKey(options, 'create');
    return named;
  };
  const keyToRead = () => (isNamed ? loadNamed() : loadKey(options, 'existing'));
  const keyToWrite = () => (isNamed ? loadNamed() : loadKey(options, 'create'));

  function find(key: string): StoreRecord | undefined {
    const entry = readEntry(stateDir, 'file', key, warn);
    if (entry?.sealed === undefined) return undefined;
    encryptedOf.set(entry.record, entry.sealed);
    return entry.record;
  }

  return withLocks(stateDir, {
    name: 'file',
    find: async (key) => find(key),

    async read(record) {
      if (record.store !== 'file') return undefined;
      const encrypted = encryptedOf.get(record) ?? readEntry(stateDir, 'file', record.key, warn)?.sealed;
      if (encrypted === undefined) return undefined;
      const key = await keyToRead();
      const value = key && decryptValue(key, record, encrypted);
      if (value === undefined)
        warn(
          `Ignoring a stored ${describe(record)}: it was encrypted with another key, or was changed since.`,
        );
      return value;
    },

    async write(record, value) {
      await writeEncrypted(options, await keyToWrite(), record, value);
    },

    async check() {
      await keyToWrite();
    },

    async delete(key) {
      const record = find(key);
      if (record) deleteEntry(stateDir, record);
      return record !== undefined;
    },

    async list() {
      return listEntries(stateDir, warn).flatMap(({ record }) => (record.store === 'file' ? [record] : []));
    },
  });
}

/** Writes a record with its encrypted value. Throws STORE_UNAVAILABLE. */
async function writeEncrypted(
  options: StoreOptions,
  key: Buffer,
  record: StoreRecord,
  value: Sensitive,
): Promise<void> {
  const { stateDir } = options;
  const stored: StoreRecord = { ...record, store: 'file' };
  stageEntry(stateDir, { record: stored, sealed: encryptValue(key, stored, value) }).commit();
  (await import('../sweep.js')).sweep(options);
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
