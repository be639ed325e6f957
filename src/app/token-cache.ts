import type { Call } from '../auth/call.js';
import { type Credential, fingerprint, ownerInfo } from '../auth/credential.js';
import { isOfProvider } from '../auth/oidc/settings.js';
import { serversInForce } from '../auth/servers.js';
import { entriesOf, fallbackOf, type StoreEntry } from '../auth/stores.js';
import type { Servers } from '../core/endpoints.js';
import { expected, GraphException } from '../core/errors.js';
import { BoundCredential, Sensitive } from '../core/sensitive.js';
import { isForPair, isToken } from '../store/ownership.js';
import { newestFirst, partsOf, tokenKey } from '../store/records.js';
import { type Lock, STORES, type Store, type StoreRecord, type TokenRecord } from '../store/store.js';

/** The identity of a token: a cached token is used only when all of this is equal. */
export interface Identity extends Servers {
  readonly graph: string | undefined;
  readonly principal: string;
  /** Lifetime asked for, in seconds. */
  readonly lifetime: number;
}

/** The identity of the tokens of one owner, with any lifetime. */
export type Whose = Omit<Identity, 'lifetime'>;

/** A token with everything known about it. */
export interface NewToken {
  readonly token: Sensitive;
  /** When the token expires, by this machine's clock. */
  readonly expiresAtUnix: number;
  /** How far the server's clock is ahead of this machine's, in seconds. */
  readonly clockAheadSeconds: number;
  /** The lifetime asked for, or the one granted where that is another. */
  readonly lifetimeSeconds: number;
  readonly serverVersion: string;
  /** The pair of base URLs it was minted for. */
  readonly servers: Servers;
  /** When the request for it was sent, ms since 1970. */
  readonly requestedAtMs: number;
}

export interface CachedToken extends NewToken {
  readonly source: 'store' | 'server' | 'identity';
  /** Whether it was read from a store, so that the server may have forgotten it since. */
  readonly isCached?: true;
}

/** What a cached token must fulfil to be used. */
export interface Wanted {
  /** Seconds of life that a cached token must have left. */
  readonly minTtl: number;
  /** Only a token asked for at or after this time will do, ms since 1970. */
  readonly freshSince: number | undefined;
}

type CachedEntry = StoreEntry<TokenRecord>;

/** Where a token is cached, and under which names. */
export interface CacheEntry {
  readonly call: Call;
  readonly identity: Identity;
  /** Whose token it is, as the record names it. */
  readonly owner?: Readonly<Record<string, string>>;
  readonly store: Store;
  /** The store that is used while `store` fails. */
  readonly fallback?: Store | undefined;
}

/** Time synchronization regularly changes a machine's clock by up to this many seconds, so a smaller difference has no meaning. */
const CLOCK_SLACK = 10;

/**
 * Returns the identity of the call's tokens: the pair of base URLs, the graph and the lifetime in force, and the owner
 * of the credential. The tokens of an identity provider are for every graph, and have their own end.
 */
export async function identityOf(call: Call, principal: string): Promise<Identity> {
  const [graph, lifetime] = isOfProvider(principal) ? [undefined, 0] : [call.graph, call.lifetime];
  return { ...(await serversInForce(call)), graph, principal, lifetime };
}

/** Returns where the call caches the tokens of this owner. */
export async function cacheEntry(
  call: Call,
  store: Store,
  owner: Pick<Credential, 'principal' | 'username' | 'owner'>,
): Promise<CacheEntry> {
  const identity = await identityOf(call, owner.principal);
  return { call, identity, owner: ownerInfo(owner), store, fallback: await fallbackOf(call, store) };
}

/**
 * Returns what all tokens of an identity are named by: readable, because it is also the name of its item in the desktop's keychain application.
 * Spaces inside a part are encoded, so that the keys of two identities always differ.
 */
export function identityKey(identity: Identity): string {
  const { principal, graph, lifetime, gsqlUrl, restUrl } = identity;
  return `token of ${part(principal)} for ${graph === undefined ? 'any graph' : `graph ${part(graph)}`}, ${lifetime}s, at ${gsqlUrl} rest ${restUrl}`;
}

