import type { GraphException } from '../core/errors.js';

/** Leaves the holder's refusal beside the lock, for those who wait. Call before `release()`. Never throws. */
export function writeRefusal(_path: string, _refusal: GraphException): void {
  throw new Error('not written yet');
}

/** The refusal written at or after `sinceMs` (the `Date.now()` noted before waiting), if there is one. */
export function readRefusal(_path: string, _sinceMs: number): GraphException | undefined {
  throw new Error('not written yet');
}
