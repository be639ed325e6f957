import { findCredential } from '../../auth/choose.js';
import { connect, requireGraph } from '../../auth/connect.js';
import { type Credential, secretId } from '../../auth/credential.js';
import { graphOf, type Run } from '../../auth/run.js';
import { serversInForce } from '../../auth/servers.js';
import { sourcesInSettings } from '../../auth/sources.js';
import { requireKeeping } from '../../auth/stores.js';
import { type ErrorCode, expected, type Fix, GraphException, type Hint } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import { Sensitive } from '../../core/sensitive.js';
import { aliasOf, isForPair } from '../../store/ownership.js';
import { noneStore, STORES, type Store, type StoreName } from '../../store/store.js';
import { pluralize, secretInstead, shortPath } from '../format.js';
import type { Login } from '../gsql-login.js';
import {
  removeReplaced,
  saveCredential,
  savedForOwner,
  saveSecret,
  tryStore,
} from '../secrets/saved-secrets.js';
import { mintFor } from '../tokens/mint-token.js';
import { type NewToken, tokenCache } from '../tokens/token-cache.js';
import { keysOfOldAddress, profileOf, writeOwnProfile } from './profile.js';

const MAX_ATTEMPTS = 3;
const PROOF_SECONDS = 60;
/** How the secrets that logins make are called: the first free one of graphcred, graphcred_2, … */
const ALIAS = 'graphcred';

export interface LoginInput {
  readonly savePassword: boolean;
  /** The store that was typed: everything moves there, and later runs use it. */
  readonly chosen: StoreName | undefined;
}

/** What a login has made and saved. */
export interface LoggedIn {
  /** The config file with the profile. */
  readonly file: string;
  /** What the profile names its saved secret by: the alias, else the id. */
  readonly secretAlias: string | undefined;
  /** Whether this login has saved that secret. */
  readonly isNew: boolean;
  readonly savedPassword: boolean;
  /** A new secret that could not be saved, and that the server never shows again. */
  readonly lost: NewSecret | undefined;
  /** How to work without the password, where nothing is kept. */
  readonly advice: Hint | undefined;
  /** Why something could not be made or saved. The profile is written anyway. */
  readonly failure: GraphException | undefined;
}

interface NewSecret {
  /** Undefined for a secret whose name is not known. */
  readonly alias: string | undefined;
  readonly value: Sensitive;
}

/** A login that the server has accepted. */
interface Proved extends Login {
  /** The secret to save: a given one, or the one that was made. */
  secret?: NewSecret | undefined;
  failure?: GraphException | undefined;
  /** The token with which a secret that is to be saved has proved itself. */
  token?: NewToken;
}

/**
 * Logs in, saves what works without a password from then on, and writes the profile. A person is asked what is missing,
 * and all questions come before the first request with the credential.
 * @throws GraphException when the profile was not written
 */
export async function logIn(run: Run, { savePassword, chosen }: LoginInput): Promise<LoggedIn> {
  const { store, instead } = await usableStore(run, savePassword);
  const login = await proveLogin(run, store, savePassword);
  const { credential, failure: unmade } = login;
  const saved = await save(login, savePassword);
  const { file, secretAlias } = await writeLogin(login, saved.secretAlias, chosen).catch((error) => {
    throw saved.secretAlias === undefined ? error : withSaved(error, saved.secretAlias);
  });
  if (instead !== undefined) run.stores.record(instead);
  if (login.secret && (saved.secretAlias !== undefined || login.token))
    await keepFirstToken(login, login.secret.value);
  const isKept =
    secretAlias !== undefined || saved.savedPassword || !['flag', 'prompt'].includes(credential.level);
  const failure = unmade ?? saved.failure;
  const isLost = saved.secretAlias === undefined && credential.kind === 'password';
  return {
    ...{ file, secretAlias, failure, isNew: saved.secretAlias !== undefined },
    savedPassword: saved.savedPassword,
    lost: isLost ? login.secret : undefined,
    advice: isKept || failure ? undefined : await adviceUnsaved(store),
  };
}

async function adviceUnsaved(store: Store): Promise<readonly Fix[]> {
  const check = () =>
    store.check().then(
      () => true,
      () => false,
    );
  const isUsable = STORES[store.name].keeps.credentials && (await check());
  const orSave = isUsable ? [', or log in with --save-password'] : [];
  const instead = secretInstead(isUsable ? store.name : 'none');
  return ['this login keeps no password; to work without it', ...instead, ...orSave];
}

