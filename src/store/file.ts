import { Sensitive } from '../core/sensitive.js';
import { loadKey } from './key.js';
import { listEntries, readEntry } from './records.js';
import type { Store, StoreOptions, StoreRecord } from './store.js';

const IV_BYTES = 12;
const TAG_BYTES = 16;

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
      const value = key && open(key, record, sealed);
      if (value === undefined) {
        warn(
          `the ${record.kind} for ${record.key} cannot be decrypted with the present key and is passed over`,
        );
      }
      return value;
    },

    async write(record, value) {
      const key = await loadKey(options, 'create');
      const { stageEntry } = await import('./write-records.js');
      const kept: StoreRecord = { ...record, store: 'file' };
      const before = readEntry(stateDir, record.key, () => {});
      stageEntry(stateDir, { record: kept, sealed: seal(key, kept, value) }).commit();
      (await import('./sweep.js')).sweep(options);
      if (before?.record.store === 'keychain') {
        const { forgetKeychainValue } = await import('./keychain.js');
        await forgetKeychainValue(options, record.key);
      }
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

/** iv, tag and ciphertext in one base64 string. */
function seal(key: Buffer, record: StoreRecord, value: Sensitive): string {
  const crypto = process.getBuiltinModule('node:crypto');
  const iv = crypto.randomBytes(IV_BYTES);
  const cipher = crypto.createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(canonical(record));
  const text = Buffer.concat([cipher.update(value.reveal(), 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64');
}

function open(key: Buffer, record: StoreRecord, sealed: string): Sensitive | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
  const crypto = process.getBuiltinModule('node:crypto');
  const decipher = crypto.createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(canonical(record));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
    // Adds nothing to the text; it is what finds out whether anybody changed it.
    decipher.final();
    return new Sensitive(text.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The record as bytes that do not depend on the order of its fields. */
function canonical(record: StoreRecord): Buffer {
  const { v, kind, key, store, createdAtUnix, expiresAtUnix, info } = record;
  const sorted = Object.entries(info).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(JSON.stringify([v, kind, key, store, createdAtUnix, expiresAtUnix ?? null, sorted]));
}
