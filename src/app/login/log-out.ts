import { loginHomes, profileOwner, severalUsers } from '../../auth/choose.js';
import { isSamePair } from '../../core/endpoints.js';
import { GraphException } from '../../core/errors.js';
import type { Run } from '../../run/run.js';
import { entriesOf, type StoreEntry } from '../../run/stores.js';
import { isSaved, namesNobody, ownerOf, recordsOf } from '../../store/ownership.js';
import type { Store } from '../../store/store.js';
import { otherStores, rowsOf } from '../tokens/list-tokens.js';
import { failureOf, revokeTokens } from '../tokens/revoke-tokens.js';

/** Finds out what there is to delete. Throws NOT_FOUND; USAGE when it is not known for which user. */
export async function planLogout(run: Run, everything: boolean, revoke: boolean) {
  // A machine does not forget tokens that a fleet shares, only those it minted for itself.
  const leavesShared = run.stores.areShared && !revoke;
  const store = leavesShared
    ? await run.stores.open(run.stores.inForce.setAt === 'flag' ? 'none' : 'file', true)
    : await run.stores.chosen({ needed: true });
  if (leavesShared)
    run.ports.reporter.note('tokens on the Redis server stay for other machines; --revoke ends them for all');
  const stores = [store, ...(await otherStores(run, store))];
  const stored = await entriesOf(stores);
  const isStored = ({ record }: StoreEntry) => stored.some((one) => one.record.key === record.key);
  // Of a fleet, a login lies in a store of this machine.
  const homes = await entriesOf(await loginHomes(run));
  const logins = homes.filter((one) => one.record.kind === 'login' && !isStored(one));
  const rows = rowsOf(stored);
  const all = [...rows, ...stored.filter(isSaved), ...logins];
  const entries = everything ? all : await storedFor(run, all);
  if (entries.length === 0) throw await nothingStored(run, store, everything, all);
  // When tokens are revoked, a JWT is forgotten like a credential, because no server can revoke it.
  const isDeletedHere = ({ record: { kind, info } }: StoreEntry) =>
    kind !== 'token' || (revoke && info.issuedBy === 'provider');
  const tokens = rows.filter((row) => entries.includes(row) && !isDeletedHere(row));
  return { revoke, rows, tokens, credentials: entries.filter(isDeletedHere) };
}

/** Finds what to delete with a profile, by its config file alone; if another profile may use it, returns that one's name. */
export async function planRemoval(run: Run, others: ReadonlyMap<string, Run | undefined>) {
  // A profile does not record which store its entries are in, so all are searched.
  const entries = await storedFor(run, await entriesOf(await run.stores.ofMachine(true)));
  // Of a malformed profile it is not known what it uses.
  for (const [name, other] of others)
    if (entries.length > 0 && (other === undefined || (await storedFor(other, entries)).length > 0))
      return { entries: [], sharedWith: name };
  return { entries };
}

async function storedFor(run: Run, all: readonly StoreEntry[]): Promise<StoreEntry[]> {
  return recordsOf(hereOf(run, all), await profileOwner(run));
}

function hereOf({ target }: Run, all: readonly StoreEntry[]): StoreEntry[] {
  return all.filter(({ record }) => isSamePair(record.info, target));
}

/** Returns the error for a logout without anything to delete. Throws why something that is stored cannot be read. */
async function nothingStored(run: Run, store: Store, everything: boolean, all: readonly StoreEntry[]) {
  const owners = new Set(hereOf(run, all).map(({ record }) => ownerOf(record)));
  const byName = ['choose one', { command: 'logout --username NAME' }, ', or --secret-alias NAME'];
  if (owners.size > 1 && namesNobody(await profileOwner(run)))
    return severalUsers(run.target.gsqlUrl, owners, byName);
  await run.stores.requireReadable(everything ? undefined : store);
  const whose = run.settings.username ?? 'this profile';
  const which = everything ? '' : ` of ${whose} for ${run.target.gsqlUrl}`;
  const hint = ['to make sure', { command: 'token list' }];
  const none = `No saved credentials or tokens${which} ${run.stores.place}.`;
  return new GraphException('NOT_FOUND', none, { hint });
}

/** Deletes what is planned, after revoking the tokens if that is wanted. Returns how many went, and why others are left. */
export async function logOut(run: Run, plan: Awaited<ReturnType<typeof planLogout>>) {
  const { revoke, rows, tokens, credentials } = plan;
  const outcomes = revoke ? await revokeTokens(run, tokens, rows) : [];
  const failure = failureOf(run, outcomes);
  // Credentials are needed to revoke what is left. A revoked token is gone from its store, which may hold a new one.
  if (!failure) await deleteEntries(run, revoke ? credentials : [...tokens, ...credentials]);
  const count = (wanted: string) => outcomes.filter(({ state, error }) => state === wanted && !error).length;
  const [revoked, ended] = [count('deleted'), count('ended')];
  const gone = revoke ? revoked + ended : tokens.length;
  if (failure && credentials.length > 0 && outcomes.some(({ state }) => state === 'kept'))
    run.ports.reporter.note('not every token is revoked, so saved passwords and secrets are kept');
  if (failure && gone === 0) throw failure;
  return { tokens: gone, ended, credentials: failure ? 0 : credentials.length, failure };
}

/** Deletes what can be deleted, whatever another store says. Throws what the first one said that could not be changed. */
export async function deleteEntries(run: Run, entries: readonly StoreEntry[]): Promise<void> {
  run.ports.interruption.begin();
  let failure: unknown;
  for (const { store, record } of entries) {
    try {
      if (record.kind === 'login')
        await (await import('../../auth/oidc/saved-login.js')).endLogin(run, record, store);
      await store.delete(record.key);
      run.ports.reporter.did(`deleted a ${record.kind === 'token' ? 'token' : `saved ${record.kind}`} here`);
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure) throw failure;
}
