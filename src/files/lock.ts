import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { cannotWrite, ensurePrivateFolder, errnoOf, temporaryName } from './private-files.js';

// A lock is a file, which only one process can create. Its owner changes the file's time each second; after five seconds
// without a change it counts as dead: killed, stopped, or on a machine that is gone. No clock is compared, so machines
// whose clocks differ may share a folder. An owner that was stopped and goes on mints once more.

const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants;
const RENEW_MS = 1_000;
const STALE_SECONDS = 5;

/**
 * Waits for the lock. Undefined as soon as `isAnswered` finds that it is not needed; an error of that ends the wait.
 * @throws GraphException LOCK_TIMEOUT; STORE_UNAVAILABLE when the lock's file cannot be made
 */
export async function acquireLock(file: string, waitMs: number, isAnswered = async () => false) {
  let seen: string | undefined;
  let seenAt = 0;
  const attempt = async () => {
    const lock = tryLock(file);
    let isNeeded = false;
    try {
      isNeeded = !(await isAnswered());
    } finally {
      if (!isNeeded) lock?.release();
    }
    if (!isNeeded || lock) return { lock: isNeeded ? lock : undefined };
    const state = stateOf(file);
    if (state !== seen) [seen, seenAt] = [state, process.uptime()];
    else if (state !== undefined && process.uptime() - seenAt > STALE_SECONDS) removeStale(file, state);
    return undefined;
  };
  const busy = 'another graphcred process is doing the same';
  const hint = `run the command again; if no other graphcred is running, remove ${file}`;
  return (await retry(attempt, { waitMs, longestPauseMs: 50, busy, hint })).lock;
}

/** Calls `attempt` with growing pauses until it returns something. Throws LOCK_TIMEOUT when the time has passed. */
export async function retry<T>(
  attempt: () => Promise<T | undefined>,
  wait: { waitMs: number; longestPauseMs: number; busy: string; hint: string },
): Promise<T> {
  const { waitMs, longestPauseMs, busy, hint } = wait;
  const end = process.uptime() * 1000 + waitMs;
  for (let pause = longestPauseMs / 10; ; pause = Math.min(pause * 1.5, longestPauseMs)) {
    const result = await attempt();
    if (result !== undefined) return result;
    const left = end - process.uptime() * 1000;
    if (left <= 0)
      throw new GraphException('LOCK_TIMEOUT', `${busy}; waited ${Math.round(waitMs / 1000)} s`, { hint });
    // The pause is random, so that the waiting processes do not all try again at the same time.
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, pause * (0.5 + Math.random() / 2))));
  }
}

/** For `catch`: goes on without a lock where its file cannot be made, as on a full disk. */
export function ifUnwritable(error: unknown): undefined {
  if (!(error instanceof GraphException) || error.code !== 'STORE_UNAVAILABLE') throw error;
}

/** Takes the lock if no process has it, else returns undefined. Its release never throws. Throws STORE_UNAVAILABLE. */
export function tryLock(file: string): { release(): void } | undefined {
  const dir = path.dirname(file);
  ensurePrivateFolder(dir);
  let fd: number;
  try {
    fd = fs.openSync(file, 'wx', 0o600);
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return undefined;
    throw cannotWrite(dir, error);
  }
  const renewal = setInterval(() => {
    const now = Date.now() / 1000;
    try {
      // The open file is this process's own, whatever has become of its name.
      fs.futimesSync(fd, now, now);
    } catch {
      // The next interval tries again.
    }
  }, RENEW_MS).unref();
  const lock = {
    release() {
      clearInterval(renewal);
      process.off('exit', lock.release);
      try {
        if (fs.fstatSync(fd).ino === fs.lstatSync(file).ino) fs.unlinkSync(file);
      } catch {
        // It was taken over, or the folder cannot be changed any more.
      } finally {
        fs.closeSync(fd);
      }
    },
  };
  // A signal ends the process without unwinding it, and others would wait until the lock counts as dead.
  process.prependListener('exit', lock.release);
  return lock;
}

/** Returns what changes when the lock is renewed or has another owner. Undefined when there is none. */
function stateOf(file: string): string | undefined {
  try {
    // It is opened, because a network file system may tell an old time of a file that is only looked at.
    const fd = fs.openSync(file, O_RDONLY | O_NONBLOCK);
    const { ino, mtimeMs } = fs.fstatSync(fd);
    fs.closeSync(fd);
    return `${ino} ${mtimeMs}`;
  } catch {
    return undefined;
  }
}

/** Removes the lock of a dead owner, and not that of a process which has just taken it over. */
function removeStale(file: string, state: string): void {
  const moved = temporaryName(file);
  try {
    // Only one process can move it away, but it may be too late and move another one's.
    fs.renameSync(file, moved);
    if (stateOf(moved) !== state) fs.linkSync(moved, file);
    fs.rmSync(moved);
  } catch {
    // Another process was faster.
  }
}
