import type { Sensitive } from '../core/sensitive.js';
import { acquireLock } from './lock/lock.js';
import { entryPath } from './records.js';
import type { Store, StoreRecord } from './store.js';

/** The lock is held for as long as a mint takes, but a caller that only tidies up does not wait for a slow server. */
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
