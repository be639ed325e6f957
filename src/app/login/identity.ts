import type { Call } from '../../auth/call.js';
import { connect } from '../../auth/connect.js';
import { type Oidc, oidcOf, providerPrincipal } from '../../auth/oidc/settings.js';
import { GraphException } from '../../core/errors.js';
import type { Store, StoreRecord } from '../../store/store.js';
import { identityToken, requireJwtServer } from '../identity-token.js';
import { saveCredential } from '../saved-secrets.js';
import { identityOf, type NewToken, storeToken } from '../token-cache.js';
import type { SignedIn, SignInOptions } from './sign-in.js';

/** A login whose token the database has accepted. */
export interface ProvenLogin extends SignedIn {
  readonly jwt: NewToken;
}

/**
 * Lets a person sign in, and asks the database whether it takes the token. Nothing is stored.
 * @throws GraphException UNSUPPORTED before anybody signs in; AUTH_FAILED
 */
export async function proveSignedIn(call: Call, oidc: Oidc, how: SignInOptions): Promise<ProvenLogin> {
  await requireJwtServer(call);
  const { signIn } = await import('./sign-in.js');
  const signedIn = await signIn(call, oidc, how);
  const { sub, token } = signedIn;
  const { issuer } = oidc;
  const [typed] = call.settings.all.username;
  if (typed?.level === 'flag' && typed.value !== sub)
    throw new GraphException('AUTH_FAILED', `${sub} has logged in at ${issuer}, not ${typed.value}.`, {
      hint: 'log out there in the browser, or leave --username out',
    });
  const jwt = await identityToken(call, { label: issuer, value: async () => token });
  const { connection } = await connect(call, undefined);
  const { accepted, refusal } = await connection.checkToken(token);
  if (accepted) return { ...signedIn, jwt };
  if (refusal?.code === 'AUTH_FAILED') throw refusal;
  throw new GraphException(
    'AUTH_FAILED',
    `The database does not accept the token of ${sub} from ${issuer}.`,
    {
      hint: 'its operator has to set the key, the issuer and a user of that name: see docs/identity.md',
    },
  );
}

/** Revokes a saved login at its provider. It is deleted here all the same when the provider is away. */
export async function endLogin(call: Call, record: StoreRecord, home: Store): Promise<void> {
  const { issuer, clientId, username } = record.info;
  const set = oidcOf(call);
  const own = set?.issuer === issuer && set?.clientId === clientId ? set : undefined;
  const { note, warn } = call.ports.reporter;
  try {
    const { revokeLogin } = await import('../../auth/oidc/renew.js');
    const oidc = own ?? { issuer: String(issuer), clientId: String(clientId) };
    if (!(await revokeLogin(call, oidc, record, home)))
      note(`${issuer} offers no way to revoke the login of ${username}; it is deleted here only`);
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    warn(`the login of ${username} is not revoked at ${issuer}: ${error.message}`);
  }
}

/** Stores a login, and its first token for the next command. */
export async function keepLogin(call: Call, oidc: Oidc, store: Store, login: ProvenLogin): Promise<void> {
  const { issuer, clientId } = oidc;
  const { sub: username, jwt } = login;
  await saveCredential(call, store, {
    kind: 'login',
    key: `login of ${JSON.stringify([username, issuer, clientId])}`,
    info: { username, issuer, clientId },
    value: login.login,
  });
  const identity = { ...(await identityOf(call, providerPrincipal(oidc, username))), lifetime: 0 };
  const { now, reporter } = call.ports;
  const { host } = call.target;
  await storeToken({ identity, host, owner: { username }, store, now, warn: reporter.warn }, jwt);
}
