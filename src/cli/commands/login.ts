import { getToken } from '../../app/get-token.js';
import { keepLogin, proveSignedIn } from '../../app/login/identity.js';
import { becomesDefault, type LoginChoices, offer } from '../../app/login/offer.js';
import { type LoggedIn, logIn, proveGraph } from '../../app/login/prove.js';
import { dropMadeSecret, type Made, makeSecret, save } from '../../app/login/save.js';
import { tryStore } from '../../app/saved-secrets.js';
import { findCredential } from '../../auth/choose.js';
import type { Credential } from '../../auth/credential.js';
import { type Oidc, oidcOf } from '../../auth/oidc/settings.js';
import { chooseStore, configDirOf, moveTo, recordStore, requireKeeping } from '../../auth/stores.js';
import { findConfigs } from '../../config/find.js';
import { type ConfigKey, defaultProfileOf, KEYS_OF_ADDRESS, type Settings } from '../../config/keys.js';
import { isOn } from '../../config/settings.js';
import { type ProfileToWrite, type WithLock, writeProfile, writeProfileKey } from '../../config/write.js';
import { GraphException } from '../../core/errors.js';
import { shellWord } from '../../files/shell-word.js';
import { withLock } from '../../store/lock/lock.js';
import { STORES, type StoreName } from '../../store/store.js';
import type { Invocation } from '../command.js';
import { openCompleted, signsInAtProvider } from '../login-questions.js';
import { shortPath } from '../output/report.js';
import { openSession, type Session } from '../session.js';

/** Runs `graphcred login`. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { flags, report } = invocation;
  const chosen = flags.store as StoreName | undefined;
  refuseFleet(chosen);
  const session = await openCompleted(invocation);
  if (signsInAtProvider(session)) return logInAtProvider(session);
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
  const { invocation } = session;
  const { credential } = login;
  const removed = keysOfOldAddress(session);
  let file: string;
  try {
    await proveGraph(session, login, made.isNew ? made.value?.reveal() : undefined);
    invocation.interruption?.begin();
    const dropped = [
      // A credential was typed, so the provider is no longer what this profile logs in with.
      'oidc',
      ...(namesAnother(session, credential) ? ['secretAlias'] : []),
    ];
    // The graph may have been asked for again since.
    const profile = profileOf(session, credential.username);
    file = await writeOwnProfile(session, makeDefault, { profile, removed: dropped });
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
  const { report } = session.invocation;
  if (lost && !report.json) {
    report.note(`secret ${alias}: this is the only time its value is shown`);
    report.result(lost);
  }
  const notes = [
    saved && (saved === alias ? `Secret ${saved} is saved.` : 'The secret is saved.'),
    password && 'The password is saved.',
  ].filter((note) => typeof note === 'string');
  const document = { saved: saved ?? null, savedPassword: password, ...(lost && { secret: lost }) };
  reportWritten(session, { file, makeDefault, document, notes });
}

/** Whether the profile in the file names a secret of another login. */
function namesAnother({ settings: { file, profile } }: Session, credential: Credential): boolean {
  const before = file?.config.profiles.get(profile.name)?.username;
  const isGiven = credential.kind === 'secret' && credential.level !== 'store';
  return isGiven || before !== credential.username;
}

/** What a profile with an identity provider does not keep beside it. */
const OTHER_CREDENTIALS = ['password', 'secret', 'jwt'].flatMap((kind) => [
  kind,
  `${kind}File`,
  `${kind}Command`,
]);

