import type { Call } from '../../auth/call.js';
import { type Oidc, oidcOf } from '../../auth/oidc/settings.js';
import { chooseStore, configDirOf, moveTo, recordStore, requireKeeping } from '../../auth/stores.js';
import { isOn } from '../../config/settings.js';
import { GraphException } from '../../core/errors.js';
import type { StoreName } from '../../store/store.js';
import { tryStore } from '../saved-secrets.js';
import { keepLogin, proveSignedIn } from './identity.js';
import { becomesDefault, profileOf, withoutUndefined, writeOwnProfile } from './profile.js';
import type { SignInOptions } from './sign-in.js';

/** What a profile with an identity provider does not keep beside it. */
const OTHER_CREDENTIALS = ['password', 'secret', 'jwt'].flatMap((kind) => [
  kind,
  `${kind}File`,
  `${kind}Command`,
]);

export interface ProviderLogin {
  readonly username: string;
  readonly issuer: string;
  readonly makeDefault: boolean;
  /** The config file with the profile. */
  readonly file: string;
}

/**
 * Logs a person in at the identity provider of the call, and writes the profile.
 * @param chosen the store that was typed: everything moves there, and later runs use it
 */
export async function logInAtProvider(
  call: Call,
  chosen: StoreName | undefined,
  options: SignInOptions,
): Promise<ProviderLogin> {
  const oidc = oidcOf(call) as Oidc;
  refuseWithoutPerson(call, oidc);
  const store = await chooseStore(call, { needed: true });
  requireKeeping(store, 'A login at an identity provider');
  await tryStore(call, store);
  const signedIn = await proveSignedIn(call, oidc, options);
  const makeDefault = await becomesDefault(call);
  const { sub: username } = signedIn;
  // From here on things are written, and a signal no longer ends the process at once.
  call.interruption?.begin();
  const profile = { ...profileOf(call, username), oidc: tableOf(oidc) };
  const dropped = [...OTHER_CREDENTIALS, 'secretAlias', 'oidc'];
  const file = await writeOwnProfile(call, profile, dropped, makeDefault);
  if (chosen !== undefined) {
    await moveTo(call, chosen);
    recordStore(configDirOf(call), chosen);
  }
  await keepLogin(call, oidc, store, signedIn);
  return { username, issuer: oidc.issuer, makeDefault, file };
}

/** @throws GraphException USAGE, INPUT_REQUIRED */
function refuseWithoutPerson({ settings, inCi }: Call, { isJob }: Oidc): void {
  if (isJob)
    throw new GraphException('USAGE', 'A job (oidc.grant) needs no login: it asks the provider for itself.', {
      hint: 'get a token: graphcred token get',
    });
  if (inCi || isOn(settings, 'noInput'))
    throw new GraphException(
      'INPUT_REQUIRED',
      `A login at an identity provider needs a person (${inCi ? 'CI is set' : '--no-input'}).`,
      { hint: 'for a job: oidc.grant: client_credentials; see docs/identity.md' },
    );
}

/** Returns the provider's settings as the profile keeps them. */
function tableOf(oidc: Oidc): Readonly<Record<string, string>> {
  const { issuer, clientId, scopes, audience, use, clientSecretFile, clientAssertion } = oidc;
  const port = oidc.port === 0 ? undefined : String(oidc.port);
  return withoutUndefined({
    issuer,
    clientId,
    scopes,
    audience,
    use,
    clientSecretFile,
    clientAssertion,
    port,
  });
}
