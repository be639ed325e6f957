import { type ErrorCode, GraphException } from '../core/errors.js';
import { acquireLock } from '../files/lock.js';
import { readJson, writePrivateFile } from '../files/private-files.js';
import { entryPath } from './records.js';
import type { Lock, LockOptions, Store } from './store.js';

/** Implements `Store.lock` with a lock file. @param list finds what another process stored meanwhile */
export async function acquireMachineLock(
  identity: string,
  { stateDir, waitMs, since, now, accepts }: LockOptions & { readonly stateDir: string },
  list: Store['list'] = async () => [],
): Promise<Lock | undefined> {
  const refusedFile = entryPath(stateDir, 'token', identity, 'refused');
  const isAnswered = async () => {
    const records = await list(identity);
    if (records.some((record) => record.kind === 'token' && accepts(record))) return true;
    const refusal = recentRefusal(refusedFile, since, now());
    if (refusal) throw refusal;
    return false;
  };
  const lock = await acquireLock(entryPath(stateDir, 'token', identity, 'lock'), waitMs, isAnswered);
  return (
    lock && {
      refuse: async (error) => writeRefusal(refusedFile, error, now()),
      release: async () => lock.release(),
    }
  );
}

/** Makes an error again of its JSON, in which processes tell each other of it. */
export function errorFrom({ code, message, ...details }: Record<string, unknown>): GraphException {
  return new GraphException(code as ErrorCode, String(message), details);
}

/** Writes the error that the lock's owner met to a file beside the lock, for the waiting processes. Never throws. */
export function writeRefusal(file: string, refusal: GraphException, nowMs: number): void {
  try {
    writePrivateFile(file, `${JSON.stringify({ at: nowMs, ...refusal.toJSON() })}\n`);
  } catch {
    // If the file cannot be written, the waiting processes ask the server themselves.
  }
}

/** Reads the error, if one was written after `sinceMs`, when the wait began: in the same ms it may be this process's own. */
export function recentRefusal(file: string, sinceMs: number, nowMs: number): GraphException | undefined {
  const { at, ...error } = readJson(file);
  // A time in the future means that the clock was set back: the refusal is old and must not be used.
  return Number(at) > sinceMs && Number(at) <= nowMs ? errorFrom(error) : undefined;
}
