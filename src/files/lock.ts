import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { cannotWrite, ensurePrivateFolder, errnoOf, readChecked, removeQuietly } from './private-files.js';

// How the lock works. A lock is a file, created with O_EXCL, so only one process can. Its content is a random number of
// its owner, who writes it again each second. After five seconds without that the owner counts as dead: killed, stopped,
// or on a machine that is gone. The file system's own clock tells the age, so machines whose clocks differ may share a
// folder. An owner that was stopped and goes on does not know that another took its lock over, and mints once more.

/** A lock of one machine. */
export interface FileLock {
  /** Releases the lock. It may be called twice and never throws. */
  release(): void;
}

const RENEW_MS = 1_000;
const STALE_MS = 5_000;
const MAX_BYTES = 64;

/**
 * Waits for the lock. Undefined as soon as `isAnswered` finds that it is not needed; an error of that ends the wait.
 * @throws GraphException LOCK_TIMEOUT; STORE_UNAVAILABLE when the lock's file cannot be made
 */
export async function acquireLock(
  file: string,
  waitMs: number,
  isAnswered = async () => false,
): Promise<FileLock | undefined> {
  const attempt = async () => {
    const lock = tryLock(file);
    const answered = await isAnswered().catch((error) => {
      lock?.release();
      throw error;
    });
    if (!answered) return lock;
    lock?.release();
    return 'not needed';
  };
  const acquired = await retry(attempt, waitMs, { shortestMs: 5, longestMs: 50 });
  if (acquired === undefined) throw timedOut(file, waitMs);
  return acquired === 'not needed' ? undefined : acquired;
}

/** Calls `attempt` with growing pauses until it returns something. Undefined when the time has passed. */
export async function retry<T>(
  attempt: () => Promise<T | undefined>,
  waitMs: number,
  { shortestMs, longestMs }: { readonly shortestMs: number; readonly longestMs: number },
): Promise<T | undefined> {
  // performance.now() is not used, because it loads another module.
  const end = process.uptime() * 1000 + waitMs;
  for (let pause = shortestMs; ; pause = Math.min(pause * 1.5, longestMs)) {
    const result = await attempt();
    if (result !== undefined) return result;
    const left = end - process.uptime() * 1000;
    if (left <= 0) return undefined;
    // The pause is random, so that the waiting processes do not all try again at the same time.
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, pause * (0.5 + Math.random() / 2))));
  }
}

/** Runs `work` while this process has the lock, or without it where its file cannot be made, as on a full disk. */
export async function withLockIfWritable<T>(
  file: string,
  waitMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const lock = await acquireLock(file, waitMs).catch((error: unknown) => {
    if (!(error instanceof GraphException) || error.code !== 'STORE_UNAVAILABLE') throw error;
    return undefined;
  });
  try {
    return await work();
  } finally {
    lock?.release();
  }
}

/**
 * Takes the lock if no living process has it, else returns undefined.
 * @throws GraphException STORE_UNAVAILABLE
 */
export function tryLock(file: string): FileLock | undefined {
  const dir = path.dirname(file);
  ensurePrivateFolder(dir);
  const number = Math.random().toString(36).slice(2);
  try {
    return create(file, number) || takeOver(file, number) ? held(file, number) : undefined;
  } catch (error) {
    throw error instanceof GraphException ? error : cannotWrite(dir, error);
  }
}

/** Replaces the lock of a dead owner by one's own. A second file lets one process at a time do so. */
function takeOver(file: string, number: string): boolean {
  const turn = `${file}.turn`;
  if (!isOld(read(file), Date.now())) return false;
  if (!create(turn, number)) {
    // Whoever made it died before it was removed, which takes no time.
    if (isOld(read(turn), Date.now())) removeQuietly(turn);
    return false;
  }
  try {
    // The file that was just made has the time of the file system, which may be that of another machine.
    const now = read(turn)?.mtimeMs;
    if (now === undefined || !isOld(read(file), now)) return false;
    removeQuietly(file);
    return create(file, number);
  } finally {
    removeQuietly(turn);
  }
}

/** A time in the future means that the clock was set back since. */
function isOld(lock: { readonly mtimeMs: number } | undefined, now: number): boolean {
  return lock !== undefined && Math.abs(now - lock.mtimeMs) > STALE_MS;
}

function held(file: string, number: string): FileLock {
  const isMine = () => read(file)?.text === number;
  const renewal = setInterval(() => {
    try {
      if (isMine()) fs.writeFileSync(file, number, { flag: 'r+' });
    } catch {
      // The next interval tries again.
    }
  }, RENEW_MS).unref();
  return {
    release() {
      clearInterval(renewal);
      try {
        if (isMine()) removeQuietly(file);
      } catch {
        // Something else is in its place.
      }
    },
  };
}

function read(file: string): { readonly text: string; readonly mtimeMs: number } | undefined {
  const checked = readChecked(file, MAX_BYTES);
  if (checked === undefined || !('refused' in checked)) return checked;
  throw new GraphException('STORE_UNAVAILABLE', `the lock ${file} cannot be used: ${checked.refused}`, {
    hint: `if no other graphcred is running, remove ${file}`,
  });
}

/** Creates a file unless it exists. On a full disk the empty file is removed, since it would block others. */
function create(file: string, content: string): boolean {
  try {
    fs.writeFileSync(file, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    removeQuietly(file);
    throw error;
  }
}

function timedOut(file: string, waitMs: number): GraphException {
  return new GraphException(
    'LOCK_TIMEOUT',
    `another graphcred process is busy with this entry; waited ${Math.round(waitMs / 1000)} s`,
    { hint: `run the command again; if no other graphcred is running, remove ${file}` },
  );
}
