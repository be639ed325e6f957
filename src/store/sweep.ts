import fs from 'node:fs';
import path from 'node:path';

const MINUTE_MS = 60_000;

/** What killed processes leave behind: how a file is recognized, and when nobody needs it any more. */
const LEFT_BEHIND: readonly (readonly [name: RegExp, ageMs: number])[] = [
  // A temporary file, with the id of the process that made it.
  [/\.\d+(\.[a-z0-9]+)?\.tmp$/, 10 * MINUTE_MS],
  [/\.refused$/, 60 * MINUTE_MS],
  // A living owner renews it each second.
  [/\.lock(\.turn)?$/, 60 * MINUTE_MS],
];

/** Removes what killed processes left behind. Called now and then by processes that write. Never throws. */
export function sweep({ stateDir, configDir }: { stateDir: string; configDir: string }): void {
  for (const dir of [stateDir, configDir]) {
    for (const name of namesIn(dir)) {
      const file = path.join(dir, name);
      const [, ageMs = Number.POSITIVE_INFINITY] = LEFT_BEHIND.find(([pattern]) => pattern.test(name)) ?? [];
      try {
        if (age(file) > ageMs) fs.rmSync(file);
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
