import path from 'node:path';
import { readJson, removeFile, stageFile } from '../files/private-files.js';
import { hashOf } from './records.js';

/** Records how far a long job has come, so that the next run can continue it. It never holds a credential. */
export type Journal = ReturnType<typeof openJournal>;

/**
 * Opens the journal of rotating one secret, the file `rotate-<hash of key>.json` with mode 0600. `write` and `remove`
 * throw STORE_UNAVAILABLE.
 */
export function openJournal(stateDir: string, key: string) {
  const base = path.join(stateDir, `rotate-${hashOf(key)}`);
  const file = `${base}.json`;
  return {
    /** The lock that prevents two runs of the job at the same time. */
    lockFile: `${base}.lock`,
    /** Returns the step written last; undefined when nothing is pending, and '' when the file cannot be used. */
    read(): string | undefined {
      const data = readJson(file);
      if (!data) return undefined;
      const { v, key: written, step } = data;
      if (v === 1 && typeof written === 'string' && written !== key) return undefined;
      return v === 1 && typeof step === 'string' ? step : '';
    },
    write: (step: string) => stageFile(file, `${JSON.stringify({ v: 1, key, step })}\n`).commit(),
    remove: () => removeFile(file),
  };
}
