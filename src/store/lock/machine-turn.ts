import { entryPath } from '../records.js';
import type { Store, Turn, TurnOptions } from '../store.js';
import { acquireLock } from './lock.js';
import { readRefusal, writeRefusal } from './shared-error.js';

interface MachineTurnOptions extends TurnOptions {
  readonly stateDir: string;
  /** Where a waiting process looks for a record that another one has written. An error ends the wait. */
  readonly lookIn: Pick<Store, 'find'>;
}

/** Implements `takeTurn` of the store with a lock file, for one machine. */
export async function takeMachineTurn(
  key: string,
  write: Turn['write'],
  options: MachineTurnOptions,
): Promise<Turn | undefined> {
  const { stateDir, waitMs, since, now, lookIn } = options;
  const file = entryPath(stateDir, 'token', key, 'lock');
  const refusedFile = entryPath(stateDir, 'token', key, 'refused');
  const answered = async () => {
    const record = await lookIn.find(key);
    if (record !== undefined && options.accepts(record)) return true;
    const refusal = readRefusal(refusedFile, since, now());
    if (refusal) throw refusal;
    return false;
  };
  const lock = await acquireLock(file, { waitMs, answered });
  if (lock === undefined) return undefined;
  try {
    if (!(await answered()))
      return {
        write,
        refuse: async (error) => writeRefusal(refusedFile, error, now()),
        release: async () => lock.release(),
      };
  } catch (error) {
    lock.release();
    throw error;
  }
  lock.release();
  return undefined;
}
