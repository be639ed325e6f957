import type { Sensitive } from '../core/sensitive.js';
import { removeFile } from '../files/private-files.js';
import { type Entry, listEntries, readEntry, recordPath, stageEntry, tokenEntries } from './records.js';
import type { Store, StoreName, StoreOptions, StoreRecord } from './store.js';

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

/** Marks a record while its value is on its way. Where a run was killed meanwhile, the next one sees it. */
export function unfinished<R extends StoreRecord>(record: R, step: 'write' | 'delete'): R {
  return { ...record, info: { ...record.info, unfinished: step } };
}

/**
 * Writes a record whose value is kept outside its file: the record first, with a mark, so that whatever is kept is listed.
 * @param put keeps the value; when it fails, the record is what it was before
 */
async function writeOutside(
  stateDir: string,
  record: StoreRecord,
  put: () => Promise<void> | undefined,
): Promise<void> {
  const write = (entry: Entry) => stageEntry(stateDir, entry).commit();
  const before = readEntry(stateDir, record.store, record.key, () => {});
  write({ record: unfinished(record, 'write') });
  try {
    await put();
  } catch (error) {
    if (before) write(before);
    else removeFile(recordPath(stateDir, record));
    throw error;
  }
  write({ record });
}

/** Deletes a value that is kept outside the file of its record, which has a mark meanwhile. */
async function deleteOutside(
  stateDir: string,
  record: StoreRecord,
  remove: (key: string) => Promise<void>,
): Promise<void> {
  // A full disk takes no mark, and the entry can be deleted without it.
  const mark = (marked: StoreRecord) => {
    try {
      stageEntry(stateDir, { record: marked }).commit();
    } catch {}
  };
  mark(unfinished(record, 'delete'));
  try {
    await remove(record.key);
  } catch (error) {
    mark(record);
    throw error;
  }
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

    async tokensOf(identity) {
      const entries = tokenEntries(stateDir, name, identity, warn);
      for (const { record, sealed } of entries) if (sealed !== undefined) encryptedOf.set(record, sealed);
      return entries.map(({ record }) => record);
    },

    async read(record) {
      if (record.store !== name) return undefined;
      const readAgain = () => readEntry(stateDir, name, record.key, warn)?.sealed;
      return values.get(record, () => encryptedOf.get(record) ?? readAgain());
    },

    async write(record, value) {
      const own = { ...record, store: name };
      if (values.put) await writeOutside(stateDir, own, () => values.put?.(own, value));
      else stageEntry(stateDir, { record: own, sealed: await values.encrypt?.(own, value) }).commit();
      (await import('./sweep.js')).sweep(options);
    },

    async delete(key) {
      const record = await store.find(key);
      if (!record) return false;
      if (values.delete) await deleteOutside(stateDir, record, values.delete);
      removeFile(recordPath(stateDir, record));
      return true;
    },

    list: async () =>
      listEntries(stateDir, warn).flatMap(({ record }) => (record.store === name ? [record] : [])),

    // A waiting process looks at the record alone. If each asked the keychain while it has the lock, the last of a
    // hundred would wait too long.
    lock: async (identity, wait) =>
      (await import('./lock.js')).acquireMachineLock(identity, store, { ...wait, stateDir }),
  };
  return store;
}
