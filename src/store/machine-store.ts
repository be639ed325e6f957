import fs from 'node:fs';
import path from 'node:path';
import type { Sensitive } from '../core/sensitive.js';
import { removeFile, removeQuietly } from '../files/private-files.js';
import { listEntries, partsOf, prefixOf, readEntry, recordPath, type Unread, writeEntry } from './records.js';
import type { Store, StoreName, StoreOptions, StoreRecord } from './store.js';

/** What a store of this machine does with the values; the records are files. */
export interface Values {
  /** Stores a value, or returns it encrypted for the record's file. */
  put(record: StoreRecord, value: Sensitive): Promise<string | undefined>;
  get(record: StoreRecord, encrypted: string | undefined): Promise<Sensitive | undefined>;
  /** Deletes a value that is stored outside the record's file, as all values then are. */
  delete?(key: string): Promise<void>;
  check(): Promise<void>;
}

/** Marks a record while its value is on its way. Where a run was killed meanwhile, the next one sees it. */
export function unfinished<R extends StoreRecord>(record: R, step: 'write' | 'delete'): R {
  return { ...record, info: { ...record.info, unfinished: step } };
}

/**
 * Writes a record whose value is kept outside its file: the record first, with a mark, so that whatever is kept is listed.
 * @param put keeps the value; when it fails, the record is what it was before
 */
async function putOutside(stateDir: string, record: StoreRecord, put: () => Promise<unknown>): Promise<void> {
  const before = readEntry(stateDir, record);
  writeEntry(stateDir, { record: unfinished(record, 'write') });
  try {
    await put();
  } catch (error) {
    if (before) writeEntry(stateDir, before);
    else removeFile(recordPath(stateDir, record));
    throw error;
  }
  writeEntry(stateDir, { record });
}

/** Returns a store of this machine. Its locks are loaded when they are needed. */
export function machineStore(name: StoreName, options: StoreOptions, values: Values): Store {
  const { stateDir } = options;
  const onUnread = ({ file, why, mend }: Unread) => options.warn(`${file} is passed over: ${why}; ${mend}`);
  const write = (record: StoreRecord, sealed?: string) => writeEntry(stateDir, { record, sealed });
  const store: Store = {
    name,

    async list(of) {
      const prefix = of === undefined ? '' : prefixOf(name, partsOf(of).identity);
      return listEntries(stateDir, onUnread, (file) => file.includes(prefix))
        .map(({ record }) => record)
        .filter(({ key, store }) => store === name && [undefined, key, partsOf(key).identity].includes(of));
    },

    async get(record) {
      const entry = record.store === name ? readEntry(stateDir, record, onUnread) : undefined;
      return entry && values.get(entry.record, entry.sealed);
    },

    async put(record, value) {
      const own = { ...record, store: name };
      if (values.delete) await putOutside(stateDir, own, () => values.put(own, value));
      else write(own, await values.put(own, value));
      sweep(options);
    },

    async delete(key) {
      const record = (await store.list(key)).find((one) => one.key === key);
      if (!record) return false;
      // A full disk takes no mark, and the entry can be deleted without it.
      const mark = (marked: StoreRecord) => {
        try {
          write(marked);
        } catch {}
      };
      if (values.delete) mark(unfinished(record, 'delete'));
      await values.delete?.(key).catch((error) => {
        mark(record);
        throw error;
      });
      removeFile(recordPath(stateDir, record));
      return true;
    },

    // A waiting process looks at the record alone. If each asked the keychain while it has the lock, the last of a
    // hundred would wait too long.
    lock: async (identity, wait) =>
      (await import('./lock.js')).acquireMachineLock(identity, store, { ...wait, stateDir }),

    check: () => values.check(),
  };
  return store;
}

/**
 * What killed processes leave behind: a temporary file, with the id of the process that made it; a refusal; a lock, which
 * a living owner renews each second.
 */
const LEFT_BEHIND = /\.\d+(\.[a-z0-9]+)?\.tmp$|\.refused$|\.lock$/;
const OLD_MS = 3_600_000;

/** Removes what killed processes left behind. Called now and then by processes that write. Never throws. */
export function sweep({ stateDir, configDir }: { stateDir: string; configDir: string }): void {
  for (const dir of [stateDir, configDir]) {
    try {
      for (const name of fs.readdirSync(dir).filter((one) => LEFT_BEHIND.test(one))) {
        const file = path.join(dir, name);
        // A time in the future means that the clock was set back: the file is at least that old.
        if (Math.abs(Date.now() - fs.statSync(file).mtimeMs) > OLD_MS) removeQuietly(file);
      }
    } catch {
      // The next call tries again.
    }
  }
}
