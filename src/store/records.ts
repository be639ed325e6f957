import type { StoreRecord } from './store.js';

/** Path of something that belongs to an entry: its record, its lock, the refusal met by the lock's holder. */
export function entryPath(
  _stateDir: string,
  _kind: StoreRecord['kind'],
  _key: string,
  _suffix: 'json' | 'lock' | 'refused',
): string {
  throw new Error('not written yet');
}
