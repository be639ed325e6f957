import { keepLogin, proveSignedIn } from '../app/login/identity.js';
import { becomesDefault } from '../app/login/offer.js';
import { tryStore } from '../app/saved-secrets.js';
import { type Oidc, oidcOf } from '../auth/oidc/settings.js';
import { chooseStore, configDirOf, moveTo, recordStore, requireKeeping } from '../auth/stores.js';
import { isOn } from '../config/settings.js';
import { writeProfile } from '../config/write.js';
import { GraphException } from '../core/errors.js';
import type { StoreName } from '../store/store.js';
import { keysOfOldAddress, lockOf, profileOf, reportWritten } from './login-profile.js';
import type { Session } from './session.js';

/** What a profile with an identity provider does not keep beside it. */
const OTHER_CREDENTIALS = ['password', 'secret', 'jwt'].flatMap((kind) => [
  kind,
  `${kind}File`,
  `${kind}Command`,
]);

/** Runs `graphcred login` at an identity provider. */
export async function logInAtProvider(session: Session): Promise<undefined> {
  const { invocation, settings, target } = session;
  const { flags, report } = invocation;
  const oidc = oidcOf(session) as Oidc;
  refuseWithoutPerson(session, oidc);
  const store = await chooseStore(session, { needed: true });
  requireKeeping(store, 'A login at an identity provider');
  await tryStore(session, store);
  const { signIn } = await import('../app/login/sign-in.js');
  const signedIn = await proveSignedIn(session, oidc, () =>
    signIn(session, oidc, {
      onDevice: flags.device === true,
      opensBrowser: flags['no-browser'] !== true,
    }),
  );
  const makeDefault = await becomesDefault(session);
  // From here on things are written, and a signal no longer ends the process at once.
  invocation.interruption?.begin();
  const { name } = settings.profile;
  const profile = { ...profileOf(session, signedIn.sub), oidc: tableOf(oidc) };
  const removed = [...keysOfOldAddress(session), ...OTHER_CREDENTIALS, 'secretAlias', 'oidc'];
  const file = await writeProfile(
    configDirOf(session),
    name,
    { profile, removed, makeDefault },
    lockOf(session),
  );
  const chosen = flags.store as StoreName | undefined;
  if (chosen !== undefined) {
    await moveTo(session, chosen);
    recordStore(configDirOf(session), chosen);
  }
  await keepLogin(session, oidc, store, signedIn);
  const { sub: username } = signedIn;
  if (report.json)
    report.document({
      profile: name,
      file,
      host: target.host,
      saved: null,
      savedPassword: false,
      username,
      issuer: oidc.issuer,
    });
  else reportWritten(session, file, makeDefault, [`The user is ${username}.`]);
}

/** @throws GraphException USAGE, INPUT_REQUIRED */
function refuseWithoutPerson({ settings, inCi, invocation }: Session, { isJob }: Oidc): void {
  if (invocation.flags['save-password'] === true)
    throw new GraphException('USAGE', 'There is no password to save in a login at an identity provider.', {
      hint: 'leave --save-password out',
    });
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
  const { issuer, clientId, scopes, audience, use, clientSecretFile, clientAssertion, port } = oidc;
  const table = { issuer, clientId, scopes, audience, use, clientSecretFile, clientAssertion };
  const set = Object.entries(table).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { ...Object.fromEntries(set), ...(port !== 0 && { port: String(port) }) };
}
