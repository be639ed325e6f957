import type { Call } from '../../auth/call.js';
import { findCredential } from '../../auth/choose.js';
import { connect, requireGraph } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import { isSamePair, serversInForce, serversOfRecord } from '../../auth/servers.js';
import { savedSources } from '../../auth/sources.js';
import { chooseStore, configDirOf, moveTo, open, recordStore, requireKeeping } from '../../auth/stores.js';
import { writeProfile } from '../../config/write.js';
import { expected, GraphException } from '../../core/errors.js';
import { isPlainAlias } from '../../core/protocol/gsql.js';
import { maskSecret } from '../../core/redact.js';
import { Sensitive } from '../../core/sensitive.js';
import { noneStore, STORES, type Store, type StoreName } from '../../store/store.js';
import { getToken } from '../get-token.js';
import type { Login } from '../gsql-login.js';
import { removeReplaced, saveCredential, savedForOwner, saveSecret, tryStore } from '../saved-secrets.js';
import { pluralize, secretInstead, shortPath } from '../words.js';
import { becomesDefault, keysOfOldAddress, profileOf, writeOwnProfile } from './profile.js';

const MAX_ATTEMPTS = 3;
const PROOF_SECONDS = 60;

export interface LoginInput {
  readonly savePassword: boolean;
  /** The store that was typed: everything moves there, and later runs use it. */
  readonly chosen: StoreName | undefined;
  /** Called with a new secret when a bug in graphcred prevents saving it: the server never shows it again. */
  onUnsaved(secret: string): void;
}

/** A login under way. Each phase adds what it found out or did. */
export interface LoginState extends Login {
  store: Store;
  /** The aliases that exist on the server, as far as they are known. */
  readonly taken: ReadonlySet<string>;
  /** The store chosen because the first one cannot be used. */
  instead?: StoreName;
  /** The secret to save: the given one, or a new one of the server. */
  secret?: Sensitive;
  /** The name of the new secret; undefined when none is made. */
  alias?: string | undefined;
  /** What the profile names a saved secret by: its alias, else its id. */
  secretAlias?: string | undefined;
  /** Whether the password is saved. */
  password: boolean;
  makeDefault: boolean;
  /** The config file with the profile. */
  file: string;
  /** How to work without the password, which is not saved. */
  advice?: string | undefined;
  /** Why something could not be made or saved. The profile is written anyway. */
  failure?: GraphException;
}

/**
 * Logs in, saves what works without a password from then on, and writes the profile. A person is asked what to save.
 * @throws GraphException when nothing was written
 */
export async function logIn(call: Call, input: LoginInput): Promise<LoginState> {
  const { savePassword, chosen } = input;
  const store = await chooseStore(call, { needed: true });
  if (savePassword) requireKeeping(store, '--save-password');
  const login = await proveLogin(call, store, savePassword);
  await offer(login);
  // Nothing is written yet. From here on no request is cut, so that nothing is made that nobody knows.
  call.learned.deadline?.check();
  await makeSecret(login);
  await writeLogin(login, chosen);
  await save(login, input.onUnsaved);
  const { secretAlias } = login;
  if (secretAlias !== undefined) {
    const { name } = call.settings.profile;
    await writeProfile(configDirOf(call), name, { profile: { secretAlias }, removed: [] });
  } else if (login.credential.kind === 'password' && !call.canPrompt && !login.password) {
    login.advice = await adviceUnsaved(login);
  }
  return login;
}

/** Returns how to work without the password, unless the store has it from before. */
async function adviceUnsaved({ call, store, credential }: LoginState): Promise<string | undefined> {
  const used = await credential.value();
  for (const { kind, read } of await savedSources(call, store)) {
    // A password that cannot be read now does not help.
    const saved = kind === 'password' ? await read().catch(() => undefined) : undefined;
    if (saved?.reveal() === used.reveal()) return undefined;
  }
  const isUsable =
    STORES[store.name].keeps.credentials &&
    (await store.check().then(
      () => true,
      () => false,
    ));
  const instead = secretInstead(isUsable ? store.name : 'none');
  const orSave = isUsable ? ', or log in with --save-password' : '';
  return `the password is not kept; to work without it: ${instead}${orSave}`;
}

