import { profileOwner } from '../../auth/choose.js';
import { describeOther } from '../../config/target.js';
import { isSamePair } from '../../core/endpoints.js';
import { GraphException } from '../../core/errors.js';
import type { Sensitive } from '../../core/sensitive.js';
import { once } from '../../run/once.js';
import type { LocalRun, Run } from '../../run/run.js';
import { entriesOf, type StoreEntry } from '../../run/stores.js';
import { hasMinted, isSaved, isToken, namesNobody, recordsOf } from '../../store/ownership.js';
import { hashOf } from '../../store/records.js';
import type { Store, StoreRecord, TokenRecord } from '../../store/store.js';
import { isOfToken, longestLivedFirst, readCached } from './token-cache.js';

/** Returns the tokens in every store that this run may read. @param owner a run whose profile's tokens are wanted alone */
export async function listTokens(run: LocalRun, chosen: Store, owner?: Run) {
  const entries = await entriesOf([chosen, ...(await otherStores(run, chosen))]);
  // With what is saved, because a profile may name its owner by a saved secret.
  const profile = owner && (await profileOwner(owner));
  // One that names nobody may use whatever is there for its servers.
  const isHere = ({ record }: StoreEntry) => record.info.gsqlUrl === profile?.gsqlUrl;
  if (profile && namesNobody(profile)) return rowsOf(entries.filter(isHere), entries);
  return rowsOf(profile ? recordsOf(entries, profile) : entries, entries);
}

/** A row of `token list`: `id` and `from` are for people, and `minter` is the saved credential that minted the token. */
export type TokenRow = ReturnType<typeof rowsOf>[number];

/** Returns the tokens among entries, the longest-lived first. @param all the entries with what minted them */
export function rowsOf(entries: readonly StoreEntry[], all = entries) {
  const saved = all.filter(isSaved);
  return entries
    .filter(isToken)
    .sort((a, b) => longestLivedFirst(a.record, b.record))
    .map((entry) => {
      const { record } = entry;
      const minter = saved.find((one) => hasMinted(one.record, record));
      const from = originOf(record, minter?.record);
      return { ...entry, id: idOf(record), from, minter, value: once(() => readCached(entry)) };
    });
}

/** Returns the rows of a token that was given. Throws HOST_MISMATCH for one that this machine holds for other servers. */
export async function rowsHere(run: Run, token: Sensitive, all?: readonly TokenRow[]): Promise<TokenRow[]> {
  // Else the stores of this machine alone are looked at: what a fleet shares is not worth a wait.
  const rows = all ?? rowsOf(await entriesOf(await run.stores.ofMachine()).catch(() => []));
  const held = rows.filter(({ record }) => isOfToken(record, token));
  // A JWT of an identity provider may be for several databases.
  const isElsewhere = ({ record: { info } }: TokenRow) =>
    !isSamePair(info, run.target) && info.issuedBy !== 'provider';
  const [first] = held;
  if (first === undefined || !held.every(isElsewhere)) return held;
  const own = first.record.info;
  const hint = `give its own addresses: --gsql-url ${own.gsqlUrl} --rest-url ${own.restUrl}`;
  const message = `This token is for ${describeOther(own, run.settings, run.target)}.`;
  throw new GraphException('HOST_MISMATCH', message, { hint });
}

function originOf({ info: { principal } }: TokenRecord, minter: StoreRecord | undefined): string {
  const [, kind, name = ''] = /^(user|secret):(.*)/s.exec(principal) ?? [];
  if (kind === 'user') return name;
  // The arguments of a program may be or hold a credential.
  if (principal.startsWith('command:["')) return `program ${/([^"\\/]*)"/.exec(principal.slice(10))?.[1]}`;
  if (kind === undefined) return principal;
  if (minter?.kind !== 'secret') return `secret ${name.slice(0, 4)}…`;
  const { alias = `${name.slice(0, 4)}…`, username } = minter.info;
  return username === undefined ? `secret ${alias}` : `${username} (secret ${alias})`;
}

export function idOf({ store, key }: StoreRecord): string {
  return hashOf(`${store} ${key}`).slice(-8);
}

/** Returns the other stores that may hold entries of this machine, unless one was typed for this call. */
export async function otherStores(run: LocalRun, chosen: Store): Promise<Store[]> {
  if (run.stores.areShared || run.stores.inForce.setAt === 'flag') return [];
  return (await run.stores.ofMachine()).filter(({ name }) => name !== chosen.name);
}
