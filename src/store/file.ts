import { loadKey } from './key.js';
import { listEntries, readEntry } from './records.js';
import { unseal } from './sealed.js';
import type { Store, StoreOptions, StoreRecord } from './store.js';

/**
 * Keeps the value inside its record, encrypted with AES-256-GCM. The rest of the record is authenticated with
 * it, so a value cannot be moved to another host's record or given a longer life.
 */
export function fileStore(options: StoreOptions): Store {
  const { stateDir, warn } = options;
  // What `find` read, so that `read` does not read the file again. Kept aside, not on the record, which
  // callers print.
  const sealedOf = new WeakMap<StoreRecord, string>();

  function find(key: string): StoreRecord | undefined {
    const entry = readEntry(stateDir, key, warn);
    if (entry?.record.store !== 'file' || entry.sealed === undefined) return undefined;
    sealedOf.set(entry.record, entry.sealed);
    return entry.record;
  }

  return {
    name: 'file',
    find,

    async read(record) {
      if (record.store !== 'file') return undefined;
      const sealed = sealedOf.get(record) ?? readEntry(stateDir, record.key, warn)?.sealed;
      if (sealed === undefined) return undefined;
      const key = await loadKey(options, 'existing');
      const value = key && unseal(key, record, sealed);
      if (value === undefined) {
        warn(
          `the ${record.kind} for ${record.key} cannot be decrypted with the present key and is passed over`,
        );
      }
      return value;
    },

    async write(record, value) {
      await (await import('./write-sealed.js')).writeSealed(options, record, value);
    },

    async check() {
      await loadKey(options, 'create');
    },

    async remove(key) {
      const record = find(key);
      if (record) (await import('./write-records.js')).removeEntry(stateDir, record);
      return record !== undefined;
    },

    list() {
      return listEntries(stateDir, warn).flatMap(({ record }) => (record.store === 'file' ? [record] : []));
    },
  };
}
