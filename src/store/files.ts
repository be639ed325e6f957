import fs from 'node:fs';

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;

export const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTDIR: 'a file is in the way of the folder',
};

export function errnoOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? 'unknown error';
}

export type Checked = { readonly text: string } | { readonly refused: string };

/**
 * Reads a small file whose content will be believed. `undefined` when there is none; refused when it is not
 * a plain file of this user, or when others can change it. Windows has neither owners nor modes to look at.
 */
export function readChecked(file: string): Checked | undefined {
  let fd: number;
  try {
    // Non-blocking, because opening a FIFO for reading would wait for a writer.
    fd = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return { refused: code === 'ELOOP' ? 'it is a symbolic link' : (REASONS[code] ?? code) };
  }
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) return { refused: 'it is not a plain file' };
    const uid = process.geteuid?.();
    if (uid !== undefined && stat.uid !== uid) return { refused: 'it belongs to another user' };
    if (uid !== undefined && (stat.mode & 0o022) !== 0) return { refused: 'other users can change it' };
    return { text: fs.readFileSync(fd, 'utf8') };
  } catch (error) {
    return { refused: errnoOf(error) };
  } finally {
    fs.closeSync(fd);
  }
}
