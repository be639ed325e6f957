import { GraphException } from '../core/errors.js';
import { STORES, type Store, type StoreRecord, type Turn } from '../store/store.js';
import {
  type CachedToken,
  type Identity,
  identityKey,
  isUsable,
  readCachedToken,
  type Wanted,
} from './token-cache.js';

export interface AcquireOptions extends Wanted {
  readonly identity: Identity;
  readonly host: string;
  /** Whose token it is, as the record names it. */
  readonly owner?: Readonly<Record<string, string>>;
  /** The user has named the store, so a failure of the store is a failure of the call. */
  readonly storeRequired: boolean;
  readonly waitMs: number;
}

export interface AcquireDeps {
  readonly store: Store;
  /** The store that is used while `store` fails. */
  readonly fallback?: Store | undefined;
  now(): number;
  warn(message: string): void;
  /** Fetches the credential, which may need a prompt or a program. No lock is held meanwhile. */
  prepare(): Promise<void>;
  /** Asks the server; loads the HTTP code, which a waiting process does not need. */
  mint(): Promise<Omit<CachedToken, 'source'>>;
}

/**
 * Returns a cached token with enough life left, or mints one: exactly one, however many processes ask at once.
 * @throws GraphException the error of the mint, of a required store, or of the turn
 */
export async function acquireToken(options: AcquireOptions, deps: AcquireDeps): Promise<CachedToken> {
  return acquireFrom({ lostMs: 0 }, options, deps);
}

/** How far a call has come when its store fails. */
interface Progress {
  /**
   * When this call had its credential, in ms since 1970; undefined before that. If another process was refused a token
   * after that time, this call fails with the same error instead of asking again.
   */
  readonly preparedAt?: number;
  /** The time for which a store that failed was waited for. It does not make a credential newer than a refusal. */
  readonly lostMs: number;
}