/** Runs `graphcred login` at an identity provider. */
async function logInAtProvider(session: Session): Promise<undefined> {
  const { invocation } = session;
  const { flags } = invocation;
  const oidc = oidcOf(session) as Oidc;
  refuseWithoutPerson(session, oidc);
  const store = await chooseStore(session, { needed: true });
  requireKeeping(store, 'A login at an identity provider');
  await tryStore(session, store);
  const { signIn } = await import('../../app/login/sign-in.js');
  const signedIn = await proveSignedIn(session, oidc, () =>
    signIn(session, oidc, {
      onDevice: flags.device === true,
      opensBrowser: flags['no-browser'] !== true,
    }),
  );
  const makeDefault = await becomesDefault(session);
  const { sub: username } = signedIn;
  // From here on things are written, and a signal no longer ends the process at once.
  invocation.interruption?.begin();
  const file = await writeOwnProfile(session, makeDefault, {
    profile: { ...profileOf(session, username), oidc: tableOf(oidc) },
    removed: [...OTHER_CREDENTIALS, 'secretAlias', 'oidc'],
  });
  const chosen = flags.store as StoreName | undefined;
  if (chosen !== undefined) {
    await moveTo(session, chosen);
    recordStore(configDirOf(session), chosen);
  }
  await keepLogin(session, oidc, store, signedIn);
  const document = { saved: null, savedPassword: false, username, issuer: oidc.issuer };
  reportWritten(session, { file, makeDefault, document, notes: [`The user is ${username}.`] });
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

/** Returns the lock under which a login writes the config file. */
function lockOf({ timeoutMs }: Session): WithLock {
  return (lock, work) => withLock(lock, { waitMs: timeoutMs + 5000 }, work);
}

/** Returns what the profile of the file loses because its address is replaced. */
function keysOfOldAddress({ settings }: Session): string[] {
  const replaced = KEYS_OF_ADDRESS.filter((key) => isRemoved(settings, key));
  return [...new Set([...replaced, ...(settings.foreign ?? [])].map((key) => key.replace(/\..*/, '')))];
}

/** Whether the profile in the file has this key, but the key is ignored because the address is new. */
function isRemoved({ file, profile, all }: Settings, key: ConfigKey): boolean {
  const had = file?.config.profiles.get(profile.name)?.[key] !== undefined;
  return had && !all[key].some(({ level }) => level === 'profile');
}

/** Returns the profile to write, without the credential. */
function profileOf(session: Session, username: string | undefined): ProfileToWrite {
  const { target, graph, settings, tls, serverVersion } = session;
  const files = (['ca', 'cert', 'key'] as const).flatMap((name) =>
    tls[name] === undefined ? [] : [[name, tls[name]]],
  );
  const lives = (['lifetime', 'minTtl'] as const).flatMap((key) => {
    const [set] = settings.all[key];
    return set && set.level !== 'default' && set.level !== 'fileDefaults' ? [[key, set.value]] : [];
  });
  const addresses = Object.entries(target.endpoints).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(addresses) as Record<string, string | number>),
    // Without a host, the default (this machine) is written to the profile.
    ...(target.endpoints.host === undefined &&
      target.endpoints.gsqlUrl === undefined && { host: target.host }),
    ...(graph !== undefined && { graph }),
    ...(username && { username }),
    ...(serverVersion !== 'auto' && { serverVersion }),
    ...(Object.fromEntries(lives) as Record<string, string>),
    ...(files.length > 0 && { tls: Object.fromEntries(files) as Record<string, string> }),
  };
}

/**
 * Writes the profile to the user's own config file.
 * @param removed what the profile loses, beside what belonged to an old address
 * @returns the config file
 */
function writeOwnProfile(
  session: Session,
  makeDefault: boolean,
  { profile, removed }: { profile: ProfileToWrite; removed: readonly string[] },
): Promise<string> {
  const changes = { profile, removed: [...keysOfOldAddress(session), ...removed], makeDefault };
  return writeProfile(configDirOf(session), session.settings.profile.name, changes, lockOf(session));
}

/** Says that the profile is written, and what to type next. */
function reportWritten(session: Session, { file, makeDefault, document, notes }: Written): void {
  const { invocation, settings, target } = session;
  const { report } = invocation;
  const { name } = settings.profile;
  const done = `Logged in to ${target.gsqlUrl} as profile ${name} (${shortPath(file, invocation.ctx.home)}).`;
  report.done({ profile: name, file, host: target.host, ...document }, [done, ...notes].join(' '));
  if (report.json) return;
  const before = defaultProfileOf(settings.file?.config);
  const isDefault = makeDefault || before === undefined || before === name;
  const inForce = fileInForce(session);
  const isHidden = inForce !== undefined && inForce !== file;
  if (isHidden) report.note(`${inForce} is in force here and hides this profile`);
  const config = isHidden ? ` --config ${shellWord(file)}` : '';
  report.note(`next: graphcred token get${isDefault ? '' : ` -p ${name}`}${config}`);
}

interface Written {
  readonly file: string;
  readonly makeDefault: boolean;
  /** What the JSON document says beside profile, file and host. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

/** Returns the config file that other commands find here, trusted or not. */
function fileInForce({ invocation, configDir }: Session): string | undefined {
  const { ctx, flags } = invocation;
  const named = (flags.config as string | undefined) ?? (ctx.env.GRAPHCRED_CONFIG || undefined);
  try {
    const [first] = findConfigs({ named, cwd: ctx.cwd, home: ctx.home, configDir });
    return first?.path;
  } catch (error) {
    // The file that is named, or one of two in a folder: other commands say what is wrong with it.
    if (error instanceof GraphException) return named;
    throw error;
  }
}
