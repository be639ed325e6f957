import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import {
  cannotWrite,
  ensurePrivateFolder,
  errnoOf,
  readChecked,
  removeQuietly,
  temporaryName,
} from './private-files.js';

// How the lock works. The lock file is created with link(2), with its content already in it, so the process that
// creates it owns the lock. The content names the owner and a random number that is used once. When the owner of number
// N is dead, the process that creates the file `<lock>.N`, again with link(2), becomes the owner; only one can. If that
// owner dies too, this repeats, so the files form a chain whose last link names the owner. A file that other processes
// rely on is never renamed or replaced, because schemes that do so have races. Only the owner releases the lock, by
// removing first the lock file and then the rest of the chain. A number is never used again, so a process that creates
// `<lock>.N` too late notices this when it reads the chain once more.

/** A lock of one machine. */
export interface FileLock {
  /** Releases the lock. It may be called twice and never throws. */
  release(): void;
}

/** How often the owner of a lock renews it. */
const RENEW_MS = 5_000;
/**
 * A process cannot find out whether a lock's owner in another container or on another machine is alive. If such an
 * owner has not renewed its lock for this time, it counts as dead. The limit is below the 35 s for which a command
 * waits by default.
 */
const FOREIGN_LIMIT_MS = 30_000;
/** A process id without a start time proves little, because the system may have given it to another process since. */
const UNPROVEN_LIMIT_MS = 10 * 60_000;
/** A file without content is either being written, or its writer has died; after this time it counts as the latter. */
const UNFINISHED_LIMIT_MS = 2_000;
/** A link holds one line of less than 300 bytes. */
const MAX_LINK_BYTES = 4096;
/** The chain grows by a link for each owner that was killed, until the next release removes all links. */
const MAX_LINKS = 1000;

/**
 * Waits for the lock. Undefined as soon as `isAnswered` finds that it is not needed; an error of that ends the wait.
 * @throws GraphException LOCK_TIMEOUT; STORE_UNAVAILABLE when the lock's file cannot be made
 */
export async function acquireLock(
  file: string,
  waitMs: number,
  isAnswered = async () => false,
): Promise<FileLock | undefined> {
  const claim = prepare(file);
  const attempt = async () => {
    const lock = claim.take();
    const answered = await isAnswered().catch((error) => {
      lock?.release();
      throw error;
    });
    if (!answered) return lock;
    lock?.release();
    return 'not needed';
  };
  try {
    const acquired = await retry(attempt, waitMs, { shortestMs: 5, longestMs: 50 });
    if (acquired === undefined) throw timedOut(file, waitMs);
    return acquired === 'not needed' ? undefined : acquired;
  } finally {
    claim.cleanUp();
  }
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

/** Takes the lock if no living process has it, else returns undefined. Throws STORE_UNAVAILABLE. */
export function tryLock(file: string): FileLock | undefined {
  const attempt = prepare(file);
  try {
    return attempt.take();
  } finally {
    attempt.cleanUp();
  }
}

interface Link {
  readonly file: string;
  /** A random number, used once. It names the file by which the next owner takes over. */
  readonly number: string;
  /** The owner; absent while the file is being written on a file system without hard links. */
  readonly mark: string | undefined;
  readonly ageMs: number;
}

function prepare(file: string): { take(): FileLock | undefined; cleanUp(): void } {
  const dir = path.dirname(file);
  ensurePrivateFolder(dir);
  const place = hostId();
  const number = `${process.pid.toString(36)}-${Math.random().toString(36).slice(2, 12)}`;
  const content = `${number} ${processId(place)}\n`;
  const temporary = temporaryName(file);

  function take(): FileLock | undefined {
    const last = readChain(file).at(-1);
    if (last && isAlive(last.mark, last.ageMs, place)) return undefined;
    const mine = last ? `${file}.${last.number}` : file;
    if (!create(mine, temporary, content)) return undefined;
    if (readChain(file).at(-1)?.number === number) return held(file, mine, number);
    // The lock was released after the chain was read, so this claim is void.
    fs.rmSync(mine, { force: true });
    return undefined;
  }

  const orRefuse = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw error instanceof GraphException ? error : cannotWrite(dir, error);
    }
  };
  orRefuse(() => fill(temporary, content));
  return {
    take: () => orRefuse(take),
    cleanUp: () => removeQuietly(temporary),
  };
}

