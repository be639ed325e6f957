import { findCredential, needsCredential, refuseLifetime } from '../../auth/choose.js';
import { isTokenItself, once } from '../../auth/credential.js';
import { isOfProvider } from '../../auth/oidc/settings.js';
import { graphOf, type Run } from '../../auth/run.js';
import { expected } from '../../core/errors.js';
import { STORES } from '../../store/store.js';
import { ownerNamed, type Token, tokenCache, type Wanted } from './token-cache.js';

/** Loaded for a new token, or the JWT of an identity provider. */
const minting = () => import('./mint-token.js');

/** Returns the token of this run: the cached one, or a new one that is then cached. */
export async function getToken(run: Run, wanted?: Partial<Wanted>): Promise<Token> {
  return (await tokenSource(run)).obtain(wanted);
}

export type TokenSource = Awaited<ReturnType<typeof tokenSource>>;

/** Returns what gives tokens to a run that may need more than one: its credential, its cache, and `obtain`. */
export async function tokenSource(run: Run) {
  const { settings, ports } = run;
  const credential = once(() => findCredential(run, 'mint'));
  // A token minted with a password belongs to a graph on 3.x, and the graph is part of its identity.
  if (ports.canPrompt && graphOf(run) === undefined && (await credential()).kind === 'password') {
    const { askNeededGraph } = await import('../../auth/prompts.js');
    await askNeededGraph(run);
  }
  const known = needsCredential(run) ? await credential() : undefined;
  const jwt = known?.kind === 'jwt' ? known : undefined;
  if (jwt) refuseLifetime(run, jwt.label);
  const store = await run.stores.chosen({ mints: true });
  const cache = await tokenCache(run, store, known ?? ownerNamed(run));
  const prepare = async () => {
    const found = await credential();
    if (found.kind === 'jwt') {
      refuseLifetime(run, found.label);
      // Nobody is asked for a JWT that the server would not take: a provider's answer may be good only once.
      await (await minting()).requireJwtServer(run);
    }
    // An identity provider is asked under the lock.
    if (!isOfProvider(found.reference)) await found.read();
  };
  const getOrMint = async (wanted: Partial<Wanted>): Promise<Token> => {
    if (jwt && isTokenItself(jwt)) return (await minting()).jwtAsToken(run, jwt);
    const { minTtl = settings.minTtl, freshSince } = wanted;
    const mint = async () => {
      const unique = freshSince !== undefined && !STORES[store.name].keeps.tokens;
      return (await minting()).mintToken(run, await credential(), { unique });
    };
    const token = await cache.obtain({ minTtl, freshSince }, { prepare, mint });
    return jwt ? { ...token, source: 'identity' } : token;
  };
  /**
   * Returns a cached token, or mints one and caches it. What is given here goes before the settings of the run. If the
   * server refuses a saved secret that a rotation has replaced meanwhile, the new one is used.
   */
  const obtain = async (wanted: Partial<Wanted> = {}): Promise<Token> => {
    try {
      return await getOrMint(wanted);
    } catch (error) {
      const { level, principal } = await credential();
      if (expected(error).code !== 'AUTH_FAILED' || level !== 'store') throw error;
      const now = await tokenSource(run);
      if ((await now.credential()).principal === principal) throw error;
      return now.obtain(wanted);
    }
  };
  return { credential, cache, obtain };
}
