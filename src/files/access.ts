import fs from 'node:fs';
import path from 'node:path';
import { shellWord } from './shell-word.js';

/** Returns the most others may do to a file: by mode; on Windows nothing in the profile folder, and read elsewhere. */
export function accessOf(file: string, mode: number): 'none' | 'read' | 'write' {
  if (process.platform !== 'win32')
    return (mode & 0o022) !== 0 ? 'write' : (mode & 0o044) !== 0 ? 'read' : 'none';
  return isPrivatePlace(file) ? 'none' : 'read';
}

/** Whether a file or folder, which need not exist yet, is in the profile folder of Windows; true on other systems. */
export function isPrivatePlace(file: string): boolean {
  if (process.platform !== 'win32') return true;
  const relative = path.relative(realPath(profileFolder()), realPath(file));
  return !/^\.\.(?:[/\\]|$)/.test(relative) && !path.isAbsolute(relative);
}

const profileFolder = () => process.getBuiltinModule('node:os').homedir();

function realPath(file: string): string {
  try {
    return fs.realpathSync.native(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(realPath(parent), path.basename(file));
  }
}

/** The command that leaves a file to this user alone. @param mode for `chmod`, on other systems than Windows */
export function keepOthersOut(file: string, mode = '600'): string {
  if (process.platform !== 'win32') return `chmod ${mode} ${shellWord(file)}`;
  return isPrivatePlace(file) ? `icacls ${shellWord(file)} /reset` : `move it into ${profileFolder()}`;
}

export function lookAt(file: string): string {
  return `${process.platform === 'win32' ? 'icacls' : 'ls -l'} ${shellWord(file)}`;
}

export interface Problem {
  readonly message: string;
  readonly mend: string;
}

/**
 * Returns why a file or folder is not trusted: it must belong to the user or root, and nobody else may write it. Windows
 * has no such reason.
 * @param name what the message calls it
 * @param isSecret whether others must not read it either
 */
export function problemOf(
  file: string,
  stat = fs.statSync(file, { throwIfNoEntry: false }),
  { name = file, isSecret = false } = {},
): Problem | undefined {
  const uid = process.geteuid?.();
  if (stat === undefined || uid === undefined) return undefined;
  if (stat.uid !== uid && stat.uid !== 0)
    return { message: `${name} belongs to another user`, mend: `chown ${uid} ${shellWord(file)}` };
  const access = accessOf(file, stat.mode);
  if (access === 'none' || (access === 'read' && !isSecret)) return undefined;
  return {
    message: `other users can ${access} ${name}`,
    mend: keepOthersOut(file, isSecret ? '600' : 'go-w'),
  };
}
