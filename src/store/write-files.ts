import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { errnoOf, REASONS } from './files.js';

/** The refusal for a folder that cannot be written to. */
export function cannotWrite(where: string, error: unknown): GraphException {
  const code = errnoOf(error);
  return new GraphException('STORE_UNAVAILABLE', `cannot write to ${where}: ${REASONS[code] ?? code}`, {
    hint: 'make room there or make it writable, or run the command with --store none',
  });
}

/** Makes the folder if it is missing, for this user alone. Throws STORE_UNAVAILABLE. */
export function ensurePrivateFolder(dir: string): void {
  try {
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    const uid = process.geteuid?.();
    if (uid === undefined) return;
    const stat = fs.statSync(dir);
    if (stat.uid !== uid) {
      throw new GraphException('STORE_UNAVAILABLE', `${dir} belongs to another user`, {
        hint: 'run graphcred as the user whose home folder this is, or with --store none',
      });
    }
    if ((stat.mode & 0o077) !== 0) fs.chmodSync(dir, 0o700);
  } catch (error) {
    throw error instanceof GraphException ? error : cannotWrite(dir, error);
  }
}

/** A name beside `file` that nobody else uses; `sweep` recognises it once it has been left behind. */
export function temporaryName(file: string): string {
  return `${file}.${process.pid}.${Math.random().toString(36).slice(2, 10)}.tmp`;
}

/** Creates a file that must not exist yet, mode 0600, its content on the disk before this returns. */
export function createFile(file: string, text: string): void {
  const fd = fs.openSync(file, 'wx', 0o600);
  try {
    // Not writeSync: on a disk that is nearly full it writes a part and calls that a success.
    fs.writeFileSync(fd, text);
    fs.fsyncSync(fd);
  } catch (error) {
    removeQuietly(file);
    throw error;
  } finally {
    fs.closeSync(fd);
  }
}

export interface Staged {
  /** Puts the content in place in one step. */
  commit(): void;
  /** Takes it back. Does nothing after `commit`. */
  discard(): void;
}

/**
 * Writes the content beside its place, so that a full or read-only disk is met before anything is changed.
 * Throws STORE_UNAVAILABLE.
 */
export function stageFile(file: string, text: string): Staged {
  const dir = path.dirname(file);
  ensurePrivateFolder(dir);
  const temporary = temporaryName(file);
  try {
    createFile(temporary, text);
  } catch (error) {
    throw cannotWrite(dir, error);
  }
  return {
    commit() {
      try {
        rename(temporary, file, text);
      } catch (error) {
        removeQuietly(temporary);
        throw cannotWrite(dir, error);
      }
    },
    discard() {
      removeQuietly(temporary);
    },
  };
}

/** For what is in the way of nobody: its failure must not hide why it has to go. */
function removeQuietly(file: string): void {
  try {
    fs.unlinkSync(file);
  } catch {
    // It is gone already, or `sweep` gets it.
  }
}

function rename(temporary: string, file: string, text: string): void {
  try {
    fs.renameSync(temporary, file);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    // Another machine or container that shares this folder took it for left behind.
    createFile(temporary, text);
    fs.renameSync(temporary, file);
  }
}
