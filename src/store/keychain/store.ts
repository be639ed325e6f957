import { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import { deleteEntry, listEntries, readEntry, stageEntry } from '../records.js';
import type { Store, StoreOptions, StoreRecord } from '../store.js';
import { withLocks } from '../with-locks.js';
import { keychainVault } from './vault.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
const CONTROLS = /[\x00-\x1f\x7f-\x9f]/;

/** How many bytes the Credential Manager of Windows takes. */
const LONGEST_ON_WINDOWS = 2560;

/** Stores the value in the OS keychain, under the service `graphcred` and the record's key as account. */
export function keychainStore(options: StoreOptions): Store {
  const { stateDir, warn } = options;
  const vault = keychainVault(options.keychain);

  const find = (key: string) => readEntry(stateDir, 'keychain', key, warn)?.record;

  return withLocks(stateDir, {
    name: 'keychain',
    find: async (key) => find(key),

    async read(record) {
      if (record.store !== 'keychain') return undefined;
      const value = await vault.perform({ op: 'get', account: record.key });
      // Other programs can write to the keychain too, so an empty value counts as missing.
      if (typeof value !== 'string' || value === '') return undefined;
      if (!CONTROLS.test(value)) return new Sensitive(value);
      warn(
        `the OS keychain holds a ${record.kind} with a line break or another control character as graphcred/${record.key}; it is ignored, and replaced when a new one is stored`,
      );
      return undefined;
    },

    async write(record, value) {
      const text = value.reveal();
      refuseUnfit(text, record, options.keychain.platform);
      const staged = stageEntry(stateDir, { record: { ...record, store: 'keychain' } });
      try {
        await vault.perform({ op: 'set', account: record.key, value: text });
        staged.commit();
      } finally {
        staged.discard();
      }
      (await import('../sweep.js')).sweep(options);
    },

    async delete(key) {
      const record = find(key);
      if (!record) return false;
      await vault.perform({ op: 'delete', account: key });
      deleteEntry(stateDir, record);
      return true;
    },

    check: () => vault.check(),

    async list() {
      return listEntries(stateDir, warn).flatMap(({ record }) =>
        record.store === 'keychain' ? [record] : [],
      );
    },
  });
}

/** Throws STORE_UNAVAILABLE for a value that the keychain would not give back as it is. */
function refuseUnfit(text: string, { kind }: StoreRecord, platform: NodeJS.Platform): void {
  // Control characters are not stored: a read refuses them, and libsecret cuts a value at the first zero byte.
  if (text === '' || CONTROLS.test(text))
    throw new GraphException(
      'STORE_UNAVAILABLE',
      'the OS keychain cannot keep an empty value or one with control characters',
      { hint: 'check where the value comes from, or use --store file' },
    );
  if (platform === 'win32' && Buffer.byteLength(text) > LONGEST_ON_WINDOWS)
    throw new GraphException(
      'STORE_UNAVAILABLE',
      `Windows keeps values of at most ${LONGEST_ON_WINDOWS} bytes in its keychain, and this ${kind} is longer`,
      { hint: 'use --store file', setting: 'store' },
    );
}