function withSaved(error: unknown, alias: string): GraphException {
  const { code, message, fix } = expected(error);
  return new GraphException(code, `${message} The secret ${alias} is saved; the profile is not written.`, {
    fix,
  });
}

/**
 * Returns the store of this login, and tests it if something is to be saved. If it cannot be used, a person is asked for
 * another one, before anything else.
 */
async function usableStore(run: Run, savePassword: boolean) {
  const { ports, stores } = run;
  const { canPrompt } = ports;
  const store = await run.stores.own({ needed: true });
  if (savePassword) requireKeeping(store, '--save-password');
  const saves = canPrompt || savePassword || sourcesInSettings(run).some(({ kind }) => kind === 'secret');
  if (!STORES[store.name].keeps.credentials || !saves) return { store };
  try {
    await tryStore(run, store);
    return { store };
  } catch (error) {
    if (!(error instanceof GraphException) || !canPrompt || stores.inForce.setAt !== undefined) throw error;
    ports.reporter.warn(error.message);
    const instead = await ports.prompter.choice<StoreName>('Where to keep secrets and tokens instead', [
      {
        name: `in ${shortPath(run.stores.stateDir ?? '', ports.home)} (protected by file permissions)`,
        value: 'file',
      },
      { name: 'nowhere: every command asks the server anew', value: 'none' },
    ]);
    return { store: await run.stores.open(instead, true), instead };
  }
}

/**
 * Asks for what is missing, and proves the login with one request. A wrong password or graph is asked for again, and no
 * other answer is lost.
 */
async function proveLogin(run: Run, store: Store, savePassword: boolean): Promise<Proved> {
  const attempts = { credential: MAX_ATTEMPTS, graph: MAX_ATTEMPTS };
  const find = async (from: Store) => {
    const found = await findCredential(run, savePassword ? 'login' : 'mint', from);
    refuseUnsaved(found, savePassword);
    if (run.ports.canPrompt && found.level === 'store') run.ports.reporter.note(`using the ${found.label}`);
    return found;
  };
  let credential = await find(store);
  let makes: boolean | undefined;
  for (let isRefused = false; ; ) {
    try {
      await credential.value();
      if (!savePassword) makes ??= await askForSecret(run, store, credential, isRefused);
      const login = await prove(run, store, credential, makes === true);
      return makes ? await makeSecret(login) : login;
    } catch (error) {
      const wrong = wrongAnswer(run, credential, error);
      // A saved credential that the server refuses is no try of the person.
      if (wrong && credential.level !== 'store') attempts[wrong]--;
      if (wrong === undefined || attempts[wrong] === 0) throw error;
      warnOfWrong(run, error, attempts[wrong]);
      isRefused ||= wrong === 'credential';
      if (wrong === 'graph') run.asked.graph = await run.ports.prompter.text('Graph');
      else credential = await find(noneStore);
    }
  }
}

function warnOfWrong({ ports }: Run, error: unknown, attemptsLeft: number): void {
  const { code, message, hint } = expected(error);
  const told = code === 'USAGE' ? `${message.replace(/\.$/, '')} (${hint}).` : message;
  ports.reporter.warn(`${told} Try again (${pluralize(attemptsLeft, 'more attempt')}).`);
}

function refuseUnsaved({ kind, label }: Credential, savePassword: boolean): void {
  if (kind === 'jwt')
    throw new GraphException('USAGE', `A JWT (${label}) is not saved by a login.`, {
      hint: 'write jwtFile or jwtCommand into the profile, or log in with a password or a secret',
    });
  if (kind === 'secret' && savePassword)
    throw new GraphException('USAGE', `There is no password to save: ${label} gives a secret.`, {
      hint: 'leave --save-password out, or log in with a password: --password-stdin',
    });
}

/** Returns which answer the server refuses, where a person can give another one. */
function wrongAnswer(run: Run, { level }: Credential, error: unknown): 'credential' | 'graph' | undefined {
  const { code, option } = expected(error);
  if (!run.ports.canPrompt) return undefined;
  // A saved credential that cannot be read is of no more use than one that is refused.
  if (level === 'store' && code !== 'TIMEOUT' && code !== 'NETWORK') return 'credential';
  if (code === 'AUTH_FAILED') return level === 'prompt' ? 'credential' : undefined;
  return graphOf(run) !== undefined && (code === 'NOT_FOUND' || option === 'graph') ? 'graph' : undefined;
}

