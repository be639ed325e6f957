import type { Sensitive } from '../core/sensitive.js';
import { removeFile } from '../files/private-files.js';
import { type Entry, listEntries, readEntry, recordPath, type Unread, writeEntry } from './records.js';
import type { Store, StoreName, StoreOptions, StoreRecord } from './store.js';

export interface MachineValues {
  /** Stores a value, or returns it encrypted for the record's file. */
  put(record: StoreRecord, value: Sensitive): Promise<string | undefined>;
  get(record: StoreRecord, encrypted: string | undefined): Promise<Sensitive | undefined>;
  /** Deletes a value that is stored outside the record's file, as all values then are. */
  delete?(key: string): Promise<void>;
  check(): Promise<void>;
}

/** Marks a record while something is under way, so that the next run sees what is half done. */
export function unfinished<R extends StoreRecord>(record: R, step: 'write' | 'delete' | 'refresh'): R {
  return { ...record, info: { ...record.info, unfinished: step } };
}

/**
 * Changes a value that is stored outside its record's file. The record is there before the value and marked meanwhile, so
 * that whatever is stored is listed; when the change fails, it is what it was before.
 */
async function changeOutside<T>(stateDir: string, marked: StoreRecord, change: () => Promise<T>) {
  const before = readEntry(stateDir, marked);
  const write = (entry: Entry) => {
    try {
      writeEntry(stateDir, entry);
    } catch (error) {
      // A full disk takes no mark, and the value can be deleted without it.
      if (marked.info.unfinished === 'write') throw error;
    }
  };
  write({ record: marked });
  return change().catch((error) => {
    if (before) write(before);
    else removeFile(recordPath(stateDir, marked));
    throw error;
  });
}

/** Returns a store of this machine. Its locks are loaded when they are needed. */
export function machineStore(name: StoreName, options: StoreOptions, values: MachineValues): Store {
  const { stateDir } = options;
  const onUnread = ({ file, why, mend }: Unread) => options.warn(`${file} is ignored: ${why}; ${mend}`);
  const store: Store = {
    name,

    list: async (of) => listEntries(stateDir, onUnread, { store: name, key: of }).map(({ record }) => record),

    async get(record) {
      const entry = record.store === name ? readEntry(stateDir, record, onUnread) : undefined;
      return entry && values.get(entry.record, entry.sealed);
    },

    async put(record, value) {
      const own = { ...record, store: name };
      const put = () => values.put(own, value);
      const sealed = await (values.delete ? changeOutside(stateDir, unfinished(own, 'write'), put) : put());
      writeEntry(stateDir, { record: own, sealed });
    },

    async delete(key) {
      const record = (await store.list(key)).find((one) => one.key === key);
      if (!record) return false;
      const { delete: deleteValue } = values;
      if (deleteValue) await changeOutside(stateDir, unfinished(record, 'delete'), () => deleteValue(key));
      removeFile(recordPath(stateDir, record));
      return true;
    },

    // A waiting process reads only the record: if each asked the keychain under the lock, the last would wait too long.
    lock: async (identity, wait) =>
      (await import('./lock.js')).acquireMachineLock(identity, { ...wait, stateDir }, store.list),

    check: () => values.check(),
  };
  return store;
}
