import { findCredential } from '../../auth/choose.js';
import { type Connected, connect, requireGraph, serversInForce } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import { askGraph } from '../../auth/prompts.js';
import { graphOf, type Run } from '../../auth/run.js';
import { sourcesInSettings } from '../../auth/sources.js';
import { requireKeeping } from '../../auth/stores.js';
import { expected, type Fix, GraphException, type Hint, usageError, whyFailed } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import type { Sensitive } from '../../core/sensitive.js';
import { aliasOf, isForPair } from '../../store/ownership.js';
import { noneStore, STORES, type Store } from '../../store/store.js';
import { pluralize, secretInstead, shortPath } from '../format.js';
import type { Login } from '../gsql-login.js';
import { createSecret } from '../secrets/create-secret.js';
import { saveCredential, savedForServer, saveSecret, tryStore } from '../secrets/saved-secrets.js';
import { writeOwnProfile } from './profile.js';
import { untilRight } from './questions.js';

const MAX_ATTEMPTS = 3;
const PROOF_SECONDS = 60;
/** How the secrets that logins make are called: the first free one of graphcred, graphcred_2, … */
const ALIAS = 'graphcred';

/** What was saved of a login. */
interface Saved {
  /** What the profile names the secret by that this login has saved: its alias, else its id. */
  readonly saved?: string;
  readonly savedPassword?: boolean;
  /** A new secret that could not be saved, and that the server never shows again. */
  readonly lost?: { readonly alias: string; readonly value: Sensitive };
  /** Why something could not be made or saved. The profile is written anyway. */
  readonly failure?: unknown;
}

export interface LoggedIn extends Saved {
  /** The config file with the profile. */
  readonly file: string;
  /** Who has signed in at an identity provider. */
  readonly person?: { readonly username: string; readonly issuer: string };
  /** How to work without the password, where nothing is kept. */
  readonly advice?: Hint | undefined;
}

/**
 * Logs in, saves what works without a password from then on, and writes the profile. A person is asked what is missing.
 * @throws GraphException when the profile was not written
 */
export async function logIn(run: Run, savePassword: boolean): Promise<LoggedIn> {
  const store = await usableStore(run, savePassword);
  if (savePassword) requireKeeping(store, '--save-password');
  const login = await proveLogin(run, store, savePassword);
  // A secret that was saved before goes on to do the work of the password.
  const earlier = await savedHere(login);
  if (login.credential.kind === 'password' && earlier !== undefined && earlier !== run.settings.secretAlias)
    run.ports.reporter.note(`this profile makes its tokens with the saved secret ${earlier}`);
  const makes = !savePassword && earlier === undefined && (await wantsSecret(login));
  const saved = await save(login, makes, savePassword);
  const secretAlias = saved.saved ?? earlier;
  const file = await writeLogin(login, secretAlias);
  const isGiven = ['flag', 'prompt'].includes(login.credential.level);
  const isKept = secretAlias !== undefined || saved.savedPassword || saved.failure || !isGiven;
  return { ...saved, file, advice: isKept ? undefined : await adviceUnsaved(store) };
}

async function adviceUnsaved(store: Store): Promise<readonly Fix[]> {
  const isUsable = STORES[store.name].keeps.credentials && !(await store.check().catch(expected));
  const orSave = isUsable ? [', or log in with --save-password'] : [];
  const instead = secretInstead(isUsable ? store.name : 'none');
  return ['the password is not kept; to work without typing it', ...instead, ...orSave];
}

/**
 * Returns the store of this login, and tests it if something is to be saved or it was typed. If it cannot be used, a
 * person is asked for leave to use files, before anything else.
 */
async function usableStore(run: Run, savePassword: boolean): Promise<Store> {
  const { ports, stores } = run;
  const { canPrompt } = ports;
  const { setAt } = stores.inForce;
  const store = await stores.chosen({ needed: true });
  const isNeeded = canPrompt || savePassword || setAt === 'flag';
  const saves = isNeeded || sourcesInSettings(run).some(({ kind }) => kind === 'secret');
  if (!STORES[store.name].keeps.credentials || !saves) return store;
  try {
    await tryStore(run, store);
    return store;
  } catch (error) {
    const { message } = expected(error);
    if (!canPrompt || setAt !== undefined) throw error;
    ports.reporter.warn(message);
    const place = shortPath(stores.stateDir ?? '', ports.home);
    const question = `Keep secrets and tokens in ${place}, else nowhere`;
    const inFile = await ports.prompter.yes(question, { proposed: true });
    return stores.open(inFile ? 'file' : 'none', true);
  }
}