/**
 * Asks whether to make a secret for this machine, unless one that works is saved already.
 * @returns undefined when there is nothing to ask with this credential
 */
async function askForSecret(
  run: Run,
  store: Store,
  credential: Credential,
  isRefused: boolean,
): Promise<boolean | undefined> {
  const keeps = STORES[store.name].keeps.credentials;
  if (!run.ports.canPrompt || credential.kind !== 'password' || !keeps) return undefined;
  if (!isRefused && (await savedHere(run, store, credential)) !== undefined) return false;
  const question = 'Make a secret for this machine and keep it, so that no password is needed';
  return run.ports.prompter.yes(question, { proposed: true });
}

/**
 * Proves the login, and the graph if one is set, with a request that changes nothing: choosing the graph, else listing
 * the secrets. What a secret proves is that it mints. The making of a secret proves the login too.
 */
async function prove(run: Run, store: Store, credential: Credential, makes: boolean): Promise<Proved> {
  const connected = await connect(run, credential);
  const { connection, version } = connected;
  const login = { ...connected, run, store, credential };
  if (credential.kind === 'secret') {
    // From here on the server is changed.
    run.ports.interruption.begin();
    if (credential.level !== 'store' && STORES[store.name].keeps.credentials) {
      const token = await mintFor(run, credential, false);
      return { ...login, token, secret: await givenSecret(login) };
    }
    await connection.mintToken({ lifetime: PROOF_SECONDS });
    return login;
  }
  if (version.secretsNeedGraph) requireGraph(run);
  if (graphOf(run) !== undefined) await connection.checkGraph();
  else if (!makes) await connection.listSecrets();
  // Nothing is written yet. From here on no request is cut, so that nothing is made that nobody knows.
  run.time.deadline.check();
  return login;
}

/**
 * Finds the alias of a given secret: on 4.x, where a secret can log in, the server's list contains it by its mask. On
 * 3.x there is no list without a password.
 */
async function givenSecret({ connection, credential }: Login): Promise<NewSecret> {
  const value = await credential.value();
  const mask = maskSecret(value.reveal());
  const fitting = (await connection.listSecrets().catch(() => [])).filter(({ masked }) => masked === mask);
  return { alias: fitting.length === 1 ? fitting[0]?.alias : undefined, value };
}

const STILL_LOGGED_IN: readonly ErrorCode[] = [
  'PERMISSION_DENIED',
  'ALREADY_EXISTS',
  'SERVER_ERROR',
  'BAD_RESPONSE',
];

/** Makes the secret for this machine. A server that makes none does not make the login fail. */
async function makeSecret(login: Proved): Promise<Proved> {
  const { run, connection } = login;
  const [typed] = run.settings.all.secretAlias;
  let alias = typed?.level === 'flag' ? String(typed.value) : ALIAS;
  const create = async () => {
    const value = new Sensitive(await connection.createSecret(alias));
    run.ports.reporter.did(`made the secret ${alias}`);
    return { alias, value };
  };
  run.ports.interruption.begin();
  try {
    const secret = await create().catch(async (error) => {
      if (expected(error).code !== 'ALREADY_EXISTS' || alias !== ALIAS) throw error;
      const taken = new Set((await connection.listSecrets()).map((one) => one.alias));
      for (let n = 2; taken.has(alias); n++) alias = `${ALIAS}_${n}`;
      return create();
    });
    return { ...login, secret };
  } catch (error) {
    const { code, message, fix, ambiguous } = expected(error);
    if (ambiguous)
      throw new GraphException(code, `${message} So the secret ${alias} may have been made.`, {
        hint: ['drop it, then log in again', { command: `secret drop ${alias} --ignore-missing` }],
      });
    if (!STILL_LOGGED_IN.includes(code)) throw error;
    const what = `You are logged in, but no secret is saved: ${message}`;
    return { ...login, failure: new GraphException(code, what, { fix }) };
  }
}

