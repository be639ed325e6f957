import path from 'node:path';
import { GraphException } from '../core/errors.js';
import type { StoreName } from '../store/store.js';
import { stageFile } from '../store/write-files.js';
import { open, type Place } from './stores.js';

/** Writes down the store for the calls to come that name none. Throws STORE_UNAVAILABLE. */
export function recordStore(configDir: string, name: StoreName): void {
  stageFile(path.join(configDir, 'store'), `${name}\n`).commit();
}

/** Moves saved secrets to another store. Tokens are dropped: they are minted anew where they are needed. */
export async function moveTo(place: Place, name: StoreName): Promise<void> {
  const target = await open(place, name, true);
  if (name === 'none') return;
  await target.check();
  for (const from of (['keychain', 'file'] as const).filter((other) => other !== name)) {
    const source = await open(place, from, true);
    for (const record of source.list()) {
      if (record.kind === 'token') {
        await source
          .remove(record.key)
          .catch(() => place.call.report.warn(`a token stays behind in the ${from} store`));
        continue;
      }
      const value = await source.read(record).catch((error) => {
        if (!(error instanceof GraphException)) throw error;
        place.call.report.warn(
          `a saved ${record.kind} stays behind in the ${from} store: ${error.message} (${record.key})`,
        );
      });
      if (value) await target.write({ ...record, store: name }, value);
    }
  }
}
