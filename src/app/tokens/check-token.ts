import { findCredential, needsCredential } from '../../auth/choose.js';
import { bind, connect } from '../../auth/connect.js';
import { type Credential, isTokenItself } from '../../auth/credential.js';
import { tokenFromStdin, tokenFromVariable, UNSET_VARIABLE } from '../../auth/read.js';
import type { Run } from '../../auth/run.js';
import { type Fix, GraphException } from '../../core/errors.js';
import type { Sensitive } from '../../core/sensitive.js';
import type { Store, TokenRecord } from '../../store/store.js';
import { ownerNamed, readCached, type TokenCache, tokenCache } from './token-cache.js';

const NEW_JWT =
  'get a new one from the identity provider, or ask the operator which key, issuer and audience the server has';

/** The token that a run has without asking for one: the JWT of an identity provider, or the record of a cached token. */
export interface TokenAtHand {
  readonly jwt?: Credential;
  readonly record?: TokenRecord | undefined;
  /** That of its owner. */
  readonly cache?: TokenCache | undefined;
  read(): Promise<Sensitive | undefined>;
}

/**
 * Returns the JWT of the run, else the cached token of its owner that ends last, whatever lifetime was asked for: of the
 * label, or of the credential.
 */
export async function tokenAtHand(
  run: Run,
  store: Store,
  credential: Credential | undefined,
): Promise<TokenAtHand> {
  if (credential && isTokenItself(credential)) return { jwt: credential, read: () => bind(credential) };
  const { username } = run.settings;
  const principal = credential?.principal ?? run.settings.tokenLabel ?? (username && `user:${username}`);
  if (principal === undefined) return { read: async () => undefined };
  const cache = await tokenCache(run, store, ownerNamed(run, principal));
  const [current] = await cache.records();
  return {
    record: current?.record,
    cache,
    read: async () => current && readCached(current.store, current.record),
  };
}

/**
 * Asks the server whether it accepts the token on standard input, else that in `TG_API_TOKEN`, else the one at hand. A
 * cached token that it refuses is deleted.
 * @returns why the server does not accept it
 * @throws GraphException NOT_FOUND without a token; INPUT_REQUIRED, HOST_MISMATCH, USAGE
 */
export async function checkToken(run: Run): Promise<GraphException | undefined> {
  const store = await run.stores.chosen();
  const typed = await tokenFromStdin(run);
  const given = typed ?? tokenFromVariable(run);
  const credential = !given && needsCredential(run) ? await findCredential(run, 'mint', store) : undefined;
  const own = given ? undefined : await tokenAtHand(run, store, credential);
  const token = given ?? (await own?.read());
  if (!token) {
    throw new GraphException('NOT_FOUND', 'This machine holds no token to check.', {
      hint: ['get one', { command: 'token get' }],
    });
  }
  const { connection } = await connect(run, undefined);
  const { accepted, refusal } = await connection.checkToken(token);
  if (accepted) return undefined;
  await own?.cache?.deleteRefused(token);
  if (own?.jwt && refusal?.code === 'AUTH_FAILED') return refusal;
  const message = refusal?.message ?? 'The server does not accept the token.';
  const next: Fix[] = own?.jwt ? [NEW_JWT] : ['get a new one', { command: 'token get --fresh' }];
  const fix = given && !typed ? [UNSET_VARIABLE, ...next] : next;
  return new GraphException('AUTH_FAILED', message, { fix });
}
