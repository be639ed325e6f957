import { type ErrorDetails, GraphException, REMEDIES } from '../core/errors.js';
import { acquireLock } from '../files/lock.js';
import { readJson, stageFile } from '../files/private-files.js';
import { entryPath } from './records.js';
import type { Lock, LockOptions, Store } from './store.js';

/** Implements `Store.lock` with a lock file, for one machine. An error of `tokensOf` ends the wait. */
export async function acquireMachineLock(
  identity: string,
  { tokensOf, write }: Pick<Store, 'tokensOf' | 'write'>,
  { stateDir, waitMs, since, now, accepts }: LockOptions & { readonly stateDir: string },
): Promise<Lock | undefined> {
  const refusedFile = entryPath(stateDir, 'token', identity, 'refused');
  const isAnswered = async () => {
    if ((await tokensOf(identity)).some(accepts)) return true;
    const refusal = readRefusal(refusedFile, since, now());
    if (refusal) throw refusal;
    return false;
  };
  const lock = await acquireLock(entryPath(stateDir, 'token', identity, 'lock'), waitMs, isAnswered);
  return (
    lock && {
      write,
      refuse: async (error) => writeRefusal(refusedFile, error, now()),
      release: async () => lock.release(),
    }
  );
}

/** What processes tell each other of an error, beside its code, message and remedies. */
const DETAILS = {
  hint: 'string',
  option: 'string',
  serverCode: 'string',
  serverText: 'string',
  status: 'number',
};

function detailsOf(from: object): ErrorDetails {
  const isDetail = ([name, value]: [string, unknown]) =>
    typeof value === DETAILS[name as keyof typeof DETAILS];
  return Object.fromEntries(Object.entries(from).filter(isDetail));
}

/** Returns what other processes are told of an error. */
export function fieldsOf(refusal: GraphException) {
  const { code, message, remedies } = refusal;
  return { code, message, remedies, ...detailsOf(refusal) };
}

/** Reads what another process told of an error. Undefined when it is not one that processes share. */
export function refusalFrom(fields: Record<string, unknown>): GraphException | undefined {
  const { code, message, remedies } = fields;
  const isShared = code === 'AUTH_FAILED' || code === 'PERMISSION_DENIED' || code === 'STORE_UNAVAILABLE';
  if (!isShared || typeof message !== 'string') return undefined;
  const known = REMEDIES.filter((one) => Array.isArray(remedies) && remedies.includes(one));
  return new GraphException(code, message, { ...detailsOf(fields), remedies: known });
}

/**
 * Writes the error that the lock's owner met to a file beside the lock, for the waiting processes. To be called before
 * `release()`. Never throws.
 */
export function writeRefusal(file: string, refusal: GraphException, nowMs: number): void {
  try {
    stageFile(file, `${JSON.stringify({ at: nowMs, ...fieldsOf(refusal) })}\n`).commit();
  } catch {
    // If the file cannot be written, the waiting processes ask the server themselves.
  }
}

/** Reads the error, if one was written between `sinceMs`, when the wait began, and now. */
export function readRefusal(file: string, sinceMs: number, nowMs: number): GraphException | undefined {
  const { at, ...fields } = readJson(file) ?? {};
  // A time in the future means that the clock was set back: the refusal is old and must not be used.
  return Number(at) >= sinceMs && Number(at) <= nowMs ? refusalFrom(fields) : undefined;
}
