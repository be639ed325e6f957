import type { Call } from '../auth/call.js';
import { findCredential, isJwtSet, refuseLifetime } from '../auth/choose.js';
import { type Credential, once } from '../auth/credential.js';
import { isOfProvider } from '../auth/oidc/settings.js';
import { Interrupted } from '../auth/ports.js';
import { chooseStore, isStoreRequired } from '../auth/stores.js';
import { GraphException } from '../core/errors.js';
import type { Sensitive } from '../core/sensitive.js';
import { type Lock, STORES, type TokenRecord } from '../store/store.js';
import {
  type CachedToken,
  type CacheEntry,
  cachedTokens,
  cacheEntry,
  deleteRefused,
  findCached,
  identityKey,
  isUsable,
  type NewToken,
  storeToken,
  type Wanted,
} from './token-cache.js';

/** Gives tokens to a run that may need more than one. */
export interface TokenSource {
  /** Returns a cached token, or mints one and caches it. What is given here goes before the settings of the call. */
  obtain(wanted?: Partial<Wanted>): Promise<CachedToken>;
  /**
   * Deletes a token that the server refuses from the store, unless another process has replaced it meanwhile. Warns, and
   * returns the error, if it could not be deleted.
   */
  delete(token: Sensitive): Promise<GraphException | undefined>;
  /** Returns what the tokens are minted with. */
  credential(): Promise<Credential>;
}

/** Loaded for a new token, or the JWT of an identity provider. */
const minting = () => import('./mint-token.js');

/** Returns the token of this call: the cached one, or a new one that is then cached. */
export async function getToken(call: Call, options: { fresh: boolean }): Promise<CachedToken> {
  return (await tokenSource(call)).obtain({ freshSince: options.fresh ? call.ports.startedAt : undefined });
}

export async function tokenSource(call: Call): Promise<TokenSource> {
  const { principal: label } = call;
  const store = await chooseStore(call);
  const credential = once(() => findCredential(call, 'mint', async () => store));
  // A token minted with a password belongs to a graph on 3.x, and the graph is part of its identity.
  if (call.canPrompt && call.graph === undefined && (await credential()).kind === 'password') {
    const { askGraph } = await import('../auth/prompts.js');
    await askGraph(call);
  }
  // With a label the token may have been minted by another machine, so a credential is needed only to mint.
  const own = label === undefined || isJwtSet(call) ? await credential() : undefined;
  const whose = own ?? { principal: label as string, username: call.username, owner: label as string };
  // A cached JWT is found whatever lifetime was typed, so that is refused here.
  if (own && isOfProvider(own.principal)) refuseLifetime(call, own.label);
  const entry = await cacheEntry(call, store, whose);
  return {
    credential,
    obtain: async (wanted = {}) => {
      // Only a program's answer is cached: a file may hold another JWT by now.
      if (own?.kind === 'jwt' && !own.isFromProgram)
        return { ...(await (await minting()).identityToken(call, own)), source: 'identity' };
      const token = await obtainCached(entry, credential, wanted);
      return own?.kind === 'jwt' ? { ...token, source: 'identity' } : token;
    },
    delete: async (token) => deleteRefused(call, await cachedTokens(entry, entry.identity), token),
  };
}

/**
 * Returns a cached token, or mints one with the credential of the call and caches it. From the mint on, a signal is
 * waited out: a request that is broken off may have made a token that nobody knows, which is said. A request to an
 * identity provider is let end, for its refresh token may work only once.
 * @throws Interrupted
 */
async function obtainCached(
  entry: CacheEntry,
  credential: TokenSource['credential'],
  wanted: Partial<Wanted>,
): Promise<CachedToken> {
  const { call } = entry;
  let interruption: ReturnType<Call['ports']['listen']> | undefined;
  try {
    const token = await acquireToken({
      ...entry,
      minTtl: call.minTtl,
      freshSince: undefined,
      ...wanted,
      prepare: async () => {
        const own = await credential();
        // Nobody is asked for a JWT that the server would not take: a provider's answer may be good only once.
        if (own.kind === 'jwt') await (await minting()).requireJwtServer(call);
        if (own.readUnderLock !== true) await own.value();
      },
      mint: async () => {
        const own = await credential();
        const { mintFor } = await minting();
        // A new token that no store shares is this call's alone, and may be revoked.
        const unique = wanted.freshSince !== undefined && !STORES[entry.store.name].keeps.tokens;
        interruption = call.ports.listen();
        interruption.begin();
        return mintFor({ ...call, interruption }, own, unique);
      },
    });
    if (interruption?.status === undefined) return token;
  } catch (error) {
    if (interruption?.status === undefined) throw error;
    throw new Interrupted(interruption.status, error);
  } finally {
    interruption?.stop();
  }
  throw new Interrupted(interruption.status, undefined, 'Interrupted; the token is minted.');
}

