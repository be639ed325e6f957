import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import { keychainVault } from './keychain-vault.js';
import { listEntries, readEntry } from './records.js';
import { splittingVault, type Vault } from './split.js';
import type { KeychainOptions, Store, StoreOptions, StoreRecord } from './store.js';

/** Keeps the value in the OS keychain, under the service `graphcred` and the record's key as account. */
export function keychainStore(options: StoreOptions): Store {
  const { stateDir, warn } = options;
  const vault = openVault(options.keychain);

  function find(key: string): StoreRecord | undefined {
    const record = readEntry(stateDir, key, warn)?.record;
    return record?.store === 'keychain' ? record : undefined;
  }

  return {
    name: 'keychain',
    find,

    async read(record) {
      if (record.store !== 'keychain') return undefined;
      const value = await vault.get(record.key);
      return value === undefined ? undefined : new Sensitive(value);
    },

    async write(record, value) {
      const text = value.reveal();
      // libsecret would cut the value at the first zero byte without a word.
      if (text === '' || text.includes('\0')) {
        throw new GraphException(
          'STORE_UNAVAILABLE',
          'the OS keychain cannot keep an empty value or a zero byte',
          {
            hint: 'check where the value comes from, or use --store file',
          },
        );
      }
      const { stageEntry } = await import('./write-records.js');
      const staged = stageEntry(stateDir, { record: { ...record, store: 'keychain' } });
      try {
        await vault.set(record.key, text);
        staged.commit();
      } finally {
        staged.discard();
      }
      (await import('./sweep.js')).sweep(options);
    },

    async remove(key) {
      const record = find(key);
      if (!record) return false;
      await vault.delete(key);
      (await import('./write-records.js')).removeEntry(stateDir, record);
      return true;
    },

    check: () => vault.check(),

    list() {
      return listEntries(stateDir, warn).flatMap(({ record }) =>
        record.store === 'keychain' ? [record] : [],
      );
    },
  };
}

/**
 * Removes the value that another store has replaced. It never prompts, and a failure is only a warning: the
 * record is gone already, so nothing reads the old value any more.
 */
export async function forgetKeychainValue(options: StoreOptions, key: string): Promise<void> {
  try {
    await openVault({ ...options.keychain, mayPrompt: false }).delete(key);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    options.warn(`the OS keychain still holds an old value as graphcred/${key}: ${why}`);
  }
}

function openVault(options: KeychainOptions): Vault {
  const vault = keychainVault(options);
  return (options.split ?? options.platform === 'win32') ? splittingVault(vault) : vault;
}
