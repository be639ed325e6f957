import { entryPath } from '../records.js';
import type { Store, Turn, TurnOptions } from '../store.js';
import { acquireLock } from './lock.js';
import { readRefusal, writeRefusal } from './shared-error.js';

interface MachineTurnOptions extends TurnOptions {
  readonly stateDir: string;
  /** The store in which a waiting process looks for a record that another one has written. */
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
  const refusal = () => readRefusal(refusedFile, since, now());
  const accepted = async () => {
    const record = await lookIn.find(key);
    return record !== undefined && options.accepts(record);
  };
  const lock = await acquireLock(file, {
    waitMs,
    answered: async () => refusal() !== undefined || (await accepted()),
  });
  if (await accepted()) {
    lock?.release();
    return undefined;
  }
  const theirs = refusal();
  if (theirs) {
    lock?.release();
    throw theirs;
  }
  return (
    lock && {
      write,
      refuse: async (error) => writeRefusal(refusedFile, error, now()),
      release: async () => lock.release(),
    }
  );
}
