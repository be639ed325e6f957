import { pickCredential } from '../../auth/choose.js';
import { bind, connect } from '../../auth/connect.js';
import { isTokenItself, type Owner } from '../../auth/credential.js';
import { tokenFromStdin, tokenFromVariable, UNSET_VARIABLE } from '../../auth/read.js';
import type { Run } from '../../auth/run.js';
import { type Fix, GraphException } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import type { Sensitive } from '../../core/sensitive.js';
import type { Store } from '../../store/store.js';
import { deleteRefused } from './keep-token.js';
import { ownTokens, readCached, tokenCache } from './token-cache.js';

const NEW_JWT =
  'get a new one from the identity provider, or ask the operator which key, issuer and audience the server has';

/** The token that a run has without asking for one: the JWT of an identity provider, or a cached token. */
export interface TokenAtHand {
  readonly isJwt: boolean;
  /** When it ends; undefined when there is none, or a JWT that does not say it. */
  readonly expiresAtUnix: number | undefined;
  read(): Promise<Sensitive | undefined>;
  /** Deletes it here, when the server refuses it. */
  forget(token: Sensitive): Promise<void>;
}

/** Returns the JWT of the run, else the cached token of its owner that ends last, whatever lifetime was asked for. */
export async function tokenAtHand(run: Run, store: Store, owner: Owner): Promise<TokenAtHand> {
  if (isTokenItself(owner)) {
    const token = await bind(owner);
    const expiresAtUnix = readClaims(token)?.exp;
    return { isJwt: true, expiresAtUnix, read: async () => token, forget: async () => {} };
  }
  const cache = await tokenCache(run, store, owner);
  const [current] = await ownTokens(cache);
  return {
    isJwt: false,
    expiresAtUnix: current?.record.expiresAtUnix,
    read: async () => current && readCached(current),
    forget: (token) => deleteRefused(cache, token),
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
  const own = given ? undefined : await tokenAtHand(run, store, (await pickCredential(run, store)).owner);
  const token = given ?? (await own?.read());
  if (!token)
    throw new GraphException('NOT_FOUND', 'This machine holds no token to check.', {
      hint: ['get one', { command: 'token get' }],
    });
  const { connection } = await connect(run, undefined);
  const { accepted, refusal } = await connection.checkToken(token);
  if (accepted) return undefined;
  await own?.forget(token);
  if (own?.isJwt && refusal?.code === 'AUTH_FAILED') return refusal;
  const message = refusal?.message ?? 'The server does not accept the token.';
  const next: Fix[] = own?.isJwt ? [NEW_JWT] : ['get a new one', { command: 'token get --fresh' }];
  const fix = given && !typed ? [UNSET_VARIABLE, ...next] : next;
  return new GraphException('AUTH_FAILED', message, { fix });
}
