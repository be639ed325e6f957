import { acquireLockUnless } from '../../files/lock.js';
import { entryPath } from '../records.js';
import type { Lock, LockOptions, Store } from '../store.js';
import { readRefusal, writeRefusal } from './shared-error.js';

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
  const lock = await acquireLockUnless(isAnswered, entryPath(stateDir, 'token', key, 'lock'), waitMs);
  return (
    lock && {
      write,
      refuse: async (error) => writeRefusal(refusedFile, error, now()),
      release: async () => lock.release(),
    }
  );
}
