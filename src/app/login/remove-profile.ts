import type { Run } from '../../auth/run.js';
import { entriesOf, type StoreEntry } from '../../auth/stores.js';
import { storedFor } from './log-out.js';

/** What goes with a profile that is removed. */
export interface ProfileRemoval {
  readonly entries: readonly StoreEntry[];
  /** Another profile that may use them too, because of which nothing but the profile goes. */
  readonly sharedWith?: string;
}

/**
 * Finds out what goes with a profile that is removed: what its logout deletes, unless another profile uses it. Its config
 * file alone decides, not flags and variables.
 */
export async function planRemoval(
  run: Run,
  others: ReadonlyMap<string, Run | undefined>,
): Promise<ProfileRemoval> {
  // A profile does not record which store its entries are in, so all are searched.
  const entries = await storedFor(run, await entriesOf(await run.stores.ofMachine(true)));
  // Of a malformed profile it is not known what it uses.
  for (const [name, other] of others)
    if (entries.length > 0 && (other === undefined || (await storedFor(other, entries)).length > 0))
      return { entries: [], sharedWith: name };
  return { entries };
}
