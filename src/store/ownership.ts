import { isSamePair } from '../core/endpoints.js';
import { BoundCredential, Sensitive } from '../core/sensitive.js';
import type { CredentialRecord, SecretRecord, StoreRecord, TokenRecord } from './store.js';

interface Holds<R extends StoreRecord = StoreRecord> {
  readonly record: R;
}

export function isToken<E extends Holds>(entry: E): entry is E & Holds<TokenRecord> {
  return entry.record.kind === 'token';
}

export function isSaved<E extends Holds>(entry: E): entry is E & Holds<CredentialRecord> {
  return entry.record.kind !== 'token';
}

export function isSecret<E extends Holds>(entry: E): entry is E & Holds<SecretRecord> {
  return entry.record.kind === 'secret';
}

/** Returns whose record it is: a user's name, or the id of a secret whose user is not known. */
export function ownerOf({ kind, info }: StoreRecord): string {
  if (kind === 'token') return info.username ?? info.owner ?? info.principal;
  return kind === 'secret' ? (info.username ?? info.owner ?? info.id) : info.username;
}

/** Returns a stored value bound to the pair it was stored for. The origin is for the message of a refusal. */
export function boundToRecord({ info }: StoreRecord, value: Sensitive, origin: string | undefined) {
  const { gsqlUrl, restUrl } = info;
  return new BoundCredential(new Sensitive(value.reveal(), origin), { gsqlUrl, restUrl });
}

export function hasMinted({ kind, info }: StoreRecord, token: TokenRecord): boolean {
  if (!isSamePair(token.info, info)) return false;
  if (kind === 'secret') return info.id === token.info.principal;
  return kind === 'password' && token.info.principal === `user:${info.username}`;
}

export interface ProfileOwner {
  readonly gsqlUrl: string;
  readonly username: string | undefined;
  readonly secretAlias: string | undefined;
  /** The owner of tokens minted with a credential that is not saved. */
  readonly principal?: string | undefined;
}

/** Returns the alias that names a saved secret in a profile: its own, or the one that its rotation keeps. */
export function aliasOf({ info: { alias, rotationOf } }: SecretRecord): string | undefined {
  return rotationOf ?? alias;
}

/** Returns the saved secrets that a profile names: by alias, or by the id, which a secret keeps when it is rotated. */
export function secretsNamed<E extends Holds>(
  entries: readonly E[],
  secretAlias: string | undefined,
): (E & Holds<SecretRecord>)[] {
  if (secretAlias === undefined) return [];
  const isId = ({ record: { info } }: Holds<SecretRecord>) => [info.id, info.origin].includes(secretAlias);
  return entries.filter(isSecret).filter((one) => isId(one) || aliasOf(one.record) === secretAlias);
}

export function namesNobody({ username, secretAlias, principal }: ProfileOwner): boolean {
  return username === undefined && secretAlias === undefined && principal === undefined;
}

/** Returns what is saved for a profile's user, its secret, and their tokens; if it names nobody, all of the server, if of one owner. */
export function recordsOf<E extends Holds>(entries: readonly E[], profile: ProfileOwner): E[] {
  const { gsqlUrl, username, principal } = profile;
  const here = entries.filter(({ record }) => record.info.gsqlUrl === gsqlUrl);
  if (namesNobody(profile)) return new Set(here.map(({ record }) => ownerOf(record))).size === 1 ? here : [];
  const isOfUser = ({ info }: StoreRecord) => username !== undefined && info.username === username;
  const named = (username === undefined ? secretsNamed(here, profile.secretAlias) : []).map(
    ({ record }) => record,
  );
  // What was saved with a secret of an unknown user has that secret as its owner.
  const nameless = named.filter(({ info }) => info.username === undefined).map(ownerOf);
  const isTheirs = (record: StoreRecord) =>
    isOfUser(record) || named.some((one) => one === record) || nameless.includes(ownerOf(record));
  const saved = here.filter((one) => !isToken(one) && isTheirs(one.record));
  const secrets = saved.filter(isSecret).flatMap(({ record: { info } }) => [info.id, info.owner]);
  const owners = [principal, username && `user:${username}`, ...secrets];
  // Of a secret that was rotated, the tokens of its old values have the same owner.
  const isOwned = ({ info }: TokenRecord) =>
    owners.includes(info.principal) || owners.includes(info.owner ?? info.principal);
  const tokens = here.filter(isToken).filter(({ record }) => isOfUser(record) || isOwned(record));
  return [...saved, ...tokens];
}
