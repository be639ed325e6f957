import { type Credential, fingerprint, ownerInfo } from '../../auth/credential.js';
import type { Run } from '../../auth/run.js';
import { entriesOf, type StoreEntry } from '../../auth/stores.js';
import type { Servers } from '../../core/endpoints.js';
import { expected, GraphException, whyFailed } from '../../core/errors.js';
import { BoundCredential, Sensitive } from '../../core/sensitive.js';
import { isForPair, isToken } from '../../store/ownership.js';
import { newestFirst, tokenKey } from '../../store/records.js';
import { type Lock, noneStore, STORES, type Store, type TokenRecord } from '../../store/store.js';
import {
  type Identity,
  identityKey,
  identityOf,
  isOfOwner,
  isOfToken,
  longestLivedFirst,
} from './identity.js';

/** A token with everything known about it: one that was found in a store, a new one, or a JWT that is one as it is. */
export interface Token {
  /** Bound to the pair of base URLs that it was minted for. */
  readonly token: BoundCredential;
  /** When the token expires, by this machine's clock. */
  readonly expiresAtUnix: number;
  /** How far the server's clock is ahead of this machine's, in seconds. */
  readonly clockAheadSeconds: number;
  /** The lifetime asked for, or the one granted where that is another. */
  readonly lifetimeSeconds: number;
  readonly serverVersion: string;
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

/** Mints the tokens of one credential. */
export interface Minter {
  /** Fetches the credential, which may need a prompt or a program. No lock is held meanwhile. */
  prepare(): Promise<void>;
  /** Asks the server; loads the HTTP code, which a waiting process does not need. */
  mint(): Promise<Token>;
}

/** Time synchronization regularly changes a machine's clock by up to this many seconds, so a smaller difference has no meaning. */
const CLOCK_SLACK = 10;

/** Reads a cached token and binds it to the pair of base URLs it was minted for. */
export async function readCached(store: Store, record: TokenRecord): Promise<BoundCredential | undefined> {
  const token = await store.get(record);
  if (!token) return undefined;
  const { gsqlUrl, restUrl } = record.info;
  const named = new Sensitive(token.reveal(), `cached in the ${store.name} store`);
  return new BoundCredential(named, { gsqlUrl, restUrl });
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
    failure = (await whyFailed(store.delete(record.key))) ?? failure;
  return failure;
}

/** Whether the token of a record can be used. */
export function isUsable(record: TokenRecord, { minTtl, freshSince }: Wanted, now: number): boolean {
  if (record.expiresAtUnix - now / 1000 < minTtl) return false;
  // A creation time in the future means that the clock was set back, so the expiry is wrong too.
  if (record.createdAtUnix > now / 1000 + CLOCK_SLACK) return false;
  const { requestedAtMs = 0 } = record.info;
  return freshSince === undefined || (requestedAtMs >= freshSince && requestedAtMs <= now);
}

type TokenOwner = Pick<Credential, 'principal' | 'username' | 'owner'>;

/** Returns the owner of the tokens of a principal whose credential is not known: by default of the label. */
export function ownerNamed({ settings }: Run, principal = settings.tokenLabel ?? ''): TokenOwner {
  return { principal, username: settings.username, owner: principal };
}

/** Returns the cache of the tokens of this owner. */
export async function tokenCache(run: Run, store: Store, owner: TokenOwner): Promise<TokenCache> {
  return new TokenCache(run, await identityOf(run, owner.principal), ownerInfo(owner), store);
}

/** The tokens of one identity in a store. */
export class TokenCache {
  readonly #run: Run;
  readonly #identity: Identity;
  readonly #owner: Readonly<Record<string, string>>;
  readonly #store: Store;

  constructor(run: Run, identity: Identity, owner: Readonly<Record<string, string>>, store: Store) {
    this.#run = run;
    this.#identity = identity;
    this.#owner = owner;
    this.#store = store;
  }

