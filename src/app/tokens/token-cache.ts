import { fingerprint, ownerInfo, type TokenOwner } from '../../auth/credential.js';
import { isOfProvider } from '../../auth/oidc/settings.js';
import { defaultMinTtl } from '../../config/keys.js';
import { isSamePair } from '../../core/endpoints.js';
import type { BoundCredential, Sensitive } from '../../core/sensitive.js';
import { graphOf, type Run } from '../../run/run.js';
import { serversInForce } from '../../run/server.js';
import { entriesOf, type StoreEntry } from '../../run/stores.js';
import { boundToRecord, isToken } from '../../store/ownership.js';
import { newestFirst, partsOf } from '../../store/records.js';
import type { Store, StoreRecord, TokenRecord } from '../../store/store.js';

/** A token with everything known about it: one that was found in a store, a new one, or a JWT that is one as it is. */
export interface Token {
  readonly token: BoundCredential;
  /** When the token expires, by this machine's clock. */
  readonly expiresAtUnix: number;
  readonly life: Pick<
    TokenRecord['info'],
    'lifetime' | 'serverVersion' | 'requestedAtMs' | 'clockAheadSeconds' | 'issuedBy'
  >;
  /** Whether it was read from a store, so that the server may have forgotten it since. */
  readonly isCached?: true;
}

/** What a token must fulfil that is read from the cache, and when it was asked for. */
export interface Wanted {
  /** Seconds of life that a cached token must have left; by default a part of its life. */
  readonly minTtl: number | undefined;
  /** Only a token asked for at or after this time will do, ms since 1970. */
  readonly freshSince: number | undefined;
  /** The refusal that another process met at or after this time is the answer, ms since 1970. */
  readonly askedAt: number;
}

/** Returns the cache of this owner's tokens. Those of an identity provider are for every graph, and have their own end. */
export async function tokenCache(run: Run, store: Store, owner: TokenOwner) {
  const { principal } = owner;
  const [graph, lifetime] = isOfProvider(principal) ? [undefined, 0] : [graphOf(run), run.settings.lifetime];
  const identity = { ...(await serversInForce(run)), graph, principal, lifetime };
  return { run, store, identity, whose: ownerInfo(owner) };
}

export type TokenCache = Awaited<ReturnType<typeof tokenCache>>;

/** Returns the cache of the user and the graph that a stored token is for, with the lifetime of another one. */
export function cacheOf(cache: TokenCache, { info }: TokenRecord): TokenCache {
  const { principal, graph, username, owner = principal } = info;
  const identity = { ...cache.identity, principal, graph: graph ?? undefined };
  return { ...cache, identity, whose: ownerInfo({ principal, username, owner }) };
}

/** The identity of a token: `token get` uses a cached token only when all of this is equal. */
type Identity = TokenCache['identity'];

/** Returns the newest token of exactly this identity that can be used. */
export async function findToken(
  { run, store, identity }: TokenCache,
  wanted: Wanted,
): Promise<Token | undefined> {
  for (const record of (await store.list(identityKey(identity))).sort(newestFirst)) {
    if (record.kind !== 'token' || !isUsable(record, wanted, run.ports.now())) continue;
    const token = await readCached({ store, record });
    if (token) return { token, expiresAtUnix: record.expiresAtUnix, life: record.info, isCached: true };
  }
  return undefined;
}

/** Time synchronization regularly changes a machine's clock by up to this many seconds, so a smaller difference has no meaning. */
const CLOCK_SLACK = 10;

export function isUsable(record: TokenRecord, wanted: Wanted, now: number): boolean {
  const { requestedAtMs = 0, unfinished, lifetime } = record.info;
  const { freshSince, minTtl = defaultMinTtl(lifetime) } = wanted;
  // The server may have carried out a deletion that was broken off.
  if (unfinished === 'delete' || record.expiresAtUnix - now / 1000 < minTtl) return false;
  // A creation time in the future means that the clock was set back, so the expiry is wrong too.
  if (record.createdAtUnix > now / 1000 + CLOCK_SLACK) return false;
  return freshSince === undefined || (requestedAtMs >= freshSince && requestedAtMs <= now);
}

export async function readCached({ store, record }: StoreEntry<TokenRecord>) {
  const token = await store.get(record);
  return token && boundToRecord(record, token, `cached in the ${store.name} store`);
}

/** Returns the records of the owner's tokens, with any lifetime: the token that expires last comes first. */
export async function ownTokens({ store, identity }: TokenCache): Promise<StoreEntry<TokenRecord>[]> {
  return (await entriesOf([store]))
    .filter(isToken)
    .filter(({ record }) => isOfOwner(record, identity))
    .sort((a, b) => longestLivedFirst(a.record, b.record));
}

export async function firstReadable(entries: readonly StoreEntry<TokenRecord>[]) {
  for (const entry of entries) {
    const token = await readCached(entry);
    if (token) return { token, expiresAtUnix: entry.record.expiresAtUnix };
  }
  return undefined;
}

/** Whether a record is a token of this identity, whatever lifetime was asked for: of its graph, or of any one. */
export function isOfOwner(record: TokenRecord, identity: Identity, anyGraph = false): boolean {
  const isOfGraph = anyGraph || record.info.graph === (identity.graph ?? null);
  return isOfGraph && isSamePair(record.info, identity) && record.info.principal === identity.principal;
}

/** Sorts tokens so that the one that lives longest comes first, and the same order comes out each time. */
export function longestLivedFirst(a: TokenRecord, b: TokenRecord): number {
  return b.expiresAtUnix - a.expiresAtUnix || (a.key < b.key ? -1 : 1);
}

export function isOfToken({ key }: StoreRecord, token: Sensitive): boolean {
  return partsOf(key).token === fingerprint(token);
}

/** Returns what an identity's keys begin with: readable, as keychains show it. Encoded spaces keep identities apart. */
export function identityKey(identity: Identity): string {
  const { principal, graph, lifetime, gsqlUrl, restUrl } = identity;
  return `token of ${part(principal)} for ${graph === undefined ? 'any graph' : `graph ${part(graph)}`}, ${lifetime}s, at ${gsqlUrl} rest ${restUrl}`;
}

/** Returns the lifetime that a token's identity names, in seconds: the one asked for. In a key no other part has a blank. */
export function lifetimeOf({ key }: TokenRecord): number {
  return Number(/, (\d+)s, at /.exec(key)?.[1]);
}

function part(text: string): string {
  return text.replace(/[^\x21-\x7e]|%/gu, (character) =>
    // The character is encoded as bytes, because encodeURIComponent throws on half a surrogate pair.
    encodeURIComponent(Buffer.from(character).toString()),
  );
}
