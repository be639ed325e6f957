import fs from 'node:fs';
import path from 'node:path';
import { tryLock } from './lock.js';

const TEMPORARY_MS = 10 * 60_000;
const LOCK_MS = 60 * 60_000;

/**
 * Clears away what killed processes left behind: temporary files, locks of dead owners, links of locks long
 * given back, refusals nobody waits for any more. Called now and then by those who write; never throws.
 */
export function sweep(stateDir: string): void {
  try {
    for (const name of fs.readdirSync(stateDir)) sweepOne(stateDir, name);
  } catch {
    // Left for the next time.
  }
}

function sweepOne(dir: string, name: string): void {
  const file = path.join(dir, name);
  if (name.endsWith('.tmp')) {
    if (age(file) > TEMPORARY_MS) fs.rmSync(file, { force: true });
  } else if (name.endsWith('.refused')) {
    if (age(file) > LOCK_MS) fs.rmSync(file, { force: true });
  } else if (name.endsWith('.lock')) {
    // Taking the lock proves that its owner is dead; giving it back removes the file.
    if (age(file) > LOCK_MS) tryLock(file)?.release();
  } else if (name.includes('.lock.')) {
    const lock = file.slice(0, file.lastIndexOf('.lock.') + 5);
    // Without the lock file itself nothing leads to this link, and nothing ever will again.
    if (age(file) > LOCK_MS && !fs.existsSync(lock)) fs.rmSync(file, { force: true });
  }
}

function age(file: string): number {
  try {
    return Date.now() - fs.statSync(file).mtimeMs;
  } catch {
    return 0;
  }
}