/** Saves the secret, or the password. What cannot be saved is told by `failure`. */
async function save(login: Proved, savePassword: boolean) {
  const { run, store, credential, secret } = login;
  const { username } = credential;
  try {
    if (secret) return { secretAlias: await saveNamed(login, secret), savedPassword: false };
    if (!savePassword || username === undefined) return { savedPassword: false };
    const [key, value] = [`password of ${username}`, await credential.value()];
    await saveCredential(run, store, { kind: 'password', key, info: { graph: null, username }, value });
    return { savedPassword: true };
  } catch (error) {
    // The value of a secret that was made is shown even after a bug, for the server never shows it again.
    const bug = new GraphException('INTERNAL', 'graphcred ran into a bug.');
    const { code, message, fix } = error instanceof GraphException ? error : bug;
    const isMade = secret !== undefined && credential.kind === 'password';
    const what = isMade ? 'The secret was created, but it' : 'You are logged in, but the credential';
    const failure = new GraphException(code, `${what} could not be saved: ${message}`, {
      hint: isMade ? 'keep the value that was printed: it is never shown again' : fix,
    });
    return { savedPassword: false, failure };
  }
}

/** Returns what the profile names the saved secret by. */
async function saveNamed(login: Login, { alias, value }: NewSecret): Promise<string> {
  const { run, store, credential } = login;
  const id = await saveSecret(run, store, { alias, savedFor: credential, value });
  if (alias !== undefined) await removeReplaced(login, alias, value);
  // Without a user name, another person's secret may have the same alias.
  return credential.username === undefined ? id : (alias ?? id);
}

/**
 * Returns the name of the saved secret that the profile is to use beside a password: of those of this user for these
 * servers and, on 3.x, this graph, the one that the profile names, else the only one.
 */
async function savedHere(run: Run, store: Store, credential: Credential): Promise<string | undefined> {
  if (credential.kind === 'secret') return credential.level === 'store' ? credential.savedAs : undefined;
  if (!STORES[store.name].keeps.credentials) return undefined;
  const { version } = await connect(run, undefined);
  const servers = await serversInForce(run);
  const own = (await savedForOwner({ run, store, version })).filter(
    (record) => record.info.username === credential.username && isForPair(record, servers),
  );
  const names = new Set(own.flatMap((record) => aliasOf(record) ?? []));
  if (run.settings.secretAlias !== undefined && names.has(run.settings.secretAlias))
    return run.settings.secretAlias;
  return names.size === 1 ? [...names][0] : undefined;
}

/**
 * Moves everything to the store that was typed, and writes the profile, which loses what belonged to another login or
 * address.
 */
async function writeLogin(
  { run, store, credential }: Login,
  newAlias: string | undefined,
  chosen: StoreName | undefined,
) {
  const removed = keysOfOldAddress(run);
  run.ports.interruption.begin();
  if (chosen !== undefined) await run.stores.moveTo(chosen);
  // A secret that was saved before, or came along, goes on to do the work of the password.
  const secretAlias = newAlias ?? (await savedHere(run, store, credential));
  // A credential was typed, so the provider is no longer what this profile logs in with.
  const dropped = namesAnother(run, credential) ? ['oidc', 'secretAlias'] : ['oidc'];
  const profile = {
    ...profileOf(run, credential.username),
    ...(secretAlias !== undefined && { secretAlias }),
  };
  const file = await writeOwnProfile(run, profile, dropped);
  const credentials = removed.filter((key) => /^(password|secret|jwt|oidc)/.test(key) && !(key in profile));
  if (credentials.length > 0)
    run.ports.reporter.warn(
      `the profile has a new address, so the credentials of the old one are removed from it: ${credentials.join(', ')}`,
    );
  return { file, secretAlias };
}

/** Whether the profile in the file names a secret of another login. */
function namesAnother({ settings: { file, profile } }: Run, credential: Credential): boolean {
  const before = file?.config.profiles.get(profile.name)?.username;
  const isGiven = credential.kind === 'secret' && credential.level !== 'store';
  return isGiven || before !== credential.username;
}

/** Keeps a token of the secret that was saved, for the next command. A failure does not make the login fail. */
async function keepFirstToken({ run, store, credential, token }: Proved, value: Sensitive): Promise<void> {
  const { username, owner } = credential;
  const secret: Credential = {
    ...{ kind: 'secret', label: 'saved secret', level: 'store' },
    ...{ username, owner, principal: secretId(value), value: async () => value },
  };
  try {
    const cache = await tokenCache(run, store, secret);
    await cache.keep(token ?? (await mintFor(run, secret, false)));
  } catch (error) {
    const { message, fix } = expected(error);
    run.ports.reporter.warn([`there is no token yet: ${message.replace(/\.$/, '')}`, ...fix]);
  }
}