function part(text: string): string {
  return text.replace(/[^\x21-\x7e]|%/gu, (character) =>
    // The character is encoded as bytes, because encodeURIComponent throws on half a surrogate pair.
    encodeURIComponent(Buffer.from(character).toString()),
  );
}

/**
 * Tokens cached for an identity, with any lifetime: first those of the store, then those of its fallback. In each of
 * them the token that expires last comes first.
 */
export async function cachedTokens(
  { store, fallback }: Pick<CacheEntry, 'store' | 'fallback'>,
  whose: Whose,
): Promise<CachedEntry[]> {
  const entries = (await entriesOf(fallback ? [store, fallback] : [store]))
    .filter(isToken)
    .filter(({ record }) => isOfIdentity(record, whose));
  const rank = (entry: CachedEntry) => (entry.store === store ? 0 : 1);
  return entries.sort((a, b) => rank(a) - rank(b) || longestLivedFirst(a.record, b.record));
}

/** Returns the tokens that a call finds for this owner. */
export async function cachedOf(call: Call, store: Store, principal: string): Promise<CachedEntry[]> {
  return cachedTokens({ store, fallback: await fallbackOf(call, store) }, await identityOf(call, principal));
}

/** Reads a cached token and binds it to the pair of base URLs it was minted for. */
export async function readCached(store: Store, record: TokenRecord): Promise<BoundCredential | undefined> {
  const token = await readValue(store, record);
  const { gsqlUrl, restUrl } = record.info;
  return token && new BoundCredential(token, { gsqlUrl, restUrl });
}

async function readValue(store: Store, record: TokenRecord): Promise<Sensitive | undefined> {
  const token = await store.read(record);
  return token && new Sensitive(token.reveal(), `cached in the ${store.name} store`);
}

/**
 * Deletes a token that the server refuses, wherever it is cached. Warns when it is still stored.
 * @returns why it is
 */
export async function deleteRefused(
  { ports }: Pick<Call, 'ports'>,
  cached: readonly StoreEntry[],
  token: Sensitive,
): Promise<GraphException | undefined> {
  const failure = await forget(cached, token);
  if (failure) ports.reporter.warn(`the refused token could not be forgotten here: ${failure.message}`);
  return failure;
}

/**
 * Deletes every record of a token that its server no longer accepts.
 * @returns why one is still stored here, when a store could not be changed
 */
export async function forget(
  cached: readonly StoreEntry[],
  token: Sensitive,
): Promise<GraphException | undefined> {
  let failure: GraphException | undefined;
  for (const { store, record } of cached.filter((one) => isOfToken(one.record, token)))
    failure = (await store.delete(record.key).then(() => undefined, expected)) ?? failure;
  return failure;
}

/** Whether a record is of this token. */
export function isOfToken({ key }: StoreRecord, token: Sensitive): boolean {
  return partsOf(key).token === fingerprint(token);
}

/** Whether a record is a token of this principal on this pair of servers, on any graph. */
export function isOnHost(record: TokenRecord, whose: Whose): boolean {
  return isForPair(record, whose) && record.info.principal === whose.principal;
}

/** Whether a record is a token of this identity, whatever lifetime was asked for. */
export function isOfIdentity(record: TokenRecord, whose: Whose): boolean {
  return isOnHost(record, whose) && record.info.graph === (whose.graph ?? null);
}

/** Sorts tokens so that the one that lives longest comes first, and the same order comes out each time. */
export function longestLivedFirst(a: TokenRecord, b: TokenRecord): number {
  return b.expiresAtUnix - a.expiresAtUnix || (a.key < b.key ? -1 : 1);
}

