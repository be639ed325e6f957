import fs from 'node:fs';
import path from 'node:path';
import { removeQuietly } from '../files/private-files.js';

/**
 * What killed processes leave behind: a temporary file, with the id of the process that made it; a refusal; a lock, which
 * a living owner renews each second.
 */
const LEFT_BEHIND = /\.\d+(\.[a-z0-9]+)?\.tmp$|\.refused$|\.lock$/;
/** After this time nobody needs it any more. */
const OLD_MS = 3_600_000;

/** Removes what killed processes left behind. Called now and then by processes that write. Never throws. */
export function sweep({ stateDir, configDir }: { stateDir: string; configDir: string }): void {
  for (const dir of [stateDir, configDir]) {
    try {
      for (const name of fs.readdirSync(dir).filter((one) => LEFT_BEHIND.test(one))) {
        const file = path.join(dir, name);
        // A time in the future means that the clock was set back: the file is at least that old.
        if (Math.abs(Date.now() - fs.statSync(file).mtimeMs) > OLD_MS) removeQuietly(file);
      }
    } catch {
      // The next call tries again.
    }
  }
}
