import { getToken } from '../../app/get-token.js';
import { logInAtProvider } from '../../app/login/at-provider.js';
import { type LoginState, logIn } from '../../app/login/log-in.js';
import { findCredential } from '../../auth/choose.js';
import { chooseStore } from '../../auth/stores.js';
import { defaultProfileOf } from '../../config/keys.js';
import { configsOf } from '../../config/settings.js';
import { GraphException } from '../../core/errors.js';
import { STORES, type StoreName } from '../../store/store.js';
import type { Invocation, Session } from '../command.js';
import { settingsInput } from '../context.js';
import { openCompleted, signsInAtProvider } from '../login-questions.js';
import { shortPath } from '../output/report.js';
import { openSession } from '../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const { flags, report } = invocation;
  const chosen = flags.store as StoreName | undefined;
  refuseFleet(chosen);
  const savePassword = flags['save-password'] === true;
  const session = await openCompleted(invocation);
  if (signsInAtProvider(session)) {
    if (savePassword)
      throw new GraphException('USAGE', 'There is no password to save in a login at an identity provider.', {
        hint: 'leave --save-password out',
      });
    const options = { onDevice: flags.device === true, opensBrowser: flags['no-browser'] !== true };
    const { username, issuer, ...written } = await logInAtProvider(session, chosen, options);
    const document = { saved: null, savedPassword: false, username, issuer };
    return reportWritten(session, written, document, [`The user is ${username}.`], hintAt(session, written));
  }
  if (flags['no-browser'] === true || flags.device === true)
    throw new GraphException('USAGE', 'There is no identity provider to log in at.', {
      hint: 'name it: --oidc-issuer URL --oidc-client-id ID',
    });
  const login = await logIn(session, { savePassword, chosen, onUnsaved: report.result });
  if (login.secretAlias !== undefined) await firstToken(session);
  reportLogin(session, login);
  if (login.failure) throw login.failure;
}

function refuseFleet(chosen: StoreName | undefined): void {
  if (chosen === undefined || STORES[chosen].scope !== 'fleet') return;
  throw new GraphException(
    'USAGE',
    'A login is never kept on a Redis server: it is shared for tokens only.',
    {
      hint: 'log in with --store keychain or --store file, and set GRAPHCRED_STORE=redis where tokens are shared',
    },
  );
}

/** Mints a first token for the next command. A failure does not make the login fail. */
async function firstToken(session: Session): Promise<void> {
  const { learned, graph, settings } = session;
  const credentialFlags = ['password-stdin', 'password-file', 'secret-stdin', 'secret-file', 'secret-alias'];
  const typed = Object.entries(session.flags).filter(([name]) => !credentialFlags.includes(name));
  const flags = { ...Object.fromEntries(typed), graph };
  const answers = { profile: settings.profile.name };
  const options = { newProfile: true, answers, noInput: true };
  try {
    learned.deadline?.check();
    // The version is not asked for again, and the time that was used stays used.
    const call = { ...(await openSession({ ...session, flags }, options)), learned };
    const store = await chooseStore(call);
    // No token is minted from a secret in a variable: only a saved secret is certain to be used by the next command.
    const { level } = await findCredential(call, 'mint', async () => store);
    if (level === 'store') await getToken(call, { fresh: false });
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    session.report.warn(`there is no token yet: ${error.message}`);
  }
}

function reportLogin(session: Session, login: LoginState): void {
  const { report } = session;
  const { alias, secret, secretAlias, password, advice } = login;
  const hiding = hintAt(session, login);
  if (advice !== undefined) report.note(advice);
  const saved = secret && secretAlias;
  // A secret that was made and could not be saved is shown.
  const lost = saved === undefined && alias !== undefined ? secret?.reveal() : undefined;
  if (lost && !report.json) {
    report.note(`secret ${alias}: this is the only time its value is shown`);
    report.result(lost);
  }
  const notes = [
    ...(saved ? [saved === alias ? `Secret ${saved} is saved.` : 'The secret is saved.'] : []),
    ...(password ? ['The password is saved.'] : []),
  ];
  const document = { saved: saved ?? null, savedPassword: password, ...(lost && { secret: lost }) };
  reportWritten(session, login, document, notes, hiding);
}

/**
 * Says that the profile is written, and what to type next.
 * @param document what the JSON document says beside profile, file and host
 * @param hiding the config file in force here, if it is not the one with the profile
 */
function reportWritten(
  session: Session,
  { file, makeDefault }: Pick<LoginState, 'file' | 'makeDefault'>,
  document: Readonly<Record<string, unknown>>,
  notes: readonly string[],
  hiding: string | undefined,
): undefined {
  const { ctx, report, settings, target } = session;
  const { name } = settings.profile;
  const done = `Logged in to ${target.gsqlUrl} as profile ${name} (${shortPath(file, ctx.home)}).`;
  report.done({ profile: name, file, host: target.host, ...document }, [done, ...notes].join(' '));
  if (report.json) return;
  const before = defaultProfileOf(settings.file?.config);
  const isDefault = makeDefault || before === undefined || before === name;
  if (hiding !== undefined) report.note(`${hiding} is in force here and hides this profile`);
  report.note(`next: graphcred token get${isDefault ? '' : ` -p ${name}`}`);
}

/** Lets hints name the config file with the profile where another one is in force here. Returns that other one. */
function hintAt(session: Session, { file }: Pick<LoginState, 'file'>): string | undefined {
  const { report } = session;
  const inForce = fileInForce(session);
  if (inForce === undefined || inForce === file) return undefined;
  report.typed = { ...report.typed, config: file };
  return inForce;
}

/** Returns the config file that other commands find here, trusted or not. */
function fileInForce(session: Session): string | undefined {
  try {
    const [first] = configsOf(settingsInput(session));
    return first?.path;
  } catch (error) {
    // The file that is named, or one of two in a folder: other commands say what is wrong with it.
    if (error instanceof GraphException)
      return (session.flags.config as string | undefined) ?? (session.ctx.env.GRAPHCRED_CONFIG || undefined);
    throw error;
  }
}
