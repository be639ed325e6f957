import fs from 'node:fs';
import { keepOthersOut, othersCanWrite } from './access-list.js';
import { shellWord } from './shell-word.js';

/** Why a file or folder cannot be trusted, and what to type. */
export interface Problem {
  readonly message: string;
  readonly mend: string;
}

/**
 * Returns why a file or folder of the user's is not trusted: it belongs to the user or root, and nobody else can write
 * it. On Windows the access list is looked at, and no owner.
 */
export function problemOf(
  file: string,
  stat: fs.Stats | undefined,
  uid: number | undefined,
): Problem | undefined {
  const found = stat ?? fs.statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  const { uid: owner, mode } = found;
  if (uid !== undefined && owner !== uid && owner !== 0)
    return { message: `${file} belongs to another user`, mend: `chown ${uid} ${shellWord(file)}` };
  if (!othersCanWrite(file, mode, uid)) return undefined;
  return { message: `other users can write ${file}`, mend: keepOthersOut(file, 'go-w') };
}
