import { pickCredential } from '../../auth/choose.js';
import { isTokenItself } from '../../auth/credential.js';
import { minTtlFor } from '../../auth/oidc/settings.js';
import { expected } from '../../core/errors.js';
import { graphOf, type Run } from '../../run/run.js';
import { findToken, type Token, tokenCache, type Wanted } from './token-cache.js';

/** Loaded for a new token, or the JWT of an identity provider. */
const minting = () => import('./new-token.js');

export async function getToken(run: Run, wanted?: Partial<Wanted>): Promise<Token> {
  return (await tokenSource(run)).obtain(wanted);
}

export type TokenSource = Awaited<ReturnType<typeof tokenSource>>;

/** Returns what gives tokens to a run that may need more than one: its credential, its cache, and `obtain`. */
export async function tokenSource(run: Run) {
  const { ports } = run;
  const { owner, credential } = await pickCredential(run);
  // A token minted with a password belongs to a graph on 3.x, and the graph is part of its identity.
  if (ports.canPrompt && graphOf(run) === undefined && 'kind' in owner && owner.kind === 'password') {
    const { askNeededGraph } = await import('../../auth/prompts.js');
    await askNeededGraph(run);
  }
  const cache = await tokenCache(run, await run.stores.chosen({ mints: true }), owner);
  /** Returns a cached token, or mints one and caches it. What is given here goes before the settings of the run. */
  const obtain = async ({
    minTtl = minTtlFor(run, owner.principal),
    freshSince,
  }: Partial<Wanted> = {}): Promise<Token> => {
    if (isTokenItself(owner)) return (await minting()).jwtAsToken(run, owner);
    const wanted = { minTtl, freshSince, askedAt: ports.now() };
    const cached = await findToken(cache, wanted);
    if (cached) return cached;
    return (await minting()).mintAndKeep(cache, await credential(), wanted).catch(async (error) => {
      const { level, reference } = await credential();
      if (expected(error).code !== 'AUTH_FAILED' || level !== 'store') throw error;
      // A rotation may have replaced the saved secret that the server refuses.
      const renewed = await tokenSource(run);
      if ((await renewed.credential()).reference === reference) throw error;
      return renewed.obtain(wanted);
    });
  };
  return { credential, cache, obtain };
}