/** Returns a cached token, or mints one when it is this process's turn. */
async function acquireFrom(
  { preparedAt, lostMs }: Progress,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<CachedToken> {
  const key = identityKey(options.identity);
  const begun = deps.now();
  try {
    const held = await readCachedToken(key, options, deps);
    if (held) return held;
  } catch (error) {
    const progress = preparedAt === undefined ? { lostMs: deps.now() - begun } : { preparedAt, lostMs };
    return acquireElsewhere(error, progress, options, deps);
  }
  if (preparedAt === undefined) await deps.prepare();
  const since = preparedAt ?? deps.now() - lostMs;
  let turn: Turn | CachedToken;
  try {
    // With an unusable store there is nothing to wait for, so it is checked before the lock is taken.
    await deps.store.check();
    turn = await takeTurn(key, since, options, deps);
  } catch (error) {
    return acquireElsewhere(error, { preparedAt: since, lostMs }, options, deps);
  }
  if ('token' in turn) return turn;
  try {
    return await mintInTurn(key, turn, options, deps);
  } finally {
    await turn.release();
  }
}

/**
 * Returns a token after a failure of the store: one from the fallback store, else a new one for this call alone. Rethrows any
 * other error, and a failure of a required store.
 */
async function acquireElsewhere(
  error: unknown,
  progress: Progress,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<CachedToken> {
  if (options.storeRequired || !isStoreFailure(error)) throw error;
  const { fallback } = deps;
  const warn = (consequence: string) =>
    deps.warn(`${error.message}; ${consequence}${error.hint ? ` (${error.hint})` : ''}`);
  if (fallback) {
    warn('this machine uses its own tokens');
    return acquireFrom(progress, options, { ...deps, store: fallback, fallback: undefined });
  }
  // If the server refuses, there is no token, and the warning would be wrong.
  const minted = await deps.mint();
  warn('the token is not kept');
  return { ...minted, source: 'server' };
}

/** Waits for this process's turn. Returns the turn, or the token that another process minted meanwhile. */
async function takeTurn(
  key: string,
  since: number,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<Turn | CachedToken> {
  const { store, now } = deps;
  const base = { waitMs: options.waitMs, since, now };
  const accepts = (record: StoreRecord) => isUsable(record, options, now());
  const turn = await store.takeTurn(key, { ...base, accepts });
  if (turn) return turn;
  const held = await readCachedInTurn(key, options, deps);
  if (held) return held;
  // A record whose value cannot be read does not count: this process still takes its turn.
  const later = await store.takeTurn(key, { ...base, accepts: () => false });
  if (later) return later;
  throw new GraphException('INTERNAL', 'a store gave neither a turn nor a record');
}

async function readCachedInTurn(
  key: string,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<CachedToken | undefined> {
  return readCachedToken(key, options, deps).catch((error) => {
    // The store has failed since it was checked. Storing the new token will fail too, with a warning.
    if (options.storeRequired || !isStoreFailure(error)) throw error;
    return undefined;
  });
}

/** Mints while no other process mints the same token. */
async function mintInTurn(
  key: string,
  turn: Turn,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<CachedToken> {
  // The process that had the turn before may have minted the token.
  const theirs = await readCachedInTurn(key, options, deps);
  if (theirs) return theirs;
  // This machine may have minted a token while the store failed, and stored it in the fallback.
  const own = deps.fallback && (await readCachedToken(key, options, { ...deps, store: deps.fallback }));
  if (own) {
    await storeToken(key, own, options, deps, turn);
    return own;
  }
  const minted = await deps.mint().catch(async (error) => {
    if (isRefusal(error)) await turn.refuse(error);
    throw error;
  });
  await storeToken(key, minted, options, deps, turn);
  return { ...minted, source: 'server' };
}

function isRefusal(error: unknown): error is GraphException {
  return (
    error instanceof GraphException && (error.code === 'AUTH_FAILED' || error.code === 'PERMISSION_DENIED')
  );
}

/**
 * Stores a token and returns whether that was possible. A store that fails causes a warning, not an error.
 * @param turn in which it was minted, if it was
 */
export async function storeToken(
  key: string,
  minted: Omit<CachedToken, 'source'>,
  options: Pick<AcquireOptions, 'identity' | 'host' | 'owner'>,
  deps: Omit<AcquireDeps, 'mint' | 'prepare'>,
  turn?: Turn,
): Promise<boolean> {
  const { host, owner } = options;
  const { store } = deps;
  if (!STORES[store.name].keeps.tokens) return false;
  // If the server turned out to have another version, its REST server may be another one, and the token belongs to
  // that.
  const identity = { ...options.identity, ...minted.servers };
  const isInTurn = identityKey(identity) === key;
  const now = deps.now();
  const record: StoreRecord = {
    v: 1,
    kind: 'token',
    key: identityKey(identity),
    store: store.name,
    createdAtUnix: Math.floor(now / 1000),
    expiresAtUnix: minted.expiresAtUnix,
    info: {
      host,
      restUrl: identity.restUrl,
      gsqlUrl: identity.gsqlUrl,
      graph: identity.graph ?? null,
      principal: identity.principal,
      ...owner,
      lifetime: minted.lifetimeSeconds,
      serverVersion: minted.serverVersion,
      requestedAtMs: minted.requestedAtMs,
    },
  };
  try {
    await (await import('./replaced-tokens.js')).keepReplaced(store, record, minted.token, now);
    await ((isInTurn && turn) || store).write(record, minted.token);
    return true;
  } catch (error) {
    const [why, hint] =
      error instanceof GraphException ? [error.message, error.hint] : [`the ${store.name} store failed`];
    const { fallback } = deps;
    const consequence = fallback ? 'the token is kept on this machine only' : 'the token is not kept';
    deps.warn(`${why}; ${consequence}${hint ? ` (${hint})` : ''}`);
    return fallback
      ? storeToken(key, minted, options, { ...deps, store: fallback, fallback: undefined })
      : false;
  }
}

function isStoreFailure(error: unknown): error is GraphException {
  return (
    error instanceof GraphException && (error.code === 'STORE_UNAVAILABLE' || error.code === 'STORE_LOCKED')
  );
}
