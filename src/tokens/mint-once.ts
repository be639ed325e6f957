import { GraphException } from '../core/errors.js';
import { acquireLock, type Lock } from '../store/lock.js';
import { entryPath } from '../store/records.js';
import { readRefusal, writeRefusal } from '../store/refusal.js';
import type { StoreRecord } from '../store/store.js';
import type { AcquireDeps, AcquireOptions } from './acquire.js';
import { findHeld, type HeldToken, readHeld } from './find.js';

/**
 * A new token for everybody who asks in this moment.
 * @param since when this call began, ms since 1970: a refusal met by another process since then answers it too
 */
export async function mintOnce(
  key: string,
  since: number,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<HeldToken> {
  let turn: Lock | HeldToken;
  try {
    // Whoever cannot keep what it mints has nothing to wait for either.
    await deps.store.check();
    turn = await takeTurn(key, since, options, deps);
  } catch (error) {
    return mintUnkept(error, options, deps);
  }
  if ('token' in turn) return turn;
  try {
    return await mintInTurn(key, since, options, deps);
  } finally {
    turn.release();
  }
}

/** A new token for this call alone, because the store has failed. Throws what is no such failure, or must be told. */
export async function mintUnkept(
  error: unknown,
  { insist }: AcquireOptions,
  deps: AcquireDeps,
): Promise<HeldToken> {
  if (insist || !isStoreFailure(error)) throw error;
  deps.warn(`${error.message}; the token is not kept${error.hint ? ` (${error.hint})` : ''}`);
  return { ...(await deps.mint()), source: 'server' };
}

/** The lock; or what another process got meanwhile, for which a hundred who wait need not take turns. */
async function takeTurn(
  key: string,
  since: number,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<Lock | HeldToken> {
  const { stateDir, waitMs } = options;
  const file = entryPath(stateDir, 'token', key, 'lock');
  const refused = entryPath(stateDir, 'token', key, 'refused');
  // But at the keychain they do: a hundred at once would each wait so long that they took it for silent.
  const answered = () =>
    (deps.store.name === 'file' && findHeld(key, options, deps) !== undefined) ||
    readRefusal(refused, since, deps.now()) !== undefined;
  const lock = await acquireLock(file, { waitMs, answered });
  // A record whose value cannot be had is no answer: then it is this one's turn all the same.
  return lock ?? (await theirAnswer(key, since, options, deps)) ?? acquireLock(file, { waitMs });
}

/** What somebody else got while this process waited: a token, or a refusal, which is thrown. */
async function theirAnswer(
  key: string,
  since: number,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<HeldToken | undefined> {
  const held = await readHeld(key, options, deps).catch((error) => {
    // The store has gone since it was checked: keeping the new token will fail too, and say so.
    if (options.insist || !isStoreFailure(error)) throw error;
    return undefined;
  });
  if (held) return held;
  const refusal = readRefusal(entryPath(options.stateDir, 'token', key, 'refused'), since, deps.now());
  if (refusal) throw refusal;
  return undefined;
}

/** The part under the lock. */
async function mintInTurn(
  key: string,
  since: number,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<HeldToken> {
  const theirs = await theirAnswer(key, since, options, deps);
  if (theirs) return theirs;
  const refused = entryPath(options.stateDir, 'token', key, 'refused');
  const minted = await mintNoting(deps, (error) => writeRefusal(refused, error, deps.now()));
  await keep(key, minted, options, deps);
  return { ...minted, source: 'server' };
}

async function mintNoting(
  deps: AcquireDeps,
  note: (refusal: GraphException) => void,
): Promise<Omit<HeldToken, 'source'>> {
  try {
    return await deps.mint();
  } catch (error) {
    if (
      error instanceof GraphException &&
      (error.code === 'AUTH_FAILED' || error.code === 'PERMISSION_DENIED')
    )
      note(error);
    throw error;
  }
}

/** Writes a token down; whether that was possible. A store that fails costs a warning, never the token. */
export async function keep(
  key: string,
  minted: Omit<HeldToken, 'source'>,
  options: Pick<AcquireOptions, 'identity' | 'host'>,
  deps: Pick<AcquireDeps, 'store' | 'now' | 'warn'>,
): Promise<boolean> {
  const { identity, host } = options;
  const { store } = deps;
  if (store.name === 'none') return false;
  const now = deps.now();
  const record: StoreRecord = {
    v: 1,
    kind: 'token',
    key,
    store: store.name,
    createdAtUnix: Math.floor(now / 1000),
    expiresAtUnix: minted.expiresAtUnix,
    info: {
      host,
      restUrl: minted.restUrl,
      gsqlUrl: identity.gsqlUrl,
      // What the settings said, which an unchanged setting must say again; the address used may follow from the version.
      restSetting: identity.restUrl ?? null,
      graph: identity.graph ?? null,
      principal: identity.principal,
      lifetime: minted.lifetimeSeconds,
      serverVersion: minted.serverVersion,
      mintedAtMs: now,
    },
  };
  try {
    await store.write(record, minted.token);
    return true;
  } catch (error) {
    const [why, hint] =
      error instanceof GraphException ? [error.message, error.hint] : [`the ${store.name} store failed`];
    deps.warn(`${why}; the token is not kept${hint ? ` (${hint})` : ''}`);
    return false;
  }
}

function isStoreFailure(error: unknown): error is GraphException {
  return (
    error instanceof GraphException && (error.code === 'STORE_UNAVAILABLE' || error.code === 'STORE_LOCKED')
  );
}
