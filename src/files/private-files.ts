import fs from 'node:fs';
import path from 'node:path';
import { type ErrorCode, GraphException } from '../core/errors.js';
import { lookAt, problemOf } from './access.js';

const PIPE_PAUSE_MS = 10;
const CHUNK_BYTES = 64 * 1024;

/** Returns a name beside `file` that no other process uses: in a container every command may be process 1. */
export function temporaryName(file: string): string {
  return `${file}.${process.pid}.${Math.random().toString(36).slice(2, 10)}.tmp`;
}

/** Renames a file over another one, which Windows refuses while another process, as a virus scanner, has it open. */
function renameOver(from: string, to: string, attempts = process.platform === 'win32' ? 10 : 1): void {
  try {
    fs.renameSync(from, to);
  } catch (error) {
    if (attempts === 1) throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    renameOver(from, to, attempts - 1);
  }
}

/** Creates the error for a file or folder that cannot be written. @param code for another cause than the disk */
export function cannotWrite(where: string, error: unknown, code: ErrorCode = 'STORE_UNAVAILABLE') {
  const errno = errnoOf(error);
  const isFile = ['EEXIST', 'ENOTDIR'].includes(errno);
  let found = where;
  while (isFile && !fs.existsSync(found)) found = path.dirname(found);
  const why = isFile ? `${found} is a file, not a folder` : (FILE_REASONS[errno] ?? errno);
  const message = `cannot write to ${where}: ${why}`;
  const isDisk = ['ENOSPC', 'EDQUOT', 'EROFS'].includes(errno);
  const mend = isFile ? 'move that file away' : 'check the path, and the owner and mode of its folder';
  const ofDisk = errno === 'EROFS' ? 'make that disk writable' : 'free some space on that disk';
  return new GraphException(isDisk ? 'STORE_UNAVAILABLE' : code, message, { hint: isDisk ? ofDisk : mend });
}

/** Creates a folder and its parents, mode 0700. Node's recursive form tries for ever where none can be, as in /proc. */
function makeFolder(dir: string): void {
  const found = fs.statSync(dir, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (!found) makeFolder(path.dirname(dir));
  try {
    fs.mkdirSync(dir, { mode: 0o700 });
    // The umask may have taken what this user needs.
    fs.chmodSync(dir, 0o700);
  } catch (error) {
    // Another process may make the same folder at the same time.
    if (found || errnoOf(error) !== 'EEXIST') throw error;
  }
}

/** Creates the folder for this user alone, if it is missing. Throws STORE_UNAVAILABLE. */
export function ensurePrivateFolder(dir: string): void {
  try {
    makeFolder(dir);
    const uid = process.geteuid?.();
    if (uid === undefined) return;
    const stat = fs.statSync(dir);
    if (stat.uid !== uid)
      throw new GraphException('STORE_UNAVAILABLE', `${dir} belongs to another user`, {
        hint: 'run graphcred as the user whose home folder this is',
      });
    if ((stat.mode & 0o077) !== 0) fs.chmodSync(dir, 0o700);
  } catch (error) {
    throw error instanceof GraphException ? error : cannotWrite(dir, error);
  }
}

/**
 * Replaces a file in a single step (a rename), mode 0600, its content on the disk before that; or leaves it unchanged.
 * @param where what an error names, with this code: by default it is a file of the user
 * @throws GraphException
 */
export function replaceFile(file: string, text: string, where = file, code: ErrorCode = 'CONFIG_INVALID') {
  const temporary = temporaryName(file);
  try {
    makeFolder(path.dirname(file));
    // writeSync is not used: on a disk that is nearly full it writes only a part, without an error.
    fs.writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    // The umask may have taken what this user needs.
    if ((fs.statSync(temporary).mode & 0o600) !== 0o600) fs.chmodSync(temporary, 0o600);
    renameOver(temporary, file);
  } catch (error) {
    removeQuietly(temporary);
    throw cannotWrite(where, error, code);
  }
}

/** Replaces a file in a folder of graphcred's own. Throws STORE_UNAVAILABLE. */
export function writePrivateFile(file: string, text: string): void {
  const dir = path.dirname(file);
  ensurePrivateFolder(dir);
  replaceFile(file, text, dir, 'STORE_UNAVAILABLE');
}

/** Whether nothing is there, or a regular file: no device, and no link, which may lead to a file that others read. */
export function isReplaceable(file: string): boolean {
  try {
    return fs.lstatSync(file).isFile();
  } catch {
    // Why it cannot be looked at is said when it is written.
    return true;
  }
}

/** Removes a file; no error if it is gone already. Throws STORE_UNAVAILABLE. */
export function removeFile(file: string): void {
  try {
    fs.unlinkSync(file);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw cannotWrite(path.dirname(file), error);
  }
}

/** Removes a file during clean-up. A failure must not hide the original error. */
export function removeQuietly(file: string): void {
  try {
    fs.unlinkSync(file);
  } catch {}
}

/** Removes a file that was last written longer ago. */
export function removeOlder(file: string, ms: number): void {
  const written = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (written !== undefined && Date.now() - written > ms) removeQuietly(file);
}

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;

const FILE_REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTDIR: 'a part of its path is a file, not a folder',
  ENOENT: 'there is no such folder',
  ELOOP: 'it is a symbolic link',
};

