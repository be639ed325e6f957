import { getToken } from '../../app/get-token.js';
import { type LoginChoices, offer } from '../../app/login/offer.js';
import { type LoggedIn, logIn, proveGraph } from '../../app/login/prove.js';
import { dropMadeSecret, type Made, makeSecret, save } from '../../app/login/save.js';
import { findCredential } from '../../auth/choose.js';
import type { Credential } from '../../auth/credential.js';
import { chooseStore, configDirOf, moveTo, recordStore, requireKeeping } from '../../auth/stores.js';
import { writeProfile, writeProfileKey } from '../../config/write.js';
import { GraphException } from '../../core/errors.js';
import { STORES, type StoreName } from '../../store/store.js';
import type { Invocation } from '../command.js';
import { keysOfOldAddress, lockOf, profileOf, reportWritten } from '../login-profile.js';
import { openCompleted, signsInAtProvider } from '../login-questions.js';
import { openSession, type Session } from '../session.js';

/** Runs `graphcred login`. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { flags, report } = invocation;
  const chosen = flags.store as StoreName | undefined;
  refuseFleet(chosen);
  const session = await openCompleted(invocation);
  if (signsInAtProvider(session)) return (await import('../login-identity.js')).logInAtProvider(session);
  if (flags['no-browser'] === true || flags.device === true)
    throw new GraphException('USAGE', 'There is no identity provider to log in at.', {
      hint: 'name it: --oidc-issuer URL --oidc-client-id ID',
    });
  const first = await chooseStore(session, { needed: true });
  const savePassword = flags['save-password'] === true;
  if (savePassword) requireKeeping(first, '--save-password');
  const login = await logIn(session, first, savePassword);
  const choices = await offer(session, login.credential, first, { taken: login.taken, savePassword });
  // Nothing is written yet. From here on no request is cut, so that nothing is made that nobody knows.
  session.learned.deadline?.check();
  const made = await makeSecret(session, login, choices);
  const file = await writeLogin(session, login, choices, made);
  if (chosen !== undefined) await moveTo(session, chosen);
  const record = choices.instead ?? chosen;
  if (record !== undefined) recordStore(configDirOf(session), record);
  const saved = await save(session, login, choices, made, report.result);
  const failure = made.failure ?? saved.failure;
  const alias = saved.name ?? choices.savedAlias;
  if (alias !== undefined) {
    const { name } = session.settings.profile;
    await writeProfileKey(configDirOf(session), name, ['secretAlias', alias], lockOf(session));
    await firstToken(session, name);
  }
  const lost = made.isNew && saved.name === undefined ? made.value?.reveal() : undefined;
  reportLogin(session, choices, { file, saved: saved.name, lost, password: saved.password });
  if (failure) throw failure;
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

/**
 * Checks the graph, and writes the profile.
 * @returns the config file
 */
async function writeLogin(
  session: Session,
  login: LoggedIn,
  { alias, makeDefault }: LoginChoices,
  made: Made,
): Promise<string> {
  const { invocation, settings } = session;
  const { credential } = login;
  const removed = keysOfOldAddress(session);
  let file: string;
  try {
    await proveGraph(session, login, made.isNew ? made.value?.reveal() : undefined);
    invocation.interruption?.begin();
    const dropped = [
      ...removed,
      // A credential was typed, so the provider is no longer what this profile logs in with.
      'oidc',
      ...(namesAnother(session, credential) ? ['secretAlias'] : []),
    ];
    // The graph may have been asked for again since.
    const profile = profileOf(session, credential.username);
    const changes = { profile, removed: dropped, makeDefault };
    file = await writeProfile(configDirOf(session), settings.profile.name, changes, lockOf(session));
  } catch (error) {
    // The new secret is dropped, because nobody has seen its value.
    throw made.isNew && alias !== undefined ? await dropMadeSecret(login, alias, error) : error;
  }
  const credentials = removed.filter((key) => /^(password|secret|jwt|oidc)/.test(key));
  if (credentials.length > 0)
    invocation.report.warn(
      `the profile has a new address, so the credentials of the old one are removed from it: ${credentials.join(', ')}`,
    );
  return file;
}

/** Mints a first token for the next command. A failure does not make the login fail. */
async function firstToken({ invocation, learned, graph }: Session, profile: string): Promise<void> {
  const credentialFlags = ['password-stdin', 'password-file', 'secret-stdin', 'secret-file', 'secret-alias'];
  const typed = Object.entries(invocation.flags).filter(([name]) => !credentialFlags.includes(name));
  const flags = { ...Object.fromEntries(typed), graph };
  try {
    learned.deadline?.check();
    const opened = await openSession({ ...invocation, flags }, { newProfile: true, profile, noInput: true });
    // The version is not asked for again, and the time that was used stays used.
    const call = { ...opened, learned };
    const store = await chooseStore(call);
    // No token is minted from a secret in a variable: only a saved secret is certain to be used by the next command.
    const { level } = await findCredential(call, 'mint', async () => store);
    if (level === 'store') await getToken(call, { fresh: false });
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    invocation.report.warn(`there is no token yet: ${error.message}`);
  }
}

interface Outcome {
  readonly file: string;
  /** The name of the secret that was saved. */
  readonly saved: string | undefined;
  /** The value of a secret that was made and could not be saved. */
  readonly lost: string | undefined;
  readonly password: boolean;
}

function reportLogin(
  session: Session,
  { alias, makeDefault }: LoginChoices,
  { file, saved, lost, password }: Outcome,
): void {
  const { invocation, settings, target } = session;
  const { report } = invocation;
  if (report.json) {
    report.document({
      profile: settings.profile.name,
      file,
      host: target.host,
      saved: saved ?? null,
      savedPassword: password,
      ...(lost && { secret: lost }),
    });
    return;
  }
  if (lost) {
    report.note(`secret ${alias}: this is the only time its value is shown`);
    report.result(lost);
  }
  const notes = [
    saved && (saved === alias ? `Secret ${saved} is saved.` : 'The secret is saved.'),
    password && 'The password is saved.',
  ].filter((note) => typeof note === 'string');
  reportWritten(session, file, makeDefault, notes);
}

/** Whether the profile in the file names a secret of another login. */
function namesAnother({ settings: { file, profile } }: Session, credential: Credential): boolean {
  const before = file?.config.profiles.get(profile.name)?.username;
  const isGiven = credential.kind === 'secret' && credential.level !== 'store';
  return isGiven || before !== credential.username;
}