/**
 * Logs in to test the credential. If a person can be asked, a saved password is tried first, and a new one is asked for
 * up to three times when the server refuses it.
 */
async function proveLogin(call: Call, store: Store, savePassword: boolean): Promise<LoginState> {
  const { ports, canPrompt } = call;
  const purpose = savePassword ? 'login' : 'mint';
  // A saved secret cannot create another secret, so a login uses a password.
  let from = canPrompt ? passwordsOf(store) : store;
  for (let attemptsLeft = MAX_ATTEMPTS - 1; ; attemptsLeft--) {
    const credential = await findCredential(call, purpose, async () => from);
    refuseUnsaved(credential, savePassword);
    if (canPrompt && credential.level === 'store')
      ports.reporter.note(`using the saved password of ${credential.username}`);
    await credential.value();
    call.learned.deadline?.check();
    try {
      return await prove(call, store, credential, savePassword);
    } catch (error) {
      const isWrong = error instanceof GraphException && error.code === 'AUTH_FAILED';
      if (isWrong && canPrompt && credential.level === 'store') {
        ports.reporter.warn('the server refused the saved password; type the present one');
        from = noneStore;
        attemptsLeft = MAX_ATTEMPTS;
        continue;
      }
      if (!isWrong || credential.level !== 'prompt' || attemptsLeft === 0) throw error;
      ports.reporter.warn(`${error.message} Try again (${pluralize(attemptsLeft, 'more attempt')}).`);
    }
  }
}

