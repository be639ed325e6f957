import type { Call } from '../../auth/call.js';
import { findCredential } from '../../auth/choose.js';
import { type Connected, connect, requireGraph } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import { GraphException } from '../../core/errors.js';
import { noneStore } from '../../store/none.js';
import type { Store } from '../../store/store.js';
import { pluralize } from '../words.js';

const MAX_ATTEMPTS = 3;
const PROOF_SECONDS = 60;

export interface LoggedIn extends Connected {
  readonly credential: Credential;
  /** The aliases that exist on the server, as far as they are known. */
  readonly taken: ReadonlySet<string>;
}

/**
 * Logs in to test the credential. If a person can be asked, a saved password is tried first, and a new one is asked for
 * up to three times when the server refuses it.
 */
export async function logIn(call: Call, store: Store, savePassword: boolean): Promise<LoggedIn> {
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
      return await proveLogin(call, credential);
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

async function proveLogin(call: Call, credential: Credential): Promise<LoggedIn> {
  try {
    const connected = await connect(call, credential);
    return { ...connected, credential, taken: await prove(call, connected, credential) };
  } catch (error) {
    await askGraphAgain(call, error);
    return proveLogin(call, credential);
  }
}

/** Asks a person for another graph when the server knows none of this name; else throws the error. */
async function askGraphAgain(call: Call, error: unknown): Promise<void> {
  const isUnknown = error instanceof GraphException && error.code === 'NOT_FOUND';
  if (!isUnknown || !call.canPrompt || call.graph === undefined) throw error;
  call.ports.reporter.warn(error.message);
  call.graph = await call.ports.prompter.text('Graph');
}

function passwordsOf(store: Store): Store {
  return { ...store, list: async () => (await store.list()).filter(({ kind }) => kind === 'password') };
}

/**
 * Tests a credential.
 * @returns the aliases that are taken, as far as they are known
 */
async function prove(
  call: Call,
  { connection, version }: Connected,
  credential: Credential,
): Promise<ReadonlySet<string>> {
  if (credential.kind === 'secret') {
    await connection.mintToken({ lifetime: PROOF_SECONDS });
    return new Set();
  }
  if (version.secretsNeedGraph) requireGraph(call);
  return new Set((await connection.listSecrets()).map(({ alias }) => alias));
}

/**
 * Checks the graph by minting a token for it, because on servers where secrets belong to no graph, listing them does
 * not show whether the graph exists.
 * @param secret made by this login; without one the server makes a secret for the token, which is dropped again
 * @throws GraphException NOT_FOUND
 */
export async function proveGraph(call: Call, login: LoggedIn, secret: string | undefined): Promise<void> {
  const { graph, ports } = call;
  const { connection, version, credential } = login;
  if (graph === undefined || version.secretsNeedGraph || credential.kind === 'secret') return;
  // From here on the server is changed.
  call.interruption?.begin();
  try {
    if (secret === undefined) {
      const failure = await mintAndTidyUp(login);
      if (failure !== undefined && call.interruption?.status !== undefined) throw failure;
      if (failure !== undefined)
        ports.reporter.warn(
          'the server may have made a secret AUTO_GENERATED_ALIAS_… for this login, which is not dropped; to drop it: graphcred secret prune',
        );
    } else await connection.mintToken({ lifetime: PROOF_SECONDS, secret });
  } catch (error) {
    // A user without the privilege to mint is still logged in; the graph is then not checked.
    if (error instanceof GraphException && error.code === 'PERMISSION_DENIED') return;
    if (call.interruption?.status !== undefined) throw secret === undefined ? withPruneHint(error) : error;
    await askGraphAgain(call, error);
    await proveGraph(call, { ...login, ...(await connect(call, credential)) }, secret);
  }
}

/**
 * Mints a token by password. The server creates a secret for that, which is dropped again.
 * @returns why it could not be dropped
 */
async function mintAndTidyUp(login: LoggedIn): Promise<unknown> {
  try {
    await login.connection.mintToken({ lifetime: PROOF_SECONDS });
  } catch (error) {
    // The server may have made the secret before it found that there is no such graph.
    if (error instanceof GraphException && error.code === 'NOT_FOUND') await tidyUp(login);
    throw error;
  }
  return tidyUp(login);
}

/** Drops the secret that the server made for a token, if it cannot be anybody else's. Returns why it could not be dropped. */
async function tidyUp({ connection, taken }: LoggedIn): Promise<unknown> {
  try {
    const made = (await connection.listSecrets()).filter(
      ({ alias }) => !taken.has(alias) && alias.startsWith('AUTO_GENERATED_ALIAS_'),
    );
    if (made.length !== 1) return undefined;
    const { failed } = await connection.dropSecrets(made.map(({ alias }) => alias));
    return failed?.error;
  } catch (error) {
    // Whether there is such a graph is known already, so this does not decide whether the login succeeds.
    if (!(error instanceof GraphException)) throw error;
    return error;
  }
}

function withPruneHint(error: unknown): unknown {
  if (!(error instanceof GraphException)) return error;
  return new GraphException(
    error.code,
    `${error.message} The server may have made a secret AUTO_GENERATED_ALIAS_… for this login.`,
    { hint: 'drop it, then log in again: graphcred secret prune' },
  );
}
