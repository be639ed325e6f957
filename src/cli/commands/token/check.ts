import { deleteRefused, lastCached, readCached } from '../../../app/token-cache.js';
import { findCredential, isJwtSet } from '../../../auth/choose.js';
import { bind, connect } from '../../../auth/connect.js';
import { tokenFromStdin, tokenFromVariable, tokenFromVariableOr } from '../../../auth/given-token.js';
import { chooseReadableStore } from '../../../auth/stores.js';
import { GraphException } from '../../../core/errors.js';
import { type BoundCredential, type Sensitive, sensitiveOf } from '../../../core/sensitive.js';
import type { Store, StoreRecord } from '../../../store/store.js';
import type { Invocation } from '../../command.js';
import type { Session } from '../../session.js';
import { openSession } from '../../session.js';

/** Runs `graphcred token check`. */
export async function run(invocation: Invocation): Promise<number> {
  const { report } = invocation;
  const session = await openSession(invocation);
  const store = await chooseReadableStore(session, { needed: true });
  const given = (await tokenFromStdin(session)) ?? (await tokenFromVariable(session));
  const own = given ? undefined : await tokenFromVariableOr(session, () => ownToken(session, store));
  const token = given ?? own?.token;
  const record = own?.record;
  if (!token) {
    throw new GraphException('NOT_FOUND', 'This machine holds no token to check.', {
      hint: 'get one: graphcred token get',
    });
  }
  const { connection } = await connect(session, undefined);
  const { accepted, refusal } = await connection.checkToken(token);
  if (report.json) report.document({ accepted });
  else if (accepted) report.result('The server accepts the token.');
  if (accepted) return 0;
  const failure = record && (await deleteRefused(session, store, record, sensitiveOf(token)));
  if (own?.isJwt && refusal?.code === 'AUTH_FAILED') throw refusal;
  throw new GraphException('AUTH_FAILED', 'The server does not accept the token.', {
    hint: failure
      ? 'get a new one: graphcred token get --fresh'
      : adviseNext(sensitiveOf(token), own?.isJwt === true, record !== undefined),
  });
}

function adviseNext(token: Sensitive, isJwt: boolean, isForgotten: boolean): string {
  if (isJwt)
    return 'get a new one from the identity provider, or ask the operator which key, issuer and audience the server has';
  if (isForgotten) return 'it is forgotten here; get a new one: graphcred token get';
  const guess = looksLikeSecret(token)
    ? 'this looks like a secret; mint a token from it: graphcred token get --secret-stdin; or '
    : '';
  return `${guess}get a new one: graphcred token get`;
}

/** Whether this is 32 of `[a-z0-9]`, as secrets are; a token of 3.x looks the same. */
function looksLikeSecret(token: Sensitive): boolean {
  return /^[a-z0-9]{32}$/.test(token.reveal());
}

interface OwnToken {
  readonly token: Sensitive | BoundCredential | undefined;
  /** The record of a cached token. */
  readonly record?: StoreRecord | undefined;
  readonly isJwt?: boolean;
}

/**
 * Returns the JWT at hand, else the cached token of this run's owner: the label, else the owner of the credential.
 * @throws GraphException INPUT_REQUIRED, HOST_MISMATCH, USAGE
 */
async function ownToken(session: Session, store: Store): Promise<OwnToken> {
  let { principal } = session;
  if (principal === undefined || (await isJwtSet(session))) {
    const credential = await findCredential(session, 'mint', async () => store);
    if (credential.kind === 'jwt' && !credential.isFromProgram)
      return { token: await bind(credential), isJwt: true };
    ({ principal } = credential);
  }
  const record = await lastCached(session, store, principal);
  return { record, token: record && (await readCached(store, record)) };
}