/** Whether the token of a record can be used. */
export function isUsable(record: TokenRecord, { minTtl, freshSince }: Wanted, now: number): boolean {
  if (record.expiresAtUnix - now / 1000 < minTtl) return false;
  // A creation time in the future means that the clock was set back, so the expiry is wrong too.
  if (record.createdAtUnix > now / 1000 + CLOCK_SLACK) return false;
  const { requestedAtMs = 0 } = record.info;
  return freshSince === undefined || (requestedAtMs >= freshSince && requestedAtMs <= now);
}

/** Returns the newest cached token of an identity that can be used. */
export async function findCached(
  { call, identity, store }: Omit<CacheEntry, 'owner'>,
  wanted: Wanted,
): Promise<CachedToken | undefined> {
  const records = (await store.tokensOf(identityKey(identity))).sort(newestFirst);
  for (const record of records.filter((one) => isUsable(one, wanted, call.ports.now()))) {
    const token = await readValue(store, record);
    if (!token) continue;
    const { expiresAtUnix, info } = record;
    return {
      token,
      expiresAtUnix,
      clockAheadSeconds: info.clockAheadSeconds ?? 0,
      lifetimeSeconds: info.lifetime,
      serverVersion: info.serverVersion,
      servers: { gsqlUrl: info.gsqlUrl, restUrl: info.restUrl },
      requestedAtMs: info.requestedAtMs ?? 0,
      source: 'store',
      isCached: true,
    };
  }
  return undefined;
}

/**
 * Stores a token under a name of its own, and returns whether that was possible. A store that fails causes a warning, not
 * an error.
 * @param lock under which it was minted, if it was
 */
export async function storeToken(entry: CacheEntry, minted: NewToken, lock?: Lock): Promise<boolean> {
  const { call, owner, store, fallback } = entry;
  const { now, reporter } = call.ports;
  const { host } = call.target;
  if (!STORES[store.name].keeps.tokens) return false;
  // If the server turned out to have another version, its REST server may be another one, and the token belongs to
  // that.
  const identity = { ...entry.identity, ...minted.servers };
  const name = identityKey(identity);
  const { gsqlUrl, restUrl, graph = null, principal } = identity;
  const {
    lifetimeSeconds: lifetime,
    serverVersion,
    requestedAtMs,
    expiresAtUnix,
    clockAheadSeconds,
  } = minted;
  const token = { lifetime, serverVersion, requestedAtMs, clockAheadSeconds };
  const record: TokenRecord = {
    v: 1,
    kind: 'token',
    key: tokenKey(name, fingerprint(minted.token)),
    store: store.name,
    // Not rounded to seconds, so that the newest token of an identity can be recognized.
    createdAtUnix: now() / 1000,
    expiresAtUnix,
    info: { host, restUrl, gsqlUrl, graph, principal, ...owner, ...token },
  };
  try {
    const isLocked = name === identityKey(entry.identity);
    await ((isLocked && lock) || store).write(record, minted.token);
  } catch (error) {
    const [why, hint] =
      error instanceof GraphException ? [error.message, error.hint] : [`the ${store.name} store failed`];
    const consequence = fallback ? 'the token is kept on this machine only' : 'the token is not kept';
    reporter.warn(`${why}; ${consequence}${hint ? ` (${hint})` : ''}`);
    return fallback ? storeToken({ ...entry, store: fallback, fallback: undefined }, minted) : false;
  }
  // What could not be forgotten is tried again with the next token.
  await forgetEnded(call, store, minted.servers).catch(expected);
  return true;
}

/**
 * Forgets the tokens of a pair that have ended by the clock of its server, which an answer of this run has told. The
 * clock of this machine may be wrong, and forgets nothing. A fleet's store forgets them by itself.
 */
async function forgetEnded({ learned }: Call, store: Store, pair: Servers): Promise<void> {
  const { serverTimeUnix } = learned;
  if (serverTimeUnix === undefined || STORES[store.name].scope === 'fleet') return;
  for (const record of await store.list()) {
    if (record.kind !== 'token' || !isForPair(record, pair)) continue;
    const endsAt = record.expiresAtUnix + (record.info.clockAheadSeconds ?? 0);
    if (endsAt < serverTimeUnix) await store.delete(record.key);
  }
}
