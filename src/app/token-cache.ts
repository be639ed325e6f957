import type { Servers } from '../core/endpoints.js';
import { GraphException } from '../core/errors.js';
import type { Sensitive } from '../core/sensitive.js';
import type { Store, StoreRecord } from '../store/store.js';

/** The identity of a token: a cached token is used only when all of this is equal. */
export interface Identity {
  /** Base URL of the GSQL server, without a trailing slash. */
  readonly gsqlUrl: string;
  /** Base URL of the REST server, without a trailing slash. */
  readonly restUrl: string;
  readonly graph: string | undefined;
  readonly principal: string;
  /** Lifetime asked for, in seconds. */
  readonly lifetime: number;
}

/**
 * Returns the key of a token: readable, because it is also the name of its item in the desktop's keychain application.
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

/** Tokens cached in this store for an identity, with any lifetime. The token that expires last comes first. */
export async function cachedTokens(
  store: Store,
  identity: Omit<Identity, 'lifetime'>,
): Promise<StoreRecord[]> {
  return longestLivedFirst((await store.list()).filter((record) => isOfIdentity(record, identity)));
}

/**
 * Forgets a token that the server has deleted or refuses, unless another process has replaced it meanwhile.
 * @returns why it is still stored here, when the store could not be changed
 */
export async function forgetToken(
  store: Store,
  record: StoreRecord,
  token: Sensitive | undefined,
): Promise<GraphException | undefined> {
  try {
    await store.removeIf(record, token);
    return undefined;
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    return error;
  }
}

/** Whether a record is a token of this principal on this pair of servers, on any graph. */
export function isOnHost(
  { kind, info }: StoreRecord,
  { gsqlUrl, restUrl, principal }: Omit<Identity, 'lifetime'>,
): boolean {
  return (
    kind === 'token' && info.gsqlUrl === gsqlUrl && info.restUrl === restUrl && info.principal === principal
  );
}

/** Whether this token was replaced by a newer one. It is kept to be listed and deleted, and never used. */
export function isReplaced({ info }: StoreRecord): boolean {
  return info.replaced !== undefined;
}

/** Sorts them so that the one that lives longest comes first, and the same order comes out each time. */
function longestLivedFirst(records: StoreRecord[]): StoreRecord[] {
  return records.sort((a, b) => (b.expiresAtUnix ?? 0) - (a.expiresAtUnix ?? 0) || (a.key < b.key ? -1 : 1));
}

/** Whether a record is a token of this identity, whatever lifetime was asked for. */
export function isOfIdentity(record: StoreRecord, identity: Omit<Identity, 'lifetime'>): boolean {
  return isOnHost(record, identity) && record.info.graph === (identity.graph ?? null);
}

/** Time synchronization regularly changes a machine's clock by up to this many seconds, so a smaller difference has no meaning. */
const CLOCK_SLACK = 10;

/** A token with everything known about it. */
export interface CachedToken {
  readonly token: Sensitive;
  /** When the token expires, by this machine's clock. */
  readonly expiresAtUnix: number;
  readonly lifetimeSeconds: number;
  readonly serverVersion: string;
  /** The pair of base URLs it was minted for. */
  readonly servers: Servers;
  /** When the request for it was sent, ms since 1970. */
  readonly requestedAtMs: number;
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

interface FindDeps {
  readonly store: Store;
  now(): number;
}

/** Whether the token of a record can be used. */
export function isUsable(record: StoreRecord, { minTtl, freshSince }: Wanted, now: number): boolean {
  if (record.kind !== 'token' || record.expiresAtUnix === undefined) return false;
  if (!hasEnoughLife(record.expiresAtUnix, minTtl, now)) return false;
  // A creation time in the future means that the clock was set back, so the expiry is wrong too.
  if (record.createdAtUnix > now / 1000 + CLOCK_SLACK) return false;
  const requestedAt = Number(record.info.requestedAtMs);
  return freshSince === undefined || (requestedAt >= freshSince && requestedAt <= now);
}

export async function readCachedToken(
  key: string,
  wanted: Wanted,
  deps: FindDeps,
): Promise<CachedToken | undefined> {
  const record = await deps.store.find(key);
  const token = record && isUsable(record, wanted, deps.now()) && (await deps.store.read(record));
  return token ? fromRecord(record, token) : undefined;
}

function fromRecord(record: StoreRecord, token: Sensitive): CachedToken {
  return {
    token,
    expiresAtUnix: record.expiresAtUnix ?? 0,
    lifetimeSeconds: Number(record.info.lifetime),
    serverVersion: String(record.info.serverVersion),
    servers: { gsqlUrl: String(record.info.gsqlUrl), restUrl: String(record.info.restUrl) },
    requestedAtMs: Number(record.info.requestedAtMs),
    source: 'store',
    isCached: true,
  };
}

/**
 * Whether a token has enough life left.
 * @param expiresAtUnix in this machine's time, seconds
 * @param nowMs milliseconds since 1970
 */
export function hasEnoughLife(expiresAtUnix: number, minTtl: number, nowMs: number): boolean {
  return expiresAtUnix - nowMs / 1000 >= minTtl;
}
