import type { GraphException } from '../../core/errors.js';
import { BoundCredential, type Sensitive } from '../../core/sensitive.js';
import { type Credential, ownerInfo } from '../../credentials/resolve.js';
import type { Store, StoreRecord } from '../../store/store.js';
import { acquireToken } from '../../tokens/acquire.js';
import {
  type CachedToken,
  cachedTokens,
  forgetToken,
  type Identity,
  isReplaced,
} from '../../tokens/cache.js';
import type { Interruption } from '../command.js';
import { EndOfSignal, endOfInterrupted } from '../output/report.js';
import { serversInForce, serversOfRecord } from '../session/binding.js';
import { findCredential } from '../session/credential.js';
import { chooseStore, fallbackOf, isStoreRequired } from '../session/store.js';
import type { Session } from '../session/types.js';

/** Gives tokens to a run that may need more than one. */
export interface TokenSource {
  /** Returns a cached token, or mints one and caches it. */
  obtain(options?: { fresh: boolean }): Promise<CachedToken>;
  /**
   * Deletes a token from the store, unless another process has replaced it meanwhile. Returns the error if it could not
   * be deleted.
   */
  forget(token: Sensitive): Promise<GraphException | undefined>;
}

/** Returns the token of this session: the cached one, or a new one that is then cached. */
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
  if (session.canPrompt && session.graph === undefined && (await credential()).kind === 'password') {
    const { askGraph } = await import('../session/prompts.js');
    await askGraph(session);
  }
  // With a label the token may have been minted by another machine, so a credential is needed only to mint.
  const whose =
    label === undefined ? await credential() : { principal: label, username: session.username, owner: label };
  const base = await identityOf(session, whose.principal);
  return {
    obtain: async ({ fresh } = { fresh: false }) => {
      let interruption: Interruption | undefined;
      const token = await acquireToken(
        {
          identity: { ...base, lifetime },
          host: target.host,
          owner: ownerInfo(whose),
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
            const { mintInterruptibly } = await import('./mint.js');
            const minted = await mintInterruptibly(session, await credential());
            interruption = minted.interruption;
            return minted.token;
          },
        },
      );
      if (interruption?.status === undefined) return token;
      report.error(endOfInterrupted(undefined, 'Interrupted; the token is minted.'), interruption.status);
      throw new EndOfSignal(interruption.status);
    },
    forget: async (token) => {
      for (const record of await cachedTokens(store, base)) {
        const failure = await forgetToken(store, record, token);
        if (failure) return failure;
      }
      return undefined;
    },
  };
}

/**
 * Returns the identity of the session's tokens: the pair of base URLs and the graph in force, and the owner of the
 * credential.
 */
export async function identityOf(session: Session, principal: string): Promise<Omit<Identity, 'lifetime'>> {
  return { ...(await serversInForce(session)), graph: session.graph, principal };
}

/** Returns the cached token that expires last, with any lifetime. */
export async function lastCached(
  session: Session,
  store: Store,
  principal: string,
): Promise<StoreRecord | undefined> {
  return (await cachedTokens(store, await identityOf(session, principal))).find(
    (record) => !isReplaced(record),
  );
}

/** Reads a cached token and binds it to the pair of base URLs it was minted for. */
export async function readCached(store: Store, record: StoreRecord): Promise<BoundCredential | undefined> {
  const token = await store.read(record);
  const servers = serversOfRecord(record);
  return token && servers && new BoundCredential(token, servers);
}
