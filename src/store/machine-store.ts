import type { Sensitive } from '../core/sensitive.js';
import { removeFile } from '../files/private-files.js';
import { entryPath, listEntries, readEntry, recordPath, stageEntry } from './records.js';
import type { Store, StoreName, StoreOptions, StoreRecord } from './store.js';

/**
 * Another process may hold the lock during a mint, but a caller that only deletes an entry does not wait as long as a
 * slow server may take.
 */
const DELETE_WAIT_MS = 10_000;

/** What a store of this machine does with the values; the records are files. */
export interface Values {
  check(): Promise<void>;
  /** Encrypts a value for the record's file. */
  encrypt?(record: StoreRecord, value: Sensitive): Promise<string>;
  /** Stores a value outside the record's file. */
  put?(record: StoreRecord, value: Sensitive): Promise<void>;
  get(record: StoreRecord, encrypted: () => string | undefined): Promise<Sensitive | undefined>;
  delete?(key: string): Promise<void>;
}

/** Returns a store of this machine. Its locks are loaded when they are needed. */
export function machineStore(name: StoreName, options: StoreOptions, values: Values): Store {
  const { stateDir, warn } = options;
  // The encrypted values that `find` read, so that `read` does not read the file again. They are not stored on the
  // record, because callers print records.
  const encryptedOf = new WeakMap<StoreRecord, string>();
  const store: Store = {
    name,
    check: () => values.check(),

    async find(key) {
      const entry = readEntry(stateDir, name, key, warn);
      if (entry?.sealed !== undefined) encryptedOf.set(entry.record, entry.sealed);
      return entry?.record;
    },

    async read(record) {
      if (record.store !== name) return undefined;
      const readAgain = () => readEntry(stateDir, name, record.key, warn)?.sealed;
      return values.get(record, () => encryptedOf.get(record) ?? readAgain());
    },

    async write(record, value) {
      const own = { ...record, store: name };
      const sealed = value && (await values.encrypt?.(own, value));
      const staged = stageEntry(stateDir, { record: own, sealed });
      try {
        if (value) await values.put?.(own, value);
        staged.commit();
      } finally {
        staged.discard();
      }
      (await import('./sweep.js')).sweep(options);
    },

    async delete(key) {
      const record = await store.find(key);
      if (!record) return false;
      await values.delete?.(key);
      removeFile(recordPath(stateDir, record));
      return true;
    },

    deleteIf: (record, value) => deleteUnchanged(store, stateDir, record, value),

    list: async () =>
      listEntries(stateDir, warn).flatMap(({ record }) => (record.store === name ? [record] : [])),

    // A waiting process looks at the record alone. If each asked the keychain while it has the lock, the last of a
    // hundred would wait too long.
    lock: async (key, wait) =>
      (await import('./lock.js')).acquireMachineLock(key, store, { ...wait, stateDir }),
  };
  return store;
}

async function deleteUnchanged(
  store: Store,
  stateDir: string,
  { kind, key }: StoreRecord,
  value: Sensitive | undefined,
): Promise<boolean> {
  const { withLockIfWritable } = await import('../files/lock.js');
  return withLockIfWritable(entryPath(stateDir, kind, key, 'lock'), DELETE_WAIT_MS, async () => {
    const current = await store.find(key);
    if (current?.kind !== kind || (await store.read(current))?.reveal() !== value?.reveal()) return false;
    return store.delete(key);
  });
}
