import { obtainToken } from '../../app/get-token.js';
import { type LoginChoices, offer } from '../../app/login/offer.js';
import { logIn, proveGraph } from '../../app/login/prove.js';
import { dropMadeSecret, makeSecret, save } from '../../app/login/save.js';
import { findCredential } from '../../auth/choose.js';
import type { Credential } from '../../auth/credential.js';
import { chooseStore, configDirOf, moveTo, recordStore, requireKeeping } from '../../auth/stores.js';
import { findConfigs } from '../../config/find.js';
import { type ConfigKey, defaultProfileOf, KEYS_OF_ADDRESS, type Settings } from '../../config/keys.js';
import { type ProfileToWrite, type WithLock, writeProfile, writeProfileKey } from '../../config/write.js';
import { GraphException } from '../../core/errors.js';
import { shellWord } from '../../files/shell-word.js';
import { withLock } from '../../store/lock/lock.js';
import { STORES, type StoreName } from '../../store/store.js';
import type { Invocation } from '../command.js';
import { openCompleted } from '../login-questions.js';
import { inLines, shortPath, singleLine } from '../output/report.js';
import { openSession, type Session } from '../session.js';

/** Runs `graphcred login`. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { report } = invocation;
  const chosen = invocation.flags.store as StoreName | undefined;
  if (chosen && STORES[chosen].scope === 'fleet') {
    throw new GraphException(
      'USAGE',
      'A login is never kept on a Redis server: it is shared for tokens only.',
      {
        hint: 'log in with --store keychain or --store file, and set GRAPHCRED_STORE=redis where tokens are shared',
      },
    );
  }
  const session = await openCompleted(invocation);
  const first = await chooseStore(session, { needed: true });
  const savePassword = invocation.flags['save-password'] === true;
  if (savePassword) requireKeeping(first, '--save-password');
  const login = await logIn(session, first, savePassword);
  const choices = await offer(session, login.credential, first, { taken: login.taken, savePassword });
  // Nothing is written yet. From here on no request is cut, so that nothing is made that nobody knows.
  session.learned.deadline?.check();
  const made = await makeSecret(session, login, choices);
  const { name } = session.settings.profile;
  const removed = KEYS_OF_ADDRESS.filter((key) => isRemoved(session.settings, key));
  const { makeDefault } = choices;
  const locked: WithLock = (lock, work) => withLock(lock, { waitMs: session.timeoutMs + 5000 }, work);
  let file: string;
  try {
    await proveGraph(session, login, made.isNew ? made.value?.reveal() : undefined);
    invocation.interruption?.begin();
    const dropped = [
      ...removed,
      ...(session.settings.foreign ?? []).map((key) => key.replace(/\..*/, '')),
      ...(namesAnother(session, login.credential) ? ['secretAlias'] : []),
    ];
    // The graph may have been asked for again since.
    const profile = profileOf(session, login.credential);
    file = await writeProfile(configDirOf(session), name, { profile, removed: dropped, makeDefault }, locked);
  } catch (error) {
    // The new secret is dropped, because nobody has seen its value.
    throw made.isNew && choices.alias !== undefined
      ? await dropMadeSecret(login, choices.alias, error)
      : error;
  }
  const credentials = removed.filter((key) => key.startsWith('password') || key.startsWith('secret'));
  if (credentials.length > 0)
    report.warn(
      `the profile has a new address, so the credentials of the old one are removed from it: ${credentials.join(', ')}`,
    );
  if (chosen !== undefined) await moveTo(session, chosen);
  const record = choices.instead ?? chosen;
  if (record !== undefined) recordStore(configDirOf(session), record);
  const saved = await save(session, login, choices, made, report.result);
  const failure = made.failure ?? saved.failure;
  const alias = saved.name ?? choices.savedAlias;
  if (alias !== undefined) {
    await writeProfileKey(configDirOf(session), name, ['secretAlias', alias], locked);
    await firstToken(session, name);
  }
  const lost = made.isNew && saved.name === undefined ? made.value?.reveal() : undefined;
  reportLogin(session, choices, { file, saved: saved.name, lost, password: saved.password });
  if (failure) throw failure;
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
    if (level === 'store') await obtainToken(call, { fresh: false });
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
  const { host } = target;
  const { name } = settings.profile;
  if (report.json) {
    report.document({
      profile: name,
      file,
      host,
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
  ].filter(Boolean);
  const { home, stdout } = invocation.ctx;
  const done = `Logged in to ${target.gsqlUrl} as profile ${name} (${shortPath(file, home)}).`;
  report.result(inLines(singleLine([done, ...notes].join(' ')), stdout.columns));
  const before = defaultProfileOf(settings.file?.config);
  const isDefault = makeDefault || before === undefined || before === name;
  const inForce = fileInForce(session);
  if (inForce !== undefined && inForce !== file)
    report.note(`${inForce} is in force here and hides this profile`);
  const config = inForce === undefined || inForce === file ? '' : ` --config ${shellWord(file)}`;
  report.note(`next: graphcred token get${isDefault ? '' : ` -p ${name}`}${config}`);
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

/** Whether the profile in the file has this key, but the key is ignored because the address is new. */
function isRemoved({ file, profile, all }: Settings, key: ConfigKey): boolean {
  const had = file?.config.profiles.get(profile.name)?.[key] !== undefined;
  return had && !all[key].some(({ level }) => level === 'profile');
}

/** Whether the profile in the file names a secret of another login. */
function namesAnother({ settings: { file, profile } }: Session, credential: Credential): boolean {
  const before = file?.config.profiles.get(profile.name)?.username;
  const isGiven = credential.kind === 'secret' && credential.level !== 'store';
  return isGiven || before !== credential.username;
}

function profileOf(session: Session, credential: Credential): ProfileToWrite {
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
    ...(credential.username && { username: credential.username }),
    ...(serverVersion !== 'auto' && { serverVersion }),
    ...(Object.fromEntries(lives) as Record<string, string>),
    ...(files.length > 0 && { tls: Object.fromEntries(files) as Record<string, string> }),
  };
}