/**
 * Logs in. Where the server refuses a password or a graph, a person is asked for it again; where it refuses what is saved
 * here, for a password.
 */
async function proveLogin(run: Run, store: Store, savePassword: boolean): Promise<Login> {
  const tries = { credential: 0, graph: 0 };
  let credential = await findUsable(run, store, savePassword);
  let refused = undefined as Credential | undefined;
  const connected = await untilRight(
    () => sendProof(run, credential),
    async (error) => {
      const wrong = blame(run, credential, error);
      // A saved credential that the server refuses is no try of the person.
      if (wrong === 'graph' || (wrong && credential.level !== 'store')) tries[wrong]++;
      else if (error.code === 'AUTH_FAILED') refused = credential;
      if (!wrong || tries[wrong] === MAX_ATTEMPTS) throw error;
      warnOfWrong(run, error, MAX_ATTEMPTS - tries[wrong]);
      if (wrong === 'graph') await askGraph(run);
      else credential = await findUsable(run, noneStore, savePassword);
    },
  );
  const login = { ...connected, run, store, credential };
  if (refused) await forgetRefused(login, refused);
  return login;
}

function warnOfWrong({ ports }: Run, { code, message, hint }: GraphException, attemptsLeft: number): void {
  const told = code === 'USAGE' ? `${message.replace(/\.$/, '')} (${hint}).` : message;
  ports.reporter.warn(`${told} Try again (${pluralize(attemptsLeft, 'more attempt')}).`);
}

/** Finds the credential to log in with. @throws GraphException USAGE for one that is not what is to be saved */
async function findUsable(run: Run, store: Store, savePassword: boolean): Promise<Credential> {
  // A password to save is asked for, whatever is saved.
  const credential = await findCredential(
    run,
    savePassword ? 'login' : 'mint',
    savePassword ? noneStore : store,
  );
  const { kind, label, level } = credential;
  if (kind === 'jwt')
    throw usageError(
      `A JWT (${label}) is not saved by a login.`,
      'write jwtFile or jwtCommand into the profile, or log in with a password or a secret',
    );
  if (kind === 'secret' && savePassword)
    throw usageError(
      `There is no password to save: ${label} gives a secret.`,
      'leave --save-password out, or log in with a password: --password-stdin',
    );
  if (run.ports.canPrompt && level === 'store') run.ports.reporter.note(`using the ${label}`);
  return credential;
}

/** Returns which answer the server refuses, where a person can give another one. */
function blame(
  run: Run,
  { level }: Credential,
  { code, status, option }: GraphException,
): 'credential' | 'graph' | undefined {
  if (!run.ports.canPrompt) return undefined;
  const isSaved = level === 'store';
  if (code === 'AUTH_FAILED') return isSaved || level === 'prompt' ? 'credential' : undefined;
  // A saved credential that cannot be read is of no more use than one that is refused. The server has not been asked then.
  if (isSaved && (code.startsWith('STORE_') || (code === 'NOT_FOUND' && status === undefined)))
    return 'credential';
  return graphOf(run) !== undefined && (code === 'NOT_FOUND' || option === 'graph') ? 'graph' : undefined;
}

/** Asks a person who has given a password whether to make a secret for this machine. */
async function wantsSecret({ run, store, credential }: Login): Promise<boolean> {
  const { canPrompt, prompter } = run.ports;
  if (!canPrompt || credential.kind !== 'password' || !STORES[store.name].keeps.credentials) return false;
  const question = 'Make a secret for this machine and keep it, so that no password is needed';
  return prompter.yes(question, { proposed: true });
}

/**
 * Proves the login, and the graph if one is set, with a request that changes nothing: choosing the graph, else listing
 * the secrets. A secret that cannot do that proves itself with a mint.
 */
async function sendProof(run: Run, credential: Credential): Promise<Connected> {
  const connected = await connect(run, credential);
  const { connection, version } = connected;
  const lacksGraph = version.secretsNeedGraph && graphOf(run) === undefined;
  if (credential.kind === 'secret' && (lacksGraph || !version.secretLogsIn)) {
    // From here on the server is changed.
    run.ports.interruption.begin();
    await connection.mintToken({ lifetime: PROOF_SECONDS });
    return connected;
  }
  if (lacksGraph) requireGraph(run);
  if (graphOf(run) === undefined) await connection.listSecrets();
  else await connection.checkGraph();
  // Nothing is written yet. From here on no request is cut, so that nothing is made that nobody knows.
  run.time.deadline.check();
  return connected;
}

