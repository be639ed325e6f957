import type { Sensitive } from '../core/sensitive.js';
import { acquireLock } from './lock/lock.js';
import { entryPath } from './records.js';
import type { Store, StoreRecord } from './store.js';

/**
 * Another process may hold the lock during a mint, but a caller that only removes an entry does not wait as long as a
 * slow server may take.
 */
const WAIT_MS = 10_000;

/** `Store.removeIf` for the stores that lock entries by files in `stateDir`. */
export async function removeIfSame(
  store: Pick<Store, 'find' | 'read' | 'remove'>,
  stateDir: string,
  { kind, key }: StoreRecord,
  value: Sensitive | undefined,
): Promise<boolean> {
  const lock = await acquireLock(entryPath(stateDir, kind, key, 'lock'), { waitMs: WAIT_MS });
  try {
    const current = await store.find(key);
    if (current?.kind !== kind || (await store.read(current))?.reveal() !== value?.reveal()) return false;
    return await store.remove(key);
  } finally {
    lock.release();
  }
}