export interface TokenRequest extends CacheEntry, Wanted {
  /** Fetches the credential, which may need a prompt or a program. No lock is held meanwhile. */
  prepare(): Promise<void>;
  /** Asks the server; loads the HTTP code, which a waiting process does not need. */
  mint(): Promise<NewToken>;
}

/** How far a call has come when its store fails. */
interface Progress {
  /**
   * When this call had its credential, in ms since 1970; undefined before that. If another process was refused a token
   * after that time, this call fails with the same error instead of asking again.
   */
  readonly since?: number;
  /** The time for which a store that failed was waited for. It does not make a credential newer than a refusal. */
  readonly lostMs?: number;
}

/**
 * Returns a cached token with enough life left, or mints one: exactly one, however many processes ask at once.
 * @throws GraphException the error of the mint, of a required store, or of the lock
 */
export async function acquireToken(request: TokenRequest, progress: Progress = {}): Promise<CachedToken> {
  const { store } = request;
  const { now } = request.call.ports;
  const begun = now();
  try {
    const cached = await findCached(request, request);
    if (cached) return cached;
  } catch (error) {
    return acquireElsewhere(error, request, { lostMs: now() - begun, ...progress });
  }
  if (progress.since === undefined) await request.prepare();
  const since = progress.since ?? now() - (progress.lostMs ?? 0);
  let lock: Lock | CachedToken;
  try {
    // With an unusable store there is nothing to wait for, so it is checked before the lock is taken.
    await store.check();
    lock = await takeLock(request, since);
  } catch (error) {
    return acquireElsewhere(error, request, { since });
  }
  if ('token' in lock) return lock;
  try {
    return await mintLocked(request, lock);
  } finally {
    await lock.release();
  }
}

/**
 * Returns a token after a failure of the store: one from the fallback store, else a new one for this call alone. Rethrows any
 * other error, and a failure of a required store.
 */
async function acquireElsewhere(
  error: unknown,
  request: TokenRequest,
  progress: Progress,
): Promise<CachedToken> {
  const { call, fallback } = request;
  if (!isTolerable(error, call)) throw error;
  const hint = error.hint ? ` (${error.hint})` : '';
  const warn = (consequence: string) => call.ports.reporter.warn(`${error.message}; ${consequence}${hint}`);
  if (fallback) {
    warn('this machine uses its own tokens');
    return acquireToken({ ...request, store: fallback, fallback: undefined }, progress);
  }
  // If the server refuses, there is no token, and the warning would be wrong.
  const minted = await request.mint();
  warn('the token is not kept');
  return { ...minted, source: 'server' };
}

/** Waits for the lock. Returns it, or the token that another process minted meanwhile. */
async function takeLock(request: TokenRequest, since: number): Promise<Lock | CachedToken> {
  const { call, store, identity } = request;
  const { now } = call.ports;
  const key = identityKey(identity);
  const waitMs = call.timeoutMs + 5000;
  let accepts = (record: TokenRecord) => isUsable(record, request, now());
  for (;;) {
    const lock = await store.lock(key, { waitMs, since, now, accepts });
    const taken = lock ?? (await findLocked(request));
    if (taken) return taken;
    // A record whose value cannot be read does not count: this process still takes the lock.
    accepts = () => false;
  }
}

async function findLocked(request: TokenRequest): Promise<CachedToken | undefined> {
  return findCached(request, request).catch((error) => {
    // The store has failed since it was checked. Storing the new token will fail too, with a warning.
    if (!isTolerable(error, request.call)) throw error;
    return undefined;
  });
}

/** Mints while no other process mints the same token. */
async function mintLocked(request: TokenRequest, lock: Lock): Promise<CachedToken> {
  const { fallback } = request;
  // The process that had the lock before may have minted the token.
  const theirs = await findLocked(request);
  if (theirs) return theirs;
  // This machine may have minted a token while the store failed, and stored it in the fallback.
  const own = fallback && (await findCached({ ...request, store: fallback }, request));
  // The processes that wait for the lock are told when the server refuses.
  const tellRefusal = async (error: unknown): Promise<never> => {
    const code = error instanceof GraphException ? error.code : undefined;
    if (code === 'AUTH_FAILED' || code === 'PERMISSION_DENIED') await lock.refuse(error as GraphException);
    throw error;
  };
  const token = own ?? { ...(await request.mint().catch(tellRefusal)), source: 'server' };
  await storeToken(request, token, lock);
  return token;
}

/** Whether this is a failure of a store that the call can do without. */
function isTolerable(error: unknown, call: Call): error is GraphException {
  if (!(error instanceof GraphException) || isStoreRequired(call)) return false;
  return error.code === 'STORE_UNAVAILABLE' || error.code === 'STORE_LOCKED';
}