  /** Returns the newest token of exactly this identity that can be used. */
  async find(wanted: Wanted): Promise<Token | undefined> {
    for (const record of (await this.#store.list(identityKey(this.#identity))).sort(newestFirst)) {
      if (record.kind !== 'token' || !isUsable(record, wanted, this.#run.ports.now())) continue;
      const token = await readCached(this.#store, record);
      if (!token) continue;
      const { expiresAtUnix, info } = record;
      return {
        token,
        expiresAtUnix,
        clockAheadSeconds: info.clockAheadSeconds ?? 0,
        lifetimeSeconds: info.lifetime,
        serverVersion: info.serverVersion,
        requestedAtMs: info.requestedAtMs ?? 0,
        source: 'store',
        isCached: true,
      };
    }
    return undefined;
  }

  /**
   * Returns a cached token, or mints one and caches it: exactly one, however many processes ask at once. From the mint
   * on, a signal is waited out: a request that is broken off may have made a token that nobody knows, which is said. A
   * request to an identity provider is let end, for its refresh token may work only once.
   * @throws GraphException the error of the mint, of a required store, or of the lock
   * @throws Interrupted
   */
  async obtain(wanted: Wanted, { prepare, mint }: Minter): Promise<Token> {
    const cached = await this.find(wanted);
    if (cached) return cached;
    await prepare();
    const { interruption } = this.#run.ports;
    return interruption.during(() =>
      this.whileLocked(wanted, async (lock) => {
        interruption.begin();
        const minted = await mint().catch((error) => tellRefusal(lock, error));
        await this.keep(minted, lock);
        return minted;
      }),
    );
  }

  /**
   * Does work while no other process mints this token. Returns its result, or the token that another process minted
   * meanwhile.
   * @throws GraphException LOCK_TIMEOUT, or the refusal that another process met after this run had its credential
   */
  async whileLocked(wanted: Wanted, work: (lock: Lock) => Promise<Token>): Promise<Token> {
    const { ports, time } = this.#run;
    const { now } = ports;
    const options = { waitMs: time.limitMs + 5000, since: now(), now };
    let accepts = (record: TokenRecord) => isUsable(record, wanted, now());
    // With an unusable store there is nothing to wait for.
    await this.#store.check();
    for (;;) {
      const lock = await this.#store.lock(identityKey(this.#identity), { ...options, accepts });
      try {
        // The process that had the lock before may have minted the token.
        const theirs = await this.find(wanted);
        if (theirs) return theirs;
        if (lock) return await work(lock);
      } finally {
        await lock?.release();
      }
      // A record whose value cannot be read does not count: this process still takes the lock.
      accepts = () => false;
    }
  }

  /**
   * Stores a token under a name of its own, and returns its record. A failure causes a warning, not an error.
   * @param lock under which it was minted, if it was
   */
  async keep(minted: Token, lock?: Lock): Promise<TokenRecord | undefined> {
    const store = this.#store;
    if (store === noneStore) return undefined;
    // If the server turned out to have another version, its REST server may be another one, and the token belongs to
    // that.
    const identity = { ...this.#identity, ...minted.token.servers };
    const isLocked = identityKey(identity) === identityKey(this.#identity);
    const record = this.#recordOf(minted, identity);
    try {
      await store.put(record, minted.token, isLocked ? lock : undefined);
    } catch (error) {
      const { message, fix } =
        error instanceof GraphException
          ? error
          : new GraphException('STORE_UNAVAILABLE', `the ${store.name} store failed`);
      this.#run.ports.reporter.warn([`${message}; the token is not kept`, ...fix]);
      return undefined;
    }
    // What could not be forgotten is tried again with the next token.
    await forgetEnded(this.#run, store, minted.token.servers).catch(expected);
    return record;
  }

  /** Returns the records of this identity's tokens, with any lifetime: the token that expires last comes first. */
  async records(): Promise<StoreEntry<TokenRecord>[]> {
    return (await entriesOf([this.#store]))
      .filter(isToken)
      .filter(({ record }) => isOfOwner(record, this.#identity))
      .sort((a, b) => longestLivedFirst(a.record, b.record));
  }

  /**
   * Deletes a token that the server refuses, wherever it is cached, unless another process has replaced it meanwhile.
   * Warns when it is still stored.
   * @returns why it is
   */
  async deleteRefused(token: Sensitive): Promise<GraphException | undefined> {
    const failure = await forget(await this.records(), token);
    if (failure)
      this.#run.ports.reporter.warn(`the refused token could not be forgotten here: ${failure.message}`);
    return failure;
  }

  #recordOf(minted: Token, { gsqlUrl, restUrl, ...identity }: Identity): TokenRecord {
    const { token, expiresAtUnix, serverVersion, requestedAtMs, clockAheadSeconds } = minted;
    const { graph = null, principal } = identity;
    const life = { lifetime: minted.lifetimeSeconds, serverVersion, requestedAtMs, clockAheadSeconds };
    return {
      v: 1,
      kind: 'token',
      key: tokenKey(identityKey({ gsqlUrl, restUrl, ...identity }), fingerprint(token)),
      store: this.#store.name,
      // Not rounded to seconds, so that the newest token of an identity can be recognized.
      createdAtUnix: this.#run.ports.now() / 1000,
      expiresAtUnix,
      info: { host: this.#run.target.host, restUrl, gsqlUrl, graph, principal, ...this.#owner, ...life },
    };
  }
}

/** Tells the processes that wait for the lock when the server refuses. */
async function tellRefusal(lock: Lock, error: unknown): Promise<never> {
  const isRefusal = error instanceof GraphException && /^(?:AUTH_FAILED|PERMISSION_DENIED)$/.test(error.code);
  if (isRefusal) await lock.refuse(error);
  throw error;
}

/**
 * Forgets the tokens of a pair that have ended by the clock of its server, which an answer of this run has told. The
 * clock of this machine may be wrong, and forgets nothing. A fleet's store forgets them by itself.
 */
async function forgetEnded({ asked }: Run, store: Store, pair: Servers): Promise<void> {
  const { serverTimeUnix } = asked;
  if (serverTimeUnix === undefined || STORES[store.name].isShared) return;
  for (const record of await store.list()) {
    if (record.kind !== 'token' || !isForPair(record, pair)) continue;
    const endsAt = record.expiresAtUnix + (record.info.clockAheadSeconds ?? 0);
    if (endsAt < serverTimeUnix) await store.delete(record.key);
  }
}
