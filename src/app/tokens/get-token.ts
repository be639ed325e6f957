import { findCredential, isJwtSet, refuseLifetime } from '../../auth/choose.js';
import { type Credential, once } from '../../auth/credential.js';
import { isOfProvider } from '../../auth/oidc/settings.js';
import { type Interruption, untilInterrupted } from '../../auth/ports.js';
import { graphOf, type Run } from '../../auth/run.js';
import { GraphException } from '../../core/errors.js';
import type { Sensitive } from '../../core/sensitive.js';
import type { Lock } from '../../store/store.js';
import { type CachedToken, type NewToken, type TokenCache, tokenCache, type Wanted } from './token-cache.js';

/** Gives tokens to a run that may need more than one. */
export interface TokenSource {
  /** Returns a cached token, or mints one and caches it. What is given here goes before the settings of the run. */
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

/** Returns the token of this run: the cached one, or a new one that is then cached. */
export async function getToken(run: Run, options: { fresh: boolean }): Promise<CachedToken> {
  return (await tokenSource(run)).obtain({ freshSince: options.fresh ? run.ports.startedAt : undefined });
}

export async function tokenSource(run: Run): Promise<TokenSource> {
  const { settings, ports } = run;
  const { label } = settings;
  const store = await run.stores.own();
  const credential = once(() => findCredential(run, 'mint', store));
  // A token minted with a password belongs to a graph on 3.x, and the graph is part of its identity.
  if (ports.canPrompt && graphOf(run) === undefined && (await credential()).kind === 'password') {
    const { askGraph } = await import('../../auth/prompts.js');
    await askGraph(run);
  }
  // With a label the token may have been minted by another machine, so a credential is needed only to mint.
  const own = label === undefined || isJwtSet(run) ? await credential() : undefined;
  const whose = own ?? { principal: label as string, username: settings.username, owner: label as string };
  // A cached JWT is found whatever lifetime was typed, so that is refused here.
  if (own && isOfProvider(own.principal)) refuseLifetime(run, own.label);
  const cache = await tokenCache(run, store, whose);
  const minter: Minter = {
    prepare: async () => {
      const own = await credential();
      // Nobody is asked for a JWT that the server would not take: a provider's answer may be good only once.
      if (own.kind === 'jwt') await (await minting()).requireJwtServer(run);
      if (own.readUnderLock !== true) await own.read();
    },
    mint: async (unique) => (await minting()).mintFor(run, await credential(), unique),
    interruption: ports.interruption,
  };
  return {
    credential,
    obtain: async (wanted = {}) => {
      // Only a program's answer is cached: a file may hold another JWT by now.
      if (own?.kind === 'jwt' && own.reference === undefined)
        return { ...(await (await minting()).identityToken(run, own)), source: 'identity' };
      const token = await obtainToken(
        cache,
        { minTtl: settings.minTtl, freshSince: undefined, ...wanted },
        minter,
      );
      return own?.kind === 'jwt' ? { ...token, source: 'identity' } : token;
    },
    delete: (token) => cache.deleteRefused(token),
  };
}

/** Mints the tokens of one credential. */
export interface Minter {
  /** Fetches the credential, which may need a prompt or a program. No lock is held meanwhile. */
  prepare(): Promise<void>;
  /**
   * Asks the server; loads the HTTP code, which a waiting process does not need.
   * @param unique the token is this run's alone, and may be revoked
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
      let token = await cache.findInFallback(wanted);
      if (!token) {
        interruption.begin();
        const unique = wanted.freshSince !== undefined && !cache.keepsTokens;
        const minted = await mint(unique).catch((error) => tellRefusal(lock, error));
        token = { ...minted, source: 'server' };
      }
      await cache.keep(token, lock);
      return token;
    }),
  );
}

/** Tells the processes that wait for the lock when the server refuses. */
async function tellRefusal(lock: Lock, error: unknown): Promise<never> {
  const isRefusal = error instanceof GraphException && /^(?:AUTH_FAILED|PERMISSION_DENIED)$/.test(error.code);
  if (isRefusal) await lock.refuse(error);
  throw error;
}