export function errnoOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? 'unknown error';
}

/** Says why a file or folder cannot be read, without its path. */
export function whyUnreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return code === 'ENOENT' ? 'there is no such file' : (FILE_REASONS[code] ?? code);
}

export type Checked = { readonly text: string } | { readonly why: string; readonly mend: string };

const MAX_BYTES = 1_000_000;

/** Reads a small file to trust; undefined when there is none. @param isSecret whether others must not read it either */
export function readChecked(file: string, isSecret = false): Checked | undefined {
  const refused = (why: string, mend = `look at it: ${lookAt(file)}`) => ({ why, mend });
  let fd: number | undefined;
  try {
    // Non-blocking, because opening a FIFO for reading would wait for a writer.
    fd = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) return refused('it is not a regular file');
    const problem = problemOf(file, stat, { name: 'it', isSecret });
    if (problem) return refused(problem.message, `to use that file: ${problem.mend}`);
    if (stat.size > MAX_BYTES) return refused(`it is larger than ${MAX_BYTES} bytes`);
    return { text: fs.readFileSync(fd, 'utf8') };
  } catch (error) {
    const code = errnoOf(error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : refused(whyUnreadable(error));
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

/** Reads an object from a JSON file; an empty one when there is none or it cannot be used. */
export function readJson(file: string): Record<string, unknown> {
  const checked = readChecked(file);
  return checked && 'text' in checked ? parseObject(checked.text) : {};
}

/** Parses an object in JSON; an empty one for any other text. */
export function parseObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/**
 * Reads a regular file or a pipe (`<(pass show x)`) to its end. The other end of a pipe may write late or never.
 * @throws GraphException TIMEOUT when a pipe has no end in time
 * @throws Error of the file system, or one whose message gives the reason: a device, too large
 */
export async function readBounded(
  file: string,
  { maxBytes, timeoutMs }: { readonly maxBytes: number; readonly timeoutMs: number },
): Promise<{ bytes: Buffer; stat: fs.Stats }> {
  const until = process.uptime() + timeoutMs / 1000;
  // Non-blocking, because opening a FIFO, and reading from it, would wait for a writer.
  const fd = fs.openSync(file, O_RDONLY | O_NONBLOCK);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() && !stat.isFIFO()) throw new Error('it is neither a file nor a pipe');
    // A named FIFO may still get a writer; a pipe that the shell made already has one.
    const mayBegin = stat.isFIFO() && !/^\/(dev|proc)\//.test(file);
    const chunks: Buffer[] = [];
    for (let size = 0; ; ) {
      const chunk = readChunk(fd);
      if (chunk === 'later' || (chunk.length === 0 && mayBegin && size === 0)) {
        const late = `The end of ${file} was not reached within ${timeoutMs / 1000} s.`;
        const hint = 'check what writes to it, or allow more time with --timeout';
        if (process.uptime() > until) throw new GraphException('TIMEOUT', late, { hint });
        await new Promise((resolve) => setTimeout(resolve, PIPE_PAUSE_MS));
        continue;
      }
      if (chunk.length === 0) return { bytes: Buffer.concat(chunks), stat };
      size += chunk.length;
      if (size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } finally {
    fs.closeSync(fd);
  }
}

function readChunk(fd: number): Buffer | 'later' {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  try {
    return chunk.subarray(0, fs.readSync(fd, chunk));
  } catch (error) {
    if (errnoOf(error) === 'EAGAIN') return 'later';
    throw error;
  }
}
