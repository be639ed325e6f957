import type { Store } from './store.js';

/** Keeps nothing and finds nothing. */
export const noneStore: Store = {
  name: 'none',
  find: () => undefined,
  read: async () => undefined,
  write: async () => {},
  remove: async () => false,
  check: async () => {},
  list: () => [],
};
