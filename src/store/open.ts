import { fileStore } from './file.js';
import type { Store, StoreName, StoreOptions } from './store.js';

/**
 * The store of that name; who keeps tokens in files never pays for the session bus. Opening touches nothing:
 * errors come from the first use.
 */
export async function openStore(name: StoreName, options: StoreOptions): Promise<Store> {
  switch (name) {
    case 'keychain':
      return (await import('./keychain.js')).keychainStore(options);
    case 'file':
      return fileStore(options);
    case 'none':
      return (await import('./none.js')).noneStore;
  }
}
