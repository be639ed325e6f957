import { GraphException } from '../core/errors.js';
import type { Sensitive } from '../core/sensitive.js';
import type { Lock } from '../store/lock.js';
import { entryPath } from '../store/records.js';
import type { Store, StoreRecord } from '../store/store.js';
import { hasEnoughLife } from './expiry.js';
import { type Identity, identityKey } from './identity.js';

/** Seconds by which clocks are put right every day without anybody noticing. */
const CLOCK_SLACK = 10;

/** A token with all that is known of it. */
export interface HeldToken {
  readonly token: Sensitive;
  /** In this machine's time. */
  readonly expiresAtUnix: number;
  readonly lifetimeSeconds: number;
  readonly serverVersion: string;
  readonly restUrl: string;
  readonly source: 'store' | 'server';
}

export interface AcquireOptions {
  readonly identity: Identity;
  readonly host: string;
  /** Seconds of life a held token must have left. */
  readonly minTtl: number;
  /** Only a token minted at or after this moment will do, ms since 1970. */
  readonly freshSince: number | undefined;
  /** The store was asked for by name: its failure is the call's. */
  readonly insist: boolean;
  readonly stateDir: string;
  readonly waitMs: number;
}

export interface AcquireDeps {
  readonly store: Store;
  now(): number;
  warn(message: string): void;
  /** Asks the server; loads the HTTP code, which those who only wait never need. */
  mint(): Promise<Omit<HeldToken, 'source'>>;
}

/**
 * The use case of the tool: a held token if it will do, else exactly one mint, however many ask at once.
 * @throws GraphException whatever the mint, an insisted-on store or the lock says
 */
export async function acquireToken(options: AcquireOptions, deps: AcquireDeps): Promise<HeldToken> {
  const key = identityKey(options.identity);
  const { store } = deps;
  if (store.name === 'none') return { ...(await deps.mint()), source: 'server' };
  const since = deps.now();
  let turn: Lock | HeldToken;
  try {
    const held = await readHeld(key, options, deps);
    if (held) return held;
    // Whoever cannot keep what it mints has nothing to wait for either.
    await store.check();
    turn = await takeTurn(key, since, options, deps);
  } catch (error) {
    if (options.insist || !isStoreFailure(error)) throw error;
    deps.warn(`${error.message}; the token is not kept${error.hint ? ` (${error.hint})` : ''}`);
    return { ...(await deps.mint()), source: 'server' };
  }
  if ('token' in turn) return turn;
  try {
    return await mintOnce(key, since, options, deps);
  } finally {
    turn.release();
  }
}

/** The lock; or what another process got meanwhile, for which a hundred who wait need not take turns. */
async function takeTurn(
  key: string,
  since: number,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<Lock | HeldToken> {
  const [{ acquireLock }, { readRefusal }] = await Promise.all([
    import('../store/lock.js'),
    import('../store/refusal.js'),
  ]);
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
  const { readRefusal } = await import('../store/refusal.js');
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
async function mintOnce(
  key: string,
  since: number,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<HeldToken> {
  const theirs = await theirAnswer(key, since, options, deps);
  if (theirs) return theirs;
  const refused = entryPath(options.stateDir, 'token', key, 'refused');
  const { writeRefusal } = await import('../store/refusal.js');
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

/** The record of a token that will do. */
function findHeld(key: string, options: AcquireOptions, deps: AcquireDeps): StoreRecord | undefined {
  const record = deps.store.find(key);
  if (record?.kind !== 'token' || record.expiresAtUnix === undefined) return undefined;
  const now = deps.now();
  if (!hasEnoughLife(record.expiresAtUnix, options.minTtl, now)) return undefined;
  // From the future: the clock was set back since, and the end of its life is as far off as the clock was.
  if (record.createdAtUnix > now / 1000 + CLOCK_SLACK) return undefined;
  const { freshSince } = options;
  const mintedAt = Number(record.info.mintedAtMs);
  return freshSince === undefined || (mintedAt >= freshSince && mintedAt <= now) ? record : undefined;
}

async function readHeld(
  key: string,
  options: AcquireOptions,
  deps: AcquireDeps,
): Promise<HeldToken | undefined> {
  const record = findHeld(key, options, deps);
  const token = record && (await deps.store.read(record));
  return token && fromRecord(record, token);
}

export function fromRecord(record: StoreRecord, token: Sensitive): HeldToken {
  return {
    token,
    expiresAtUnix: record.expiresAtUnix ?? 0,
    lifetimeSeconds: Number(record.info.lifetime),
    serverVersion: String(record.info.serverVersion),
    restUrl: String(record.info.restUrl),
    source: 'store',
  };
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
