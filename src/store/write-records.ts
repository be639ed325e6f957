import fs from 'node:fs';
import { type Entry, entryPath } from './records.js';
import type { StoreRecord } from './store.js';
import { type Staged, stageFile } from './write-files.js';

/** Writes the entry beside its place; `commit` replaces what was there. Throws STORE_UNAVAILABLE. */
export function stageEntry(stateDir: string, { record, sealed }: Entry): Staged {
  const { v, kind, key, store, createdAtUnix, expiresAtUnix, info } = record;
  const text = JSON.stringify({ v, kind, key, store, createdAtUnix, expiresAtUnix, info, sealed });
  return stageFile(entryPath(stateDir, kind, key, 'json'), `${text}\n`);
}

/** Removes an entry's file; no error if it is gone already. */
export function removeEntry(stateDir: string, record: StoreRecord): void {
  fs.rmSync(entryPath(stateDir, record.kind, record.key, 'json'), { force: true });
}
