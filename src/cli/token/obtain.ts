import type { GraphException } from '../../core/errors.js';
import { BoundCredential, type Sensitive } from '../../core/sensitive.js';
import type { Credential } from '../../credentials/resolve.js';
import type { Store, StoreRecord } from '../../store/store.js';
import { acquireToken } from '../../tokens/acquire.js';
import { type CachedToken, cachedTokens, forgetToken, type Identity } from '../../tokens/cache.js';
import { serversInForce, serversOfRecord } from '../session/binding.js';
import { askGraph } from '../session/connect.js';
import { findCredential } from '../session/credential.js';
import { chooseStore, fallbackOf, isStoreRequired } from '../session/store.js';
import type { Session } from '../session/types.js';

/** The source of tokens for a call that may need more than one. */
export interface TokenSource {
  /** Cached, or minted once and cached. */
  obtain(options?: { fresh: boolean }): Promise<CachedToken>;
  /** Forgets a held token here, unless another process has replaced it meanwhile. Why it stays, if it does. */
  forget(token: Sensitive): Promise<GraphException | undefined>;
}

/** The token of this session: cached, or minted once and cached. */
export async function obtainToken(session: Session, options: { fresh: boolean }): Promise<CachedToken> {
  return (await tokenSource(session)).obtain(options);
}

export async function tokenSource(session: Session): Promise<TokenSource> {
  const { invocation, lifetime, minTtl, target, principal: label } = session;
  const { ctx, report } = invocation;
  const store = await chooseStore(session);
  const fallback = await fallbackOf(session);
  let found: Promise<Credential> | undefined;
  const credential = () => {
    found ??= findCredential(session, 'mint', async () => store);
    return found;
  };
  // A token minted with a password belongs to a graph on 3.x, and the graph is part of its identity.
  if (session.canPrompt && session.graph === undefined && (await credential()).kind === 'password')
    await askGraph(session);
  // Under a label the token may be another machine's, so that this one needs no credential until it has to mint.
  const base = await identityOf(session, label ?? (await credential()).principal);
  return {
    obtain: ({ fresh } = { fresh: false }) =>
      acquireToken(
        {
          identity: { ...base, lifetime },
          host: target.host,
          minTtl,
          freshSince: fresh ? ctx.startedAt : undefined,
          storeRequired: isStoreRequired(session),
          waitMs: session.timeoutMs + 5000,
        },
        {
          store,
          fallback,
          now: ctx.now,
          warn: report.warn,
          prepare: async () => {
            await (await credential()).value();
          },
          mint: async () => {
            const { mintFor } = await import('./mint.js');
            return mintFor(session, await credential());
          },
        },
      ),
    forget: async (token) => {
      for (const record of await cachedTokens(store, base)) {
        const failure = await forgetToken(store, record, token);
        if (failure) return failure;
      }
      return undefined;
    },
  };
}

/** Whose tokens these are: the pair of base URLs and the graph in force, and the owner of the credential. */
export async function identityOf(session: Session, principal: string): Promise<Omit<Identity, 'lifetime'>> {
  return { ...(await serversInForce(session)), graph: session.graph, principal };
}

/** The cached token that expires last, with any lifetime. */
export async function lastCached(
  session: Session,
  store: Store,
  principal: string,
): Promise<StoreRecord | undefined> {
  return (await cachedTokens(store, await identityOf(session, principal)))[0];
}

/** A cached token, fit to be sent to the pair of base URLs it was minted for and nowhere else. */
export async function readCached(store: Store, record: StoreRecord): Promise<BoundCredential | undefined> {
  const token = await store.read(record);
  const servers = serversOfRecord(record);
  return token && servers && new BoundCredential(token, servers);
}
