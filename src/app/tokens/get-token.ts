import { findCredential, needsCredential, refuseLifetime } from '../../auth/choose.js';
import { isTokenItself, once } from '../../auth/credential.js';
import { isOfProvider } from '../../auth/oidc/settings.js';
import { type Interruption, untilInterrupted } from '../../auth/ports.js';
import { graphOf, type Run } from '../../auth/run.js';
import { GraphException } from '../../core/errors.js';
import type { Lock } from '../../store/store.js';
import {
  type CachedToken,
  type NewToken,
  ownerNamed,
  type TokenCache,
  tokenCache,
  type Wanted,
} from './token-cache.js';

/** Loaded for a new token, or the JWT of an identity provider. */
const minting = () => import('./mint-token.js');

/** Returns the token of this run: the cached one, or a new one that is then cached. */
export async function getToken(run: Run, options: { fresh: boolean }): Promise<CachedToken> {
  return (await tokenSource(run)).obtain({ freshSince: options.fresh ? run.ports.startedAt : undefined });
}

export type TokenSource = Awaited<ReturnType<typeof tokenSource>>;

/** Returns what gives tokens to a run that may need more than one: its credential, its cache, and `obtain`. */
export async function tokenSource(run: Run) {
  const { settings, ports } = run;
  const credential = once(() => findCredential(run, 'mint'));
  // A token minted with a password belongs to a graph on 3.x, and the graph is part of its identity.
  if (ports.canPrompt && graphOf(run) === undefined && (await credential()).kind === 'password') {
    const { askGraph } = await import('../../auth/prompts.js');
    await askGraph(run);
  }
  const known = needsCredential(run) ? await credential() : undefined;
  const jwt = known?.kind === 'jwt' ? known : undefined;
  // A cached JWT is found whatever lifetime was typed, so that is refused here.
  if (jwt && isOfProvider(jwt.principal)) refuseLifetime(run, jwt.label);
  const cache = await tokenCache(run, await run.stores.forMinting(), known ?? ownerNamed(run));
  const minter: Minter = {
    prepare: async () => {
      const found = await credential();
      // Nobody is asked for a JWT that the server would not take: a provider's answer may be good only once.
      if (found.kind === 'jwt') await (await minting()).requireJwtServer(run);
      // An identity provider is asked under the lock.
      if (!isOfProvider(found.reference)) await found.read();
    },
    mint: async (unique) => (await minting()).mintToken(run, await credential(), { unique }),
    interruption: ports.interruption,
  };
  /** Returns a cached token, or mints one and caches it. What is given here goes before the settings of the run. */
  const obtain = async (wanted: Partial<Wanted> = {}): Promise<CachedToken> => {
    if (jwt && isTokenItself(jwt))
      return { ...(await (await minting()).jwtAsToken(run, jwt)), source: 'identity' };
    const token = await obtainToken(
      cache,
      { minTtl: settings.minTtl, freshSince: undefined, ...wanted },
      minter,
    );
    return jwt ? { ...token, source: 'identity' } : token;
  };
  return { credential, cache, obtain };
}

/** Mints the tokens of one credential. */
export interface Minter {
  /** Fetches the credential, which may need a prompt or a program. No lock is held meanwhile. */
  prepare(): Promise<void>;
  /**
   * Asks the server; loads the HTTP code, which a waiting process does not need.
   * @param unique no other process may get the same token
   */
  mint(unique: boolean): Promise<NewToken>;
  readonly interruption: Interruption;
}

/**
 * Returns a cached token, or mints one and caches it: exactly one, however many processes ask at once. From the mint on,
 * a signal is waited out: a request that is broken off may have made a token that nobody knows, which is said. A request
 * to an identity provider is let end, for its refresh token may work only once.
 * @throws GraphException the error of the mint, of a required store, or of the lock
 * @throws Interrupted
 */
export async function obtainToken(
  cache: TokenCache,
  wanted: Wanted,
  { prepare, mint, interruption }: Minter,
): Promise<CachedToken> {
  const cached = await cache.find(wanted);
  if (cached) return cached;
  await prepare();
  return untilInterrupted(interruption, () =>
    cache.whileLocked(wanted, async (lock) => {
      // The process that had the lock before may have minted the token.
      const theirs = await cache.find(wanted);
      if (theirs) return theirs;
      interruption.begin();
      const unique = wanted.freshSince !== undefined && !cache.keepsTokens;
      const minted = await mint(unique).catch((error) => tellRefusal(lock, error));
      await cache.keep(minted, lock);
      return { ...minted, source: 'server' };
    }),
  );
}

/** Tells the processes that wait for the lock when the server refuses. */
async function tellRefusal(lock: Lock, error: unknown): Promise<never> {
  const isRefusal = error instanceof GraphException && /^(?:AUTH_FAILED|PERMISSION_DENIED)$/.test(error.code);
  if (isRefusal) await lock.refuse(error);
  throw error;
}
