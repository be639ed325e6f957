import type { LeftOut, Pair } from '../config/keys.js';
import { describePair, isSamePair } from '../config/target.js';
import { type Servers, serversOf } from '../core/endpoints.js';
import { GraphException } from '../core/errors.js';
import type { StoreRecord } from '../store/store.js';
import type { Call } from './call.js';
import { findVersion, knownVersion } from './connect.js';

/** Returns the pair that a stored credential or token was made for; undefined if the record does not name both. */
export function serversOfRecord({ info }: StoreRecord): Servers | undefined {
  const { restUrl, gsqlUrl } = info;
  return typeof restUrl === 'string' && typeof gsqlUrl === 'string' ? { restUrl, gsqlUrl } : undefined;
}

/** Whether a record is of this pair, or of one that it may turn out to be. */
export function isOfPair(record: StoreRecord, pair: Pair): boolean {
  const servers = serversOfRecord(record);
  return servers !== undefined && isSamePair(servers, pair);
}

/** Returns whose record it is: a user's name, or the id of a secret whose user is not known. */
export function ownerOf({ info }: StoreRecord): string {
  return String(info.username ?? info.owner ?? info.id ?? info.principal);
}

/** Returns the saved secrets that a profile names: by alias, or by the id, which a secret keeps when it is rotated. */
export function secretsNamed<E extends { readonly record: StoreRecord }>(
  entries: readonly E[],
  { username, secretAlias }: Pick<ProfileOwner, 'username' | 'secretAlias'>,
): E[] {
  if (secretAlias === undefined) return [];
  const isId = ({ record: { info } }: E) => [info.id, info.origin].includes(secretAlias);
  const named = entries.filter(
    (entry) =>
      entry.record.kind === 'secret' &&
      (isId(entry) || (entry.record.info.rotationOf ?? entry.record.info.alias) === secretAlias),
  );
  // The same secret may be saved for a user too. The id in a profile without a user means the one saved without.
  const own = named.filter((entry) => isId(entry) && entry.record.info.username === username);
  return own.length > 0 ? own : named;
}

/** Whom a profile acts as at a GSQL server. */
export interface ProfileOwner {
  readonly gsqlUrl: string;
  readonly username: string | undefined;
  /** The saved secret that the profile names. */
  readonly secretAlias: string | undefined;
  /** The owner of tokens minted with a credential that is not saved. */
  readonly principal?: string | undefined;
}

/**
 * Returns the entries that belong to a profile: what is saved for its user, the secret that it names, and the tokens
 * minted with any of them; for a profile that names nobody, all of the server, if they have one owner. `logout` and
 * `profile remove` delete these, and nothing of anybody else.
 */
export function recordsOf<E extends { readonly record: StoreRecord }>(
  entries: readonly E[],
  profile: ProfileOwner,
): E[] {
  const { gsqlUrl, username, secretAlias, principal } = profile;
  const here = entries.filter(({ record }) => record.info.gsqlUrl === gsqlUrl);
  if (username === undefined && secretAlias === undefined && principal === undefined)
    return new Set(here.map(({ record }) => ownerOf(record))).size === 1 ? here : [];
  const isOfUser = ({ info }: StoreRecord) => username !== undefined && info.username === username;
  const named = username === undefined ? secretsNamed(here, { username, secretAlias }) : [];
  const saved = here.filter(
    (entry) => entry.record.kind !== 'token' && (isOfUser(entry.record) || named.includes(entry)),
  );
  const owners: unknown[] = [principal, username && `user:${username}`];
  for (const { record } of saved) owners.push(record.info.id, record.info.owner);
  // Of a secret that was rotated, the tokens of its old values have the same owner.
  const isOwned = ({ info }: StoreRecord) =>
    [info.principal, info.owner].some((one) => one !== undefined && owners.includes(one));
  const tokens = here.filter(
    ({ record }) => record.kind === 'token' && (isOfUser(record) || isOwned(record)),
  );
  return [...saved, ...tokens];
}

/**
 * Creates the error for a credential of another database than the one in force. Sends no request.
 * @param what names the credential
 */
export function mismatch({ target }: Call, { pair }: LeftOut, what: string, hint: string): GraphException {
  const message = `${what} belongs to ${describePair(pair)}; it is not sent to ${describePair(target)}.`;
  return new GraphException('HOST_MISMATCH', message, { hint });
}

/** Returns the pair of base URLs in force, as far as it is known without asking the server. */
export function knownPair(call: Call): Pair {
  const { endpoints, gsqlUrl, restUrl } = call.target;
  const version = restUrl === undefined ? knownVersion(call, gsqlUrl, call.serverVersion) : undefined;
  return version ? serversOf(endpoints, version) : { gsqlUrl, restUrl };
}

/**
 * Returns the pair of base URLs in force. If the REST server's depends on an unknown version, the server is asked for
 * it without a credential.
 */
export async function serversInForce(call: Call): Promise<Servers> {
  const { endpoints, gsqlUrl, restUrl } = call.target;
  return restUrl === undefined ? serversOf(endpoints, await findVersion(call)) : { gsqlUrl, restUrl };
}
