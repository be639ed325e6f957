import path from 'node:path';
import { readChecked, removeFile, stageFile } from '../files/private-files.js';
import { hashOf } from './records.js';

/** What a long job has come to, so that the next run can go on from there. Never a credential. */
export interface Journal {
  /** The step written last; undefined when nothing is pending or the entry is not valid. */
  read(): string | undefined;
  /** Throws STORE_UNAVAILABLE. */
  write(step: string): void;
  /** Throws STORE_UNAVAILABLE. */
  remove(): void;
  /** The lock that prevents two runs of the job at the same time. */
  readonly lockFile: string;
}

/** The journal of one job: `<kind>-<hash of key>.json`, mode 0600. */
export function openJournal(stateDir: string, kind: 'rotate', key: string): Journal {
  const base = path.join(stateDir, `${kind}-${hashOf(key)}`);
  const file = `${base}.json`;
  return {
    lockFile: `${base}.lock`,
    read() {
      const checked = readChecked(file);
      if (!checked || 'refused' in checked) return undefined;
      try {
        const { v, key: written, step } = JSON.parse(checked.text);
        return v === 1 && written === key && typeof step === 'string' ? step : undefined;
      } catch {
        return undefined;
      }
    },
    write(step) {
      stageFile(file, `${JSON.stringify({ v: 1, key, step })}\n`).commit();
    },
    remove() {
      removeFile(file);
    },
  };
}
