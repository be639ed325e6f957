import fs from 'node:fs';
import { shellWord } from './shell-word.js';

/** Why a file or folder cannot be trusted, and what to type. */
export interface Problem {
  readonly message: string;
  readonly mend: string;
}

/**
 * Returns why a file or folder of the user's is not trusted: it belongs to the user or root, and nobody else can write
 * it. Windows has neither owner nor mode bits to check.
 */
export function problemOf(
  file: string,
  stat: fs.Stats | undefined,
  uid: number | undefined,
): Problem | undefined {
  const found = stat ?? fs.statSync(file, { throwIfNoEntry: false });
  if (uid === undefined || found === undefined) return undefined;
  const { uid: owner, mode } = found;
  if (owner !== uid && owner !== 0)
    return { message: `${file} belongs to another user`, mend: `chown ${uid} ${shellWord(file)}` };
  if ((mode & 0o022) === 0) return undefined;
  return { message: `other users can write ${file}`, mend: `chmod go-w ${shellWord(file)}` };
}
