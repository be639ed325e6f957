import type { Call } from '../auth/call.js';
import { findCredential, isJwtSet } from '../auth/choose.js';
import { type Credential, ownerInfo } from '../auth/credential.js';
import { isOfProvider } from '../auth/oidc/settings.js';
import { Interrupted, type Interruption } from '../auth/ports.js';
import { serversInForce, serversOfRecord } from '../auth/servers.js';
import { chooseStore, fallbackOf, isStoreRequired } from '../auth/stores.js';
import type { GraphException } from '../core/errors.js';
import { BoundCredential, type Sensitive } from '../core/sensitive.js';
import { STORES, type Store, type StoreRecord } from '../store/store.js';
import { acquireToken } from './acquire-token.js';
import {
  type CachedToken,
  cachedTokens,
  forgetToken,
  type Identity,
  isReplaced,
  type Wanted,
} from './token-cache.js';

/** Gives tokens to a run that may need more than one. */
export interface TokenSource {
  /** Returns a cached token, or mints one and caches it. What is given here goes before the settings of the call. */
  obtain(wanted?: Partial<Wanted>): Promise<CachedToken>;
  /**
   * Deletes a token from the store, unless another process has replaced it meanwhile. Returns the error if it could not
   * be deleted.
   */
  forget(token: Sensitive): Promise<GraphException | undefined>;
  /** Returns what the tokens are minted with. */
  credential(): Promise<Credential>;
}

/** Returns the token of this call: the cached one, or a new one that is then cached. */
export async function obtainToken(call: Call, options: { fresh: boolean }): Promise<CachedToken> {
  return (await tokenSource(call)).obtain({ freshSince: options.fresh ? call.ports.startedAt : undefined });
}

export async function tokenSource(call: Call): Promise<TokenSource> {
  const { principal: label } = call;
  const store = await chooseStore(call);
  const fallback = await fallbackOf(call);
  let found: Promise<Credential> | undefined;
  const credential = () => {
    found ??= findCredential(call, 'mint', async () => store);
    return found;
  };
  // A token minted with a password belongs to a graph on 3.x, and the graph is part of its identity.
  if (call.canPrompt && call.graph === undefined && (await credential()).kind === 'password') {
    const { askGraph } = await import('../auth/prompts.js');
    await askGraph(call);
  }
  // With a label the token may have been minted by another machine, so a credential is needed only to mint.
  const own = label === undefined || (await isJwtSet(call)) ? await credential() : undefined;
  const whose = own ?? { principal: label as string, username: call.username, owner: label as string };
  // A cached JWT is found whatever lifetime was typed, so that is refused here.
  if (own && isOfProvider(own.principal) && call.settings.all.lifetime[0]?.level === 'flag')
    (await jwts()).refuseLifetime(call, own.label);
  const identity = await identityOf(call, whose.principal);
  return {
    credential,
    obtain: async (wanted = {}) => {
      // Only a program's answer is cached: a file may hold another JWT by now.
      if (own?.kind === 'jwt' && !own.isFromProgram)
        return { ...(await (await jwts()).identityToken(call, own)), source: 'identity' };
      const token = await obtainFrom({ store, fallback, credential, identity, whose }, call, wanted);
      return own?.kind === 'jwt' ? { ...token, source: 'identity' } : token;
    },
    forget: async (token) => {
      for (const record of await cachedTokens(store, identity)) {
        const failure = await forgetToken(store, record, token);
        if (failure) return failure;
      }
      return undefined;
    },
  };
}

/** Loaded for the JWT of an identity provider only. */
const jwts = () => import('./identity-token.js');

/** Where the tokens of a call are cached, and what they are minted with. */
interface Origin extends Pick<TokenSource, 'credential'> {
  readonly store: Store;
  readonly fallback: Store | undefined;
  readonly identity: Omit<Identity, 'lifetime'>;
  readonly whose: Pick<Credential, 'username' | 'owner'>;
}

/** Returns a cached token, or mints one and caches it. */
async function obtainFrom(
  { store, fallback, credential, identity, whose }: Origin,
  call: Call,
  wanted: Partial<Wanted>,
): Promise<CachedToken> {
  let interruption: Interruption | undefined;
  const token = await acquireToken(
    {
      identity: { ...identity, lifetime: isOfProvider(identity.principal) ? 0 : call.lifetime },
      host: call.target.host,
      owner: ownerInfo(whose),
      minTtl: call.minTtl,
      freshSince: undefined,
      ...wanted,
      storeRequired: isStoreRequired(call),
      waitMs: call.timeoutMs + 5000,
    },
    {
      store,
      fallback,
      now: call.ports.now,
      warn: call.ports.reporter.warn,
      prepare: async () => {
        const own = await credential();
        // Nobody is asked for a JWT that the server would not take: a provider's answer may be good only once.
        if (own.kind === 'jwt') await (await jwts()).requireJwtServer(call);
        if (own.readInTurn !== true) await own.value();
      },
      mint: async () => {
        const own = await credential();
        if (own.kind === 'jwt') return (await jwts()).identityToken(call, own);
        const { mintInterruptibly } = await import('./mint-token.js');
        // A new token that no store shares is this call's alone, and may be revoked.
        const unique = wanted.freshSince !== undefined && !STORES[store.name].keeps.tokens;
        const minted = await mintInterruptibly(call, own, unique);
        interruption = minted.interruption;
        return minted.token;
      },
    },
  );
  if (interruption?.status === undefined) return token;
  throw new Interrupted(interruption.status, undefined, 'Interrupted; the token is minted.');
}

/**
 * Returns the identity of the call's tokens: the pair of base URLs and the graph in force, and the owner of the
 * credential.
 */
export async function identityOf(call: Call, principal: string): Promise<Omit<Identity, 'lifetime'>> {
  return {
    ...(await serversInForce(call)),
    graph: isOfProvider(principal) ? undefined : call.graph,
    principal,
  };
}

/** Returns the cached token that expires last, with any lifetime. */
export async function lastCached(
  call: Call,
  store: Store,
  principal: string,
): Promise<StoreRecord | undefined> {
  return (await cachedTokens(store, await identityOf(call, principal))).find((record) => !isReplaced(record));
}

/** Reads a cached token and binds it to the pair of base URLs it was minted for. */
export async function readCached(store: Store, record: StoreRecord): Promise<BoundCredential | undefined> {
  const token = await store.read(record);
  const servers = serversOfRecord(record);
  return token && servers && new BoundCredential(token, servers);
}
