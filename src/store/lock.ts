export interface LockOptions {
  /** How long to wait for another process, in ms. */
  waitMs: number;
  signal?: AbortSignal | undefined;
}

export interface Lock {
  /** Gives the lock back. Safe to call twice; never throws. */
  release(): void;
}

/** Waits for the lock. Throws LOCK_TIMEOUT, STORE_UNAVAILABLE (folder cannot be written), or the signal's reason. */
export async function acquireLock(_path: string, _options: LockOptions): Promise<Lock> {
  throw new Error('not written yet');
}

/** The lock if nobody alive has it, else undefined. Throws STORE_UNAVAILABLE. */
export function tryLock(_path: string): Lock | undefined {
  throw new Error('not written yet');
}