function held(file: string, own: string, number: string): FileLock {
  let mine = true;
  // A process in another container or on another machine can tell only by the age of the file that this process is
  // alive.
  const renewal = setInterval(() => {
    try {
      if (readLink(own)?.number === number) fs.utimesSync(own, new Date(), new Date());
    } catch {
      // The next interval tries again.
    }
  }, RENEW_MS).unref();
  return {
    release() {
      if (!mine) return;
      mine = false;
      clearInterval(renewal);
      try {
        const chain = readChain(file);
        // Another machine may have taken the lock over after this process was silent for too long.
        if (chain.at(-1)?.number !== number) return;
        // The lock file is removed first: without it the other files of the chain have no effect.
        for (const link of chain) fs.rmSync(link.file, { force: true });
      } catch {
        // If a file remains, the lock counts as free when this process has ended.
      }
    },
  };
}

/** Reads the chain from the lock file to the current owner's link; empty when the lock is free. */
function readChain(file: string): Link[] {
  const chain: Link[] = [];
  for (let next = file; chain.length < MAX_LINKS; ) {
    const link = readLink(next);
    if (link === undefined) return chain;
    chain.push(link);
    next = `${file}.${link.number}`;
  }
  throw unusable(file, 'it has no end');
}

function readLink(file: string): Link | undefined {
  const checked = readChecked(file, MAX_LINK_BYTES);
  if (checked === undefined) return undefined;
  if ('refused' in checked) throw unusable(file, checked.refused);
  const { text, ino, mtimeMs } = checked;
  const [number, mark] = text.endsWith('\n') ? text.trimEnd().split(' ') : [];
  // The number becomes part of a file name, so only safe characters are accepted.
  const plain = number !== undefined && /^[\w-]+$/.test(number) ? number : undefined;
  return { file, number: plain ?? `${ino}-${Math.trunc(mtimeMs)}`, mark, ageMs: Date.now() - mtimeMs };
}

function unusable(file: string, why: string): GraphException {
  return new GraphException('STORE_UNAVAILABLE', `the lock ${file} cannot be used: ${why}`, {
    hint: `if no other graphcred is running, remove ${file}`,
  });
}

/** Creates a file that must not exist yet. On a full disk the empty file is removed, since it would block others. */
function fill(file: string, content: string): void {
  try {
    fs.writeFileSync(file, content, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') fs.rmSync(file, { force: true });
    throw error;
  }
}

/** Creates the file unless it exists. Where hard links are possible, it appears with its content already in it. */
function create(target: string, temporary: string, content: string): boolean {
  try {
    // The temporary file is as old as the wait, and an old lock counts as that of a dead process elsewhere.
    fs.utimesSync(temporary, new Date(), new Date());
    fs.linkSync(temporary, target);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
  }
  try {
    fill(target, content);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
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

/** Identifies this process as `place/pid/start`, so that another process can tell whether it is still alive. */
export function processId(place: string): string {
  return `${place}/${process.pid}/${statOf(process.pid)?.start ?? ''}`;
}

/**
 * Whether the process with this id may still be alive.
 * @param age of the file that it left, in ms
 * @param here the `hostId` of this process
 */
export function isAlive(mark: string | undefined, age: number, here: string): boolean {
  // A modification time in the future means that the clock was set back since.
  const ageMs = Math.abs(age);
  if (mark === undefined) return ageMs < UNFINISHED_LIMIT_MS;
  const [place, pidText, start] = mark.split('/');
  if (place !== here) return ageMs < FOREIGN_LIMIT_MS;
  const pid = Number(pidText);
  if (isGone(pid)) return false;
  const stat = statOf(pid);
  if (!stat || !start) return ageMs < UNPROVEN_LIMIT_MS;
  // A zombie still has its process id, and the id of a dead process may have been given to another one.
  return stat.start === start && stat.state !== 'Z';
}

/** Whether no process here has this id. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return errnoOf(error) === 'ESRCH';
  }
}

/**
 * Identifies where process ids are comparable: the machine since its last start, and on Linux the process namespace.
 */
export function hostId(): string {
  let namespace = '';
  let boot = '';
  try {
    namespace = fs.readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
    boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    // Without /proc, as outside Linux, only the host name is available.
  }
  const { hostname } = process.getBuiltinModule('node:os');
  return `${encodeURIComponent(hostname())}:${boot}:${namespace}`;
}

/** Reads state and start time of a process (fields 3 and 22 of its stat file), on Linux. */
function statOf(pid: number): { state: string; start: string } | undefined {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the program's name in parentheses, which may itself contain blanks and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    return state && start ? { state, start } : undefined;
  } catch {
    return undefined;
  }
}
