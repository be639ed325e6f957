import fs from 'node:fs';
import path from 'node:path';
import { tryLock } from '../files/lock.js';

const MINUTE_MS = 60_000;
const remove = (file: string) => fs.rmSync(file);

/** What killed processes leave behind: how a file is recognized, when nobody needs it any more, and how it is removed. */
const LEFT_BEHIND: readonly (readonly [name: RegExp, ageMs: number, remove: (file: string) => void])[] = [
  // A temporary file, with the id of the process that made it.
  [/\.\d+(\.[a-z0-9]+)?\.tmp$/, 10 * MINUTE_MS, remove],
  [/\.refused$/, 60 * MINUTE_MS, remove],
  // Taking the lock proves that its owner is dead; releasing it removes the file.
  [/\.lock$/, 60 * MINUTE_MS, (file) => tryLock(file)?.release()],
  // The link of a lock has no effect without the lock's file.
  [/\.lock\.[^.]+$/, 60 * MINUTE_MS, (file) => fs.existsSync(file.replace(/\.[^.]+$/, '')) || remove(file)],
];

/** Removes what killed processes left behind. Called now and then by processes that write. Never throws. */
export function sweep({ stateDir, configDir }: { stateDir: string; configDir: string }): void {
  for (const dir of [stateDir, configDir]) {
    for (const name of namesIn(dir)) {
      const file = path.join(dir, name);
      const [, ageMs = 0, removeOld] = LEFT_BEHIND.find(([pattern]) => pattern.test(name)) ?? [];
      try {
        if (removeOld && age(file) > ageMs) removeOld(file);
      } catch {
        // The next call tries again.
      }
    }
  }
}

function namesIn(dir: string): string[] {
  try {
    return fs.readdirSync(dir);
  } catch {
    return [];
  }
}

/**
 * Returns the age of a file in ms. A time in the future means that the clock was set back: the file is at least that
 * old.
 */
function age(file: string): number {
  return Math.abs(Date.now() - fs.statSync(file).mtimeMs);
}
