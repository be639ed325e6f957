import { refuseLifetime } from '../../auth/choose.js';
import { connect } from '../../auth/connect.js';
import { chooseToken, type Tokens } from '../../auth/oidc/provider.js';
import { loginValue } from '../../auth/oidc/saved-login.js';
import { type Oidc, oidcOf, oidcSettings, providerPrincipal } from '../../auth/oidc/settings.js';
import { type SignInOptions, signIn } from '../../auth/oidc/sign-in.js';
import { CREDENTIAL_KEYS, SETTINGS, type SourcedValue } from '../../config/keys.js';
import { isOn } from '../../config/settings.js';
import { describeLeftOut } from '../../config/target.js';
import type { ProfileToWrite } from '../../config/write.js';
import { GraphException, type Hint, usageError } from '../../core/errors.js';
import { pathOf } from '../../run/ports.js';
import type { Run } from '../../run/run.js';
import type { Store } from '../../store/store.js';
import { saveCredential } from '../secrets/save-credential.js';
import { keepToken } from '../tokens/keep-token.js';
import { jwtAsToken, requireJwtServer } from '../tokens/new-token.js';
import { tokenCache } from '../tokens/token-cache.js';
import { type LoggedIn, usableStore } from './log-in.js';
import { writeOwnProfile } from './profile.js';

/** Refuses a login that no person can finish, before a question. @throws GraphException USAGE, INPUT_REQUIRED */
export function requirePerson(run: Run): void {
  const { isJob, issuer } = providerOf(run);
  const get: Hint = ['get a token', { command: 'token get' }];
  if (isJob) throw usageError('With oidc.grant no login is needed: commands get their own tokens.', get);
  const { inCi } = run.ports;
  if (inCi || isOn(run.settings, 'noInput'))
    throw new GraphException(
      'INPUT_REQUIRED',
      `A login at an identity provider needs a person (${inCi ? 'CI is set' : '--no-input'}).`,
      { hint: 'in a job, set oidc.grant to client_credentials in the profile' },
    );
  refuseLifetime(run, issuer);
}

/** Lets a person sign in at the provider. The login is kept once the database takes its token; else it is revoked. */
export async function logInAtProvider(run: Run, options: SignInOptions): Promise<LoggedIn> {
  const oidc = providerOf(run);
  const store = await usableStore(run, 'A login at an identity provider');
  await requireJwtServer(run);
  const { tokens, revoke } = await signIn(run, oidc, options);
  return keepLogin(run, oidc, store, tokens).catch(async (error) => {
    await revoke();
    throw error;
  });
}

/** Returns the provider. Throws HOST_MISMATCH when it is set for other servers than those that a person named. */
function providerOf(run: Run): Oidc {
  const oidc = oidcOf(run);
  const [leftOut] = run.settings.leftOut;
  if (oidc || !leftOut) return oidc as Oidc;
  throw new GraphException('HOST_MISMATCH', `${describeLeftOut(leftOut, run.settings)}.`, {
    hint: 'give the provider for these servers: --oidc-issuer URL --oidc-client-id ID',
  });
}

async function keepLogin(run: Run, oidc: Oidc, store: Store, tokens: Tokens): Promise<LoggedIn> {
  const { issuer, clientId } = oidc;
  const { sub: username, token } = chooseToken(oidc, tokens);
  const [typed] = run.settings.all.username;
  if (typed?.level === 'flag' && typed.value !== username)
    throw new GraphException('AUTH_FAILED', `${username} has logged in at ${issuer}, not ${typed.value}.`, {
      hint: 'log out there in the browser, or leave --username out',
    });
  const reference = providerPrincipal(oidc, username);
  const jwt = await jwtAsToken(run, { label: issuer, reference, read: async () => token });
  const { connection } = await connect(run, undefined);
  const { refusal } = await connection.checkToken(token);
  if (refusal) throw refusal;
  // Beside an identity provider a profile keeps no other credential.
  const file = await writeOwnProfile(run, store, username, toWrite(run), CREDENTIAL_KEYS);
  const owner = { principal: reference, username, owner: username };
  await keepToken(await tokenCache(run, store, owner), jwt);
  const key = `login of ${JSON.stringify([username, issuer, clientId])}`;
  const info = { graph: null, username, issuer, clientId };
  // This comes last, because an error before it revokes the login.
  await saveCredential(run, store, { kind: 'login', key, info }, loginValue(tokens.refresh_token));
  return { file, person: { username, issuer } };
}

function toWrite(run: Run): ProfileToWrite {
  const asWritten = (set: SourcedValue) =>
    SETTINGS[set.key].type === 'path' && set.value !== 'github' ? pathOf(run, set) : String(set.value);
  return Object.fromEntries(oidcSettings(run).map((set) => [set.key, asWritten(set)]));
}
