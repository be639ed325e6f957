import type { Store } from './store.js';

/** Adds to a store of this machine what its entries need locks for. The locks are loaded when they are needed. */
export function withLocks(stateDir: string, store: Omit<Store, 'deleteIf' | 'lock'>): Store {
  return {
    ...store,
    deleteIf: async (record, value) =>
      (await import('./lock/machine-lock.js')).deleteIfSame(store, stateDir, record, value),
    // A waiting process looks at the record alone. If each asked the keychain while it has the lock, the last of a
    // hundred would wait too long.
    lock: async (key, options) =>
      (await import('./lock/machine-lock.js')).acquireMachineLock(key, store, { ...options, stateDir }),
  };
}
