import fs from 'node:fs';
import path from 'node:path';
import { isGone, tryLock } from '../files/lock.js';

const TEMPORARY_MS = 10 * 60_000;
const LOCK_MS = 60 * 60_000;

/** Matches the name of a temporary file: the id of the process that created it, then an optional random part. */
const TEMPORARY_NAME = /\.(\d+)(?:\.[a-z0-9]+)?\.tmp$/;

/**
 * Removes what killed processes left behind: temporary files, locks of dead owners, links of released locks, old
 * refusals. Called now and then by processes that write. Never throws.
 */
export function sweep({ stateDir, configDir }: { stateDir: string; configDir: string }): void {
  for (const dir of [stateDir, configDir]) {
    for (const name of namesIn(dir)) {
      try {
        sweepOne(dir, name);
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

function sweepOne(dir: string, name: string): void {
  const file = path.join(dir, name);
  const temporary = TEMPORARY_NAME.exec(name);
  if (temporary) {
    // If the file belongs to a process of another machine or container, that process writes it again (stageFile).
    if (isGone(Number(temporary[1])) || age(file) > TEMPORARY_MS) fs.rmSync(file);
  } else if (name.endsWith('.refused')) {
    if (age(file) > LOCK_MS) fs.rmSync(file);
  } else if (name.endsWith('.lock')) {
    // Taking the lock proves that its owner is dead; releasing it removes the file.
    if (age(file) > LOCK_MS) tryLock(file)?.release();
  } else if (name.includes('.lock.')) {
    const lock = file.slice(0, file.lastIndexOf('.lock.') + 5);
    // Without its lock file this link has no effect any more.
    if (age(file) > LOCK_MS && !fs.existsSync(lock)) fs.rmSync(file);
  }
}

/**
 * Returns the age of a file in ms. A time in the future means that the clock was set back: the file is at least that
 * old.
 */
function age(file: string): number {
  return Math.abs(Date.now() - fs.statSync(file).mtimeMs);
}
