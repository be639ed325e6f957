import type { Store } from './store.js';

/** The store `none` stores nothing and finds nothing. */
export const noneStore: Store = {
  name: 'none',
  find: async () => undefined,
  read: async () => undefined,
  write: async () => {},
  delete: async () => false,
  deleteIf: async () => false,
  check: async () => {},
  list: async () => [],
  lock: async () => ({ write: async () => {}, refuse: async () => {}, release: async () => {} }),
};
