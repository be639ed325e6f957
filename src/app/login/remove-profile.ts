import { secretId } from '../../auth/credential.js';
import type { LocalRun } from '../../auth/run.js';
import { entriesOf, type StoreEntry } from '../../auth/stores.js';
import { type ConfigKey, isCredentialKey, isInFile } from '../../config/keys.js';
import { settingsOfFile } from '../../config/settings.js';
import { gsqlUrlOf } from '../../config/target.js';
import { removeProfile as removeFromFile } from '../../config/write.js';
import { Sensitive } from '../../core/sensitive.js';
import { type ProfileOwner, recordsOf } from '../../store/ownership.js';

/** What goes with a profile. */
export interface ProfileRemoval {
  readonly entries: readonly StoreEntry[];
  /** Another profile of the same server and user, because of which nothing but the profile goes. */
  readonly sharedWith?: string;
}

/** Finds out what goes with a profile: what is stored for it, unless another profile uses it. */
export async function planRemoval(run: LocalRun, name: string): Promise<ProfileRemoval> {
  // A profile does not record which store its entries are in, so both are searched.
  const all = await entriesOf(await run.stores.ofMachine(true));
  const owner = ownerOfProfile(run, name);
  const entries = owner === undefined ? [] : recordsOf(all, owner);
  for (const other of run.settings.profileNames.filter((one) => one !== name)) {
    const its = ownerOfProfile(run, other);
    if (its && recordsOf(entries, its).length > 0) return { entries: [], sharedWith: other };
  }
  return { entries };
}

/** Returns whom a profile acts as. Only the config file decides, not flags and variables. */
function ownerOfProfile({ settings: { file } }: LocalRun, profile: string): ProfileOwner | undefined {
  const its = settingsOfFile(file, profile);
  const gsqlUrl = file && gsqlUrlOf(its);
  if (gsqlUrl === undefined) return undefined;
  const set = (key: ConfigKey) =>
    its.all[key].find(({ level }) => isInFile(level))?.value as string | undefined;
  const secret = set('secret');
  const principal = secret && secretId(new Sensitive(secret));
  const owner = { gsqlUrl, username: set('username'), secretAlias: set('secretAlias'), principal };
  // Whose a file or a program gives is not known here.
  const isNamed = owner.username !== undefined || owner.secretAlias !== undefined || principal !== undefined;
  const given = (Object.keys(its.all) as ConfigKey[]).filter((key) => isCredentialKey(key) && set(key));
  return isNamed || given.length === 0 ? owner : undefined;
}

/**
 * Removes a profile from the user's config file, and what goes with it.
 * @returns the file, and what was there to delete
 */
export async function removeProfile(
  run: LocalRun,
  name: string,
  entries: readonly StoreEntry[],
): Promise<{ file: string; deleted: readonly StoreEntry[] }> {
  const deleted: StoreEntry[] = [];
  for (const entry of entries) if (await entry.store.delete(entry.record.key)) deleted.push(entry);
  const file = await removeFromFile(run.stores.requireFolder('configDir'), name);
  return { file, deleted };
}
