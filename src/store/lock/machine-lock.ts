import type { Sensitive } from '../../core/sensitive.js';
import { entryPath } from '../records.js';
import type { Lock, LockOptions, Store, StoreRecord } from '../store.js';
import { acquireLockUnless, withLock } from './lock.js';
import { readRefusal, writeRefusal } from './shared-error.js';

/**
 * Another process may hold the lock during a mint, but a caller that only deletes an entry does not wait as long as a
 * slow server may take.
 */
const DELETE_WAIT_MS = 10_000;

/** Implements `Store.lock` with a lock file, for one machine. An error of `find` ends the wait. */
export async function acquireMachineLock(
  key: string,
  { find, write }: Pick<Store, 'find' | 'write'>,
  { stateDir, waitMs, since, now, accepts }: LockOptions & { readonly stateDir: string },
): Promise<Lock | undefined> {
  const refusedFile = entryPath(stateDir, 'token', key, 'refused');
  const isAnswered = async () => {
    const record = await find(key);
    if (record !== undefined && accepts(record)) return true;
    const refusal = readRefusal(refusedFile, since, now());
    if (refusal) throw refusal;
    return false;
  };
  const lock = await acquireLockUnless(isAnswered, entryPath(stateDir, 'token', key, 'lock'), { waitMs });
  return (
    lock && {
      write,
      refuse: async (error) => writeRefusal(refusedFile, error, now()),
      release: async () => lock.release(),
    }
  );
}

/** Implements `Store.deleteIf` with the same lock file. */
export async function deleteIfSame(
  store: Pick<Store, 'find' | 'read' | 'delete'>,
  stateDir: string,
  { kind, key }: StoreRecord,
  value: Sensitive | undefined,
): Promise<boolean> {
  return withLock(entryPath(stateDir, kind, key, 'lock'), { waitMs: DELETE_WAIT_MS }, async () => {
    const current = await store.find(key);
    if (current?.kind !== kind || (await store.read(current))?.reveal() !== value?.reveal()) return false;
    return store.delete(key);
  });
}
