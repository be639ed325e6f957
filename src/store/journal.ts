import path from 'node:path';
import { readJson, removeFile, stageFile } from '../files/private-files.js';
import { hashOf } from './records.js';

/** Records how far a long job has come, so that the next run can continue it. It never holds a credential. */
export interface Journal {
  /** Returns the step written last; undefined when nothing is pending, and '' when the file cannot be used. */
  read(): string | undefined;
  write(step: string): void;
  remove(): void;
  /** The lock that prevents two runs of the job at the same time. */
  readonly lockFile: string;
}

/**
 * Opens the journal of one job, the file `<kind>-<hash of key>.json` with mode 0600. `write` and `remove` throw
 * STORE_UNAVAILABLE.
 */
export function openJournal(stateDir: string, kind: 'rotate', key: string): Journal {
  const base = path.join(stateDir, `${kind}-${hashOf(key)}`);
  const file = `${base}.json`;
  return {
    lockFile: `${base}.lock`,
    read() {
      const data = readJson(file);
      if (!data) return undefined;
      const { v, key: written, step } = data;
      if (v === 1 && typeof written === 'string' && written !== key) return undefined;
      return v === 1 && typeof step === 'string' ? step : '';
    },
    write(step) {
      stageFile(file, `${JSON.stringify({ v: 1, key, step })}\n`).commit();
    },
    remove() {
      removeFile(file);
    },
  };
}
