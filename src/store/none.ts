import type { Store } from './store.js';

/** The store `none` stores nothing and finds nothing. */
export const noneStore: Store = {
  name: 'none',
  find: async () => undefined,
  read: async () => undefined,
  write: async () => {},
  remove: async () => false,
  removeIf: async () => false,
  check: async () => {},
  list: async () => [],
  lock: async () => ({ write: async () => {}, refuse: async () => {}, release: async () => {} }),
};
