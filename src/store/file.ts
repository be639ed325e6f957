import type { Store, StoreOptions } from './store.js';

export function fileStore(_options: StoreOptions): Store {
  throw new Error('not written yet');
}
