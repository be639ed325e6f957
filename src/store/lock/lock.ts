import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../../core/errors.js';
import {
  cannotWrite,
  ensurePrivateFolder,
  errnoOf,
  readChecked,
  removeQuietly,
  temporaryName,
} from '../../files/private-files.js';
import { hostId, isAlive, processId, RENEW_MS } from './process-owner.js';

// How the lock works. The lock file is made with link(2), its content already in place: who makes it, has it.
// The content names the owner and a number used once. When the owner of number N is dead, the lock passes to
// whoever makes the file `<lock>.N`, again by link(2), so to exactly one; and so on from there. The lock
// belongs to the last link of this chain. A file that others rely on is never renamed or replaced, which is
// where take-over schemes lose their race: only the owner gives the lock back, by removing the lock file
// first and the rest of the chain after it. A number never comes back, so a late claim to `<lock>.N` is
// recognised as void by looking at the chain once more.

export interface LockOptions {
  /** How long to wait for another process, in ms. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Lock {
  /** Gives the lock back. Safe to call twice; never throws. */
  release(): void;
}

const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;
/** A link holds one line of less than 300 bytes. */
const MAX_LINK_BYTES = 4096;
/** Each holder that was killed adds a link, and the next release removes them all. */
const MAX_LINKS = 1000;

/**
 * Waits for the lock. Throws LOCK_TIMEOUT, STORE_UNAVAILABLE (folder cannot be written), or the signal's reason.
 * With `answered`, which is asked after each pause: undefined as soon as it says that the lock is needed no more.
 */
export async function acquireLock(file: string, options: LockOptions): Promise<Lock>;
export async function acquireLock(
  file: string,
  options: LockOptions & { readonly answered: () => Promise<boolean> },
): Promise<Lock | undefined>;
export async function acquireLock(
  file: string,
  options: LockOptions & { readonly answered?: () => Promise<boolean> },
): Promise<Lock | undefined> {
  // Not performance.now(), which loads a module of its own.
  const deadline = process.uptime() + options.waitMs / 1000;
  const attempt = prepare(file);
  try {
    for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
      options.signal?.throwIfAborted();
      const lock = attempt.take();
      if (lock) return lock;
      const left = (deadline - process.uptime()) * 1000;
      if (left <= 0) throw timedOut(file, options.waitMs);
      // Jitter, so that the waiting processes do not all try again at the same time.
      await sleep(Math.min(left, pause * (0.5 + Math.random() / 2)), options.signal);
      if (await options.answered?.()) return undefined;
    }
  } finally {
    attempt.cleanUp();
  }
}

/** Does the work under the lock. Throws as `acquireLock`, and what the work throws. */
export async function withLock<T>(file: string, options: LockOptions, work: () => T): Promise<T> {
  const lock = await acquireLock(file, options);
  try {
    return work();
  } finally {
    lock.release();
  }
}

/** The lock if no living process has it, else undefined. Throws STORE_UNAVAILABLE. */
export function tryLock(file: string): Lock | undefined {
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

function prepare(file: string): { take(): Lock | undefined; cleanUp(): void } {
  const dir = path.dirname(file);
  ensurePrivateFolder(dir);
  const place = hostId();
  const number = `${process.pid.toString(36)}-${Math.random().toString(36).slice(2, 12)}`;
  const content = `${number} ${processId(place)}\n`;
  const temporary = temporaryName(file);

  function take(): Lock | undefined {
    const last = readChain(file).at(-1);
    if (last && isAlive(last.mark, last.ageMs, place)) return undefined;
    const mine = last ? `${file}.${last.number}` : file;
    if (!create(mine, temporary, content)) return undefined;
    if (readChain(file).at(-1)?.number === number) return held(file, mine, number);
    // The lock was given back between the look and the claim.
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

function held(file: string, own: string, number: string): Lock {
  let mine = true;
  // A process of another container or machine sees by the age of the link alone that this one lives.
  const renewal = setInterval(() => {
    try {
      if (readLink(own)?.number === number) fs.utimesSync(own, new Date(), new Date());
    } catch {
      // Tried again at the next turn.
    }
  }, RENEW_MS).unref();
  return {
    release() {
      if (!mine) return;
      mine = false;
      clearInterval(renewal);
      try {
        const chain = readChain(file);
        // Another machine may have taken it over after a long silence.
        if (chain.at(-1)?.number !== number) return;
        // The lock file comes first in the chain: without it the rest is out of use.
        for (const link of chain) fs.rmSync(link.file, { force: true });
      } catch {
        // Once this process has ended the lock counts as free.
      }
    },
  };
}

/** The links from the lock file to the present owner's; empty when the lock is free. */
function readChain(file: string): Link[] {
  const chain: Link[] = [];
  for (let next = file; chain.length < MAX_LINKS; next = `${file}.${chain.at(-1)?.number}`) {
    const link = readLink(next);
    if (link === undefined) return chain;
    chain.push(link);
  }
  throw unusable(file, 'it has no end');
}

function readLink(file: string): Link | undefined {
  const checked = readChecked(file, MAX_LINK_BYTES);
  if (checked === undefined) return undefined;
  if ('refused' in checked) throw unusable(file, checked.refused);
  const { text, ino, mtimeMs } = checked;
  const [number, mark] = text.endsWith('\n') ? text.trimEnd().split(' ') : [];
  // The number becomes part of a file name.
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

/** Makes the file unless it exists. Its content is in place at once, where hard links are possible. */
function create(target: string, temporary: string, content: string): boolean {
  try {
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

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      signal?.removeEventListener('abort', stopped);
      resolve();
    };
    const timer = setTimeout(done, ms);
    const stopped = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', stopped, { once: true });
  });
}