function passwordsOf(store: Store): Store {
  return { ...store, list: async () => (await store.list()).filter(({ kind }) => kind === 'password') };
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

async function prove(
  call: Call,
  store: Store,
  credential: Credential,
  password: boolean,
): Promise<LoginState> {
  try {
    const connected = await connect(call, credential);
    const { connection, version } = connected;
    const login = { ...connected, call, store, credential, password, makeDefault: false, file: '' };
    if (credential.kind === 'secret') {
      await connection.mintToken({ lifetime: PROOF_SECONDS }).catch(hintAtPassword);
      return { ...login, taken: new Set() };
    }
    if (version.secretsNeedGraph) requireGraph(call);
    return { ...login, taken: new Set((await connection.listSecrets()).map(({ alias }) => alias)) };
  } catch (error) {
    await askGraphAgain(call, error);
    return prove(call, store, credential, password);
  }
}

/** The profile may not be there yet, so that no secrets can be listed with it: names the login by password instead. */
function hintAtPassword(error: unknown): never {
  const { code, message, remedies } = expected(error);
  if (!remedies.includes('list-with-password')) throw error;
  throw new GraphException(code, message, {
    hint: 'it may have been dropped; log in with the password: graphcred login -u USER --password-file FILE',
  });
}

/** Asks a person for another graph when the server knows none of this name or can have none; else throws the error. */
async function askGraphAgain(call: Call, error: unknown): Promise<void> {
  const isWrong = error instanceof GraphException && (error.code === 'NOT_FOUND' || error.option === 'graph');
  if (!isWrong || !call.canPrompt || call.graph === undefined) throw error;
  const { code, message, hint } = error;
  // What a name may have helps with the next answer.
  call.ports.reporter.warn(code === 'USAGE' ? `${message.replace(/\.$/, '')} (${hint})` : message);
  call.graph = await call.ports.prompter.text('Graph');
}

/**
 * Asks the questions that follow once the server has accepted the credential. Nothing is written yet, so a person who
 * stops here leaves nothing behind.
 */
async function offer(login: LoginState): Promise<void> {
  const { call, credential } = login;
  await useUsableStore(login);
  const keeps = STORES[login.store.name].keeps.credentials;
  const byPassword = credential.kind === 'password';
  if (!byPassword) login.secretAlias = credential.savedAs;
  // The store `redis` holds only tokens, so a login needs no Redis server.
  else if (keeps) login.secretAlias = await aliasSavedHere(login);
  if (!byPassword && credential.level !== 'store' && keeps) login.secret = await credential.value();
  const isSaved = login.secretAlias !== undefined;
  if (byPassword && !isSaved && keeps && call.canPrompt) login.alias = await askAlias(login);
  // A saved secret does the work of a password where the server takes it as a login.
  const suffices = login.version.secretLogsIn && (isSaved || login.alias !== undefined);
  if (credential.level === 'prompt' && !suffices && keeps) login.password ||= await askToSavePassword(login);
  login.makeDefault = await becomesDefault(call);
}

/** Tests the store if something is to be stored. If it cannot be used, the person is asked for another one. */
async function useUsableStore(login: LoginState): Promise<void> {
  const { call, credential, store, password } = login;
  const { ports, canPrompt } = call;
  const asked = canPrompt || credential.kind === 'secret' || password;
  const isSavedAlready = credential.level === 'store' && !canPrompt;
  if (!STORES[store.name].keeps.credentials || isSavedAlready || !asked) return;
  try {
    await tryStore(call, store);
  } catch (error) {
    if (!(error instanceof GraphException) || !canPrompt || call.store.setAt !== undefined) throw error;
    ports.reporter.warn(error.message);
    login.instead = await ports.prompter.choice<StoreName>('Where to keep secrets and tokens instead', [
      {
        name: `in ${shortPath(call.stateDir ?? '', ports.home)} (protected by file permissions)`,
        value: 'file',
      },
      { name: 'nowhere: every command asks the server anew', value: 'none' },
    ]);
    login.store = await open(call, login.instead, true);
  }
}

/**
 * Finds the saved secret that the profile is to name: of those of this user for these servers and, on 3.x, this graph,
 * the one that the profile names, else the only one.
 */
async function aliasSavedHere(login: LoginState): Promise<string | undefined> {
  const { call, credential } = login;
  const servers = await serversInForce(call);
  const own = (await savedForOwner(login)).filter(
    (record) =>
      record.info.username === credential.username &&
      record.info.alias !== undefined &&
      isSamePair(serversOfRecord(record), servers),
  );
  const names = new Set(own.map(({ info }) => String(info.rotationOf ?? info.alias)));
  if (call.secretAlias !== undefined && names.has(call.secretAlias)) return call.secretAlias;
  return names.size === 1 ? [...names][0] : undefined;
}

/** Asks for the name of a secret to make and save. */
async function askAlias({ call, taken }: LoginState): Promise<string | undefined> {
  let suggestion = 'graphcred';
  for (let n = 2; taken.has(suggestion); n++) suggestion = `graphcred_${n}`;
  const refuse = (text: string) => {
    if (text === '-') return undefined;
    if (taken.has(text)) return 'There is a secret of this name already.';
    if (text.length > 128) return 'An alias has 128 characters at most.';
    return isPlainAlias(text) ? undefined : 'Begin with a letter or _, then letters, digits and _.';
  };
  const question = 'Create a secret for this machine? Name (- for none)';
  const alias = await call.ports.prompter.text(question, { suggestion, refuse });
  return alias === '-' ? undefined : alias;
}

/** Asks a person who typed the password whether to save it; the answer proposed is yes for the keychain. */
function askToSavePassword({ call, store }: LoginState): Promise<boolean> {
  const inKeychain = STORES[store.name].canAsk;
  const question = inKeychain
    ? 'Save the password in the keychain?'
    : 'Save the password? Anyone who can read your home folder can read it.';
  return call.ports.prompter.yes(question, { proposed: inKeychain });
}

/** Makes the secret that a person has named. */
export async function makeSecret(login: LoginState): Promise<void> {
  const { call, connection, alias } = login;
  if (alias === undefined) return;
  call.interruption?.begin();
  try {
    login.secret = new Sensitive(await connection.createSecret(alias));
  } catch (error) {
    const { code, message, hint } = expected(error);
    if (call.interruption?.status !== undefined)
      throw new GraphException(code, `${message} So the secret ${alias} may have been made.`, {
        hint: `drop it, then log in again: graphcred secret drop ${alias} --ignore-missing`,
      });
    login.alias = undefined;
    const what = `You are logged in, but no secret is saved: ${message}`;
    login.failure = new GraphException(code, what, { hint });
  }
}

/** Checks the graph, writes the profile, and moves what is stored to the store that was typed. */
async function writeLogin(login: LoginState, chosen: StoreName | undefined): Promise<void> {
  const { call, credential, makeDefault, instead } = login;
  const removed = keysOfOldAddress(call);
  try {
    await proveGraph(login);
    call.interruption?.begin();
    // A credential was typed, so the provider is no longer what this profile logs in with.
    const dropped = namesAnother(call, credential) ? ['oidc', 'secretAlias'] : ['oidc'];
    // The graph may have been asked for again since.
    login.file = await writeOwnProfile(call, profileOf(call, credential.username), dropped, makeDefault);
    if (chosen !== undefined) {
      await moveTo(call, chosen);
      // A secret that came along does the work of the password.
      if (credential.kind === 'password') login.secretAlias ??= await aliasSavedHere(login);
    } else if (instead !== undefined) recordStore(call, instead);
  } catch (error) {
    // The new secret is dropped, because nobody has seen its value.
    throw login.alias === undefined ? error : await dropMadeSecret(login, login.alias, error);
  }
  const credentials = removed.filter((key) => /^(password|secret|jwt|oidc)/.test(key));
  if (credentials.length > 0)
    call.ports.reporter.warn(
      `the profile has a new address, so the credentials of the old one are removed from it: ${credentials.join(', ')}`,
    );
}

/** Whether the profile in the file names a secret of another login. */
function namesAnother({ settings: { file, profile } }: Call, credential: Credential): boolean {
  const before = file?.config.profiles.get(profile.name)?.username;
  const isGiven = credential.kind === 'secret' && credential.level !== 'store';
  return isGiven || before !== credential.username;
}

/**
 * Checks the graph by minting a token for it, because on servers where secrets belong to no graph, listing them does
 * not show whether the graph exists. Without a secret made by this login the server makes one for the token, which is
 * dropped again.
 * @throws GraphException NOT_FOUND
 */
export async function proveGraph(login: LoginState): Promise<void> {
  const { call, connection, version, credential, secret } = login;
  const { graph, ports, interruption } = call;
  if (graph === undefined || version.secretsNeedGraph || credential.kind === 'secret') return;
  // From here on the server is changed.
  interruption?.begin();
  try {
    await connection.mintToken({ lifetime: PROOF_SECONDS, secret: secret?.reveal() });
    const failure = await dropGenerated(login);
    if (failure !== undefined && interruption?.status !== undefined) throw failure;
    if (failure !== undefined)
      ports.reporter.warn(
        'the server may have made a secret AUTO_GENERATED_ALIAS_… for this login, which is not dropped; to drop it: graphcred secret prune',
      );
  } catch (error) {
    // The server may have made the secret before it found that there is no such graph.
    if (error instanceof GraphException && error.code === 'NOT_FOUND') await dropGenerated(login);
    // A user without the privilege to mint is still logged in; the graph is then not checked.
    if (error instanceof GraphException && error.code === 'PERMISSION_DENIED') return;
    if (interruption?.status !== undefined) throw secret === undefined ? withPruneHint(error) : error;
    await askGraphAgain(call, error);
    await proveGraph({ ...login, ...(await connect(call, credential)) });
  }
}

/**
 * Drops the secret that the server made for a token minted by password, if it cannot be anybody else's.
 * @returns why it could not be dropped
 */
async function dropGenerated({ connection, taken, secret }: LoginState): Promise<unknown> {
  if (secret !== undefined) return undefined;
  try {
    const made = (await connection.listSecrets()).filter(
      ({ alias }) => !taken.has(alias) && alias.startsWith('AUTO_GENERATED_ALIAS_'),
    );
    if (made.length !== 1) return undefined;
    const { failed } = await connection.dropSecrets(made.map(({ alias }) => alias));
    return failed?.error;
  } catch (error) {
    // Whether there is such a graph is known already, so this does not decide whether the login succeeds.
    return expected(error);
  }
}

function withPruneHint(error: unknown): GraphException {
  const { code, message } = expected(error);
  const maybe = 'The server may have made a secret AUTO_GENERATED_ALIAS_… for this login.';
  return new GraphException(code, `${message} ${maybe}`, {
    hint: 'drop it, then log in again: graphcred secret prune',
  });
}

/** Drops the new secret of a failed login. If it cannot be dropped, the error names it. */
export async function dropMadeSecret(
  { connection }: Pick<LoginState, 'connection'>,
  alias: string,
  error: unknown,
): Promise<unknown> {
  const { failed } = await connection.dropSecrets([alias]);
  if (failed === undefined) return error;
  const { code, message } = expected(error);
  return new GraphException(code, `${message} The secret ${alias} was made and stays.`, {
    hint: `drop it, then log in again: graphcred secret drop ${alias}`,
  });
}

/** Saves the secret and the password. What cannot be saved is told by `failure`. */
export async function save(login: LoginState, onUnsaved: LoginInput['onUnsaved']): Promise<void> {
  const { call, store, credential, secret, alias, password } = login;
  const { username } = credential;
  login.password = false;
  try {
    if (secret !== undefined) login.secretAlias = await saveNamed(login, secret);
  } catch (error) {
    const isNew = alias !== undefined;
    if (isNew && !(error instanceof GraphException)) onUnsaved(secret?.reveal() ?? '');
    const what = isNew ? 'The secret was created, but it' : 'You are logged in, but the secret';
    const hint = isNew ? 'keep the value that was printed: it is never shown again' : undefined;
    login.failure = unsaved(error, what, hint);
    return;
  }
  if (!password || username === undefined) return;
  try {
    const [key, value] = [`password of ${username}`, await credential.value()];
    await saveCredential(call, store, { kind: 'password', key, info: { username }, value });
    login.password = true;
  } catch (error) {
    login.failure ??= unsaved(error, 'You are logged in, but the password');
  }
}

/** Returns what the profile names the saved secret by. */
async function saveNamed(login: LoginState, value: Sensitive): Promise<string> {
  const { call, store, credential, alias } = login;
  const known = alias ?? (await aliasOnServer(login, value));
  const id = await saveSecret(call, store, { alias: known, savedFor: credential, value });
  if (alias !== undefined) await removeReplaced(login, alias, value);
  // Without a user name, another person's secret may have the same alias.
  return credential.username === undefined ? id : (known ?? id);
}

/**
 * Finds the alias of a given secret: on 4.x, where a secret can log in, the server's list contains it by its mask. On
 * 3.x there is no list without a password.
 */
async function aliasOnServer({ connection }: LoginState, secret: Sensitive): Promise<string | undefined> {
  const mask = maskSecret(secret.reveal());
  const fitting = (await connection.listSecrets().catch(() => [])).filter(({ masked }) => masked === mask);
  return fitting.length === 1 ? fitting[0]?.alias : undefined;
}

function unsaved(error: unknown, what: string, advice?: string): GraphException {
  const { code, message, hint } = expected(error);
  return new GraphException(code, `${what} could not be saved: ${message}`, { hint: advice ?? hint });
}

/** Mints a token from the saved secret. One in a variable is not certain to be used by the next command. */
export async function mintFirstToken(call: Call): Promise<void> {
  const store = await chooseStore(call);
  const { level } = await findCredential(call, 'mint', async () => store);
  if (level === 'store') await getToken(call, { fresh: false });
}
