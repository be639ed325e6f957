import type { Store, StoreOptions } from './store.js';

export function keychainStore(_options: StoreOptions): Store {
  throw new Error('not written yet');
}
