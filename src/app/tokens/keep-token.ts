import { fingerprint } from '../../auth/credential.js';
import { isSamePair, type Servers } from '../../core/endpoints.js';
import { expected, GraphException, whyFailed } from '../../core/errors.js';
import type { Sensitive } from '../../core/sensitive.js';
import type { Run } from '../../run/run.js';
import type { StoreEntry } from '../../run/stores.js';
import { unfinished } from '../../store/machine-store.js';
import { tokenKey } from '../../store/records.js';
import { type Lock, noneStore, STORES, type Store, type TokenRecord } from '../../store/store.js';
import { identityKey, isOfToken, ownTokens, type Token, type TokenCache } from './token-cache.js';

/** Stores a token, and returns its record. A failure is a warning. @param lock under which it was minted, if it was */
export async function keepToken(cache: TokenCache, minted: Token, lock?: Lock) {
  const { run, store } = cache;
  if (store === noneStore) return undefined;
  // If the server turned out to have another version, its REST server may be another one, and the token belongs to that.
  const identity = { ...cache.identity, ...minted.token.servers };
  const isLocked = identityKey(identity) === identityKey(cache.identity);
  const { token, expiresAtUnix, life } = minted;
  const { gsqlUrl, restUrl, graph = null, principal } = identity;
  const record: TokenRecord = {
    v: 1,
    kind: 'token',
    key: tokenKey(identityKey(identity), fingerprint(token)),
    store: store.name,
    // Not rounded to seconds, so that the newest token of an identity can be recognized.
    createdAtUnix: run.ports.now() / 1000,
    expiresAtUnix,
    info: { host: run.target.host, restUrl, gsqlUrl, graph, principal, ...cache.whose, ...life },
  };
  try {
    await store.put(record, token, isLocked ? lock : undefined);
  } catch (error) {
    const { message, fix } =
      error instanceof GraphException
        ? error
        : new GraphException('STORE_UNAVAILABLE', `the ${store.name} store failed`);
    run.ports.reporter.warn([`${message}; the token is not kept`, ...fix]);
    return undefined;
  }
  // What could not be forgotten is tried again with the next token.
  await forgetEnded(run, store, token.servers).catch(expected);
  return record;
}

/** Deletes the records of this owner with a token that the server refuses. Warns when it is still stored. */
export async function deleteRefused(cache: TokenCache, token: Sensitive): Promise<void> {
  const failure = await forget(await ownTokens(cache), token);
  if (failure)
    cache.run.ports.reporter.warn(`a token that the server refuses is still stored here: ${failure.message}`);
}

/** Returns what marks a token that a lost request may have ended, so that it is not given out, and throws the request's error. */
export function markMaybeEnded(cached: readonly StoreEntry[], token: Sensitive) {
  return async (error: unknown): Promise<never> => {
    for (const { store, record } of expected(error).ambiguous ? cached : [])
      if (isOfToken(record, token)) await store.put(unfinished(record, 'delete'), token).catch(expected);
    throw error;
  };
}

/** Deletes every record of a token, for one that its server surely no longer accepts. Returns why one is still stored. */
export async function forget(cached: readonly StoreEntry[], token: Sensitive) {
  let failure: GraphException | undefined;
  for (const { store, record } of cached.filter((one) => isOfToken(one.record, token)))
    failure = (await whyFailed(store.delete(record.key))) ?? failure;
  return failure;
}

/** Forgets the pair's tokens that have ended by its server's clock. That of this machine may be wrong, and forgets none. */
async function forgetEnded({ asked }: Run, store: Store, pair: Servers): Promise<void> {
  const { serverTimeUnix } = asked;
  if (serverTimeUnix === undefined || STORES[store.name].isShared) return;
  for (const record of await store.list()) {
    if (record.kind !== 'token' || record.info.unfinished === 'refresh') continue;
    if (!isSamePair(record.info, pair)) continue;
    const endsAt = record.expiresAtUnix + (record.info.clockAheadSeconds ?? 0);
    if (endsAt < serverTimeUnix) await store.delete(record.key);
  }
}