/** Saves what works without a question from now on. The login stands, whatever becomes of that. */
async function save(login: Login, makes: boolean, savePassword: boolean): Promise<Saved> {
  const { kind, level } = login.credential;
  try {
    if (makes) return await makeSecret(login);
    if (savePassword) return await keepPassword(login);
    const isGiven = kind === 'secret' && level !== 'store';
    return isGiven && STORES[login.store.name].keeps.credentials ? await saveGiven(login) : {};
  } catch (error) {
    const { code, message, fix } = expected(error);
    if (code === 'CANCELLED') throw error;
    const what = `You are logged in, but ${makes ? 'no secret is saved' : 'the credential could not be saved'}`;
    return { failure: new GraphException(code, `${what}: ${message}`, { fix }) };
  }
}

/** Makes a secret for this machine. */
async function makeSecret(login: Login): Promise<Saved> {
  const [typed] = login.run.settings.all.secretAlias;
  const wanted = typed?.level === 'flag' ? String(typed.value) : ALIAS;
  const { alias, value, unsaved } = await createSecret(login, wanted, true).catch(async (error) => {
    if (expected(error).code !== 'ALREADY_EXISTS' || wanted !== ALIAS) throw error;
    const taken = (await login.connection.listSecrets()).map((one) => one.alias);
    let n = 2;
    while (taken.includes(`${ALIAS}_${n}`)) n++;
    return createSecret(login, `${ALIAS}_${n}`, true);
  });
  return unsaved === undefined ? { saved: alias } : { lost: { alias, value }, failure: unsaved };
}

async function keepPassword({ run, store, credential }: Login): Promise<Saved> {
  const { username = '' } = credential;
  const [key, value] = [`password of ${username}`, await credential.read()];
  await saveCredential(run, store, { kind: 'password', key, info: { graph: null, username }, value });
  return { savedPassword: true };
}

/** Saves a secret that was given, under its alias: the server's list contains it by its mask. Where it cannot log in, there is no list. */
async function saveGiven(login: Login): Promise<Saved> {
  const { connection, credential } = login;
  const value = await credential.read();
  const mask = maskSecret(value.reveal());
  const fitting = (await connection.listSecrets().catch(() => [])).filter(({ masked }) => masked === mask);
  const alias = fitting.length === 1 ? fitting[0]?.alias : undefined;
  const id = await saveSecret(login, value, { alias });
  // Without a user name, another person's secret may have the same alias.
  return { saved: credential.username === undefined ? id : (alias ?? id) };
}

/**
 * Returns the name of the saved secret that the profile is to use beside a password: of those of this user for these
 * servers and, on 3.x, this graph, the one that the profile names, else the only one.
 */
async function savedHere(login: Login): Promise<string | undefined> {
  const { run, store, credential } = login;
  if (credential.kind === 'secret') return credential.level === 'store' ? credential.savedAs : undefined;
  if (!STORES[store.name].keeps.credentials) return undefined;
  const servers = await serversInForce(run);
  const own = (await savedForServer(login)).filter(
    (record) => record.info.username === credential.username && isForPair(record, servers),
  );
  const names = new Set(own.flatMap((record) => aliasOf(record) ?? []));
  const { secretAlias } = run.settings;
  if (secretAlias !== undefined && names.has(secretAlias)) return secretAlias;
  return names.size === 1 ? [...names][0] : undefined;
}

/** Forgets the saved secret that the server has refused: each command would go on with it. */
async function forgetRefused(login: Login, { kind, principal, label }: Credential): Promise<void> {
  if (kind !== 'secret') return;
  for (const { key, info } of await savedForServer(login)) {
    if (info.id !== principal) continue;
    const failure = await whyFailed(login.store.delete(key));
    if (!failure)
      login.run.ports.reporter.note(`forgotten here, because the server refused it: the ${label}`);
  }
}

/** Writes the profile, which loses what belonged to another login, and records the store. */
async function writeLogin({ run, store, credential }: Login, secretAlias: string | undefined) {
  const { file: before, profile } = run.settings;
  run.ports.interruption.begin();
  run.stores.recordChoice(store);
  const isGiven = credential.kind === 'secret' && credential.level !== 'store';
  const isOfOther = before?.config.profiles.get(profile.name)?.username !== credential.username;
  // A credential was typed, so the provider is no longer what this profile logs in with.
  const dropped = ['oidc', ...(isGiven || isOfOther ? ['secretAlias'] : [])];
  return writeOwnProfile(run, credential.username, { secretAlias }, dropped);
}
