import type { Call } from '../../auth/call.js';
import type { GraphConnection } from '../../core/connection.js';
import { GraphException } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import { Sensitive } from '../../core/sensitive.js';
import type { Store } from '../../store/store.js';
import { removeReplaced, saveCredential, saveSecret } from '../saved-secrets.js';
import type { LoginChoices } from './offer.js';
import type { LoggedIn } from './prove.js';

export interface Made {
  /** The value of the secret to store. */
  readonly value: Sensitive | undefined;
  /** Whether the server has just created it. */
  readonly isNew: boolean;
  /** Why no secret was made, if one was wanted. The profile is written anyway. */
  readonly failure: GraphException | undefined;
}

/** Returns the secret to store: the given one, or a new one from the server. */
export async function makeSecret(
  call: Call,
  { connection, credential }: LoggedIn,
  { alias, keepsGiven }: LoginChoices,
): Promise<Made> {
  if (keepsGiven) return { value: await credential.value(), isNew: false, failure: undefined };
  if (alias === undefined) return { value: undefined, isNew: false, failure: undefined };
  call.interruption?.begin();
  try {
    const value = new Sensitive(await connection.createSecret(alias));
    return { value, isNew: true, failure: undefined };
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    const { code, message, hint } = error;
    if (call.interruption?.status !== undefined) {
      throw new GraphException(code, `${message} So the secret ${alias} may have been made.`, {
        hint: `drop it, then log in again: graphcred secret drop ${alias} --ignore-missing`,
      });
    }
    const what = `You are logged in, but no secret is saved: ${message}`;
    const failure = new GraphException(code, what, hint === undefined ? {} : { hint });
    return { value: undefined, isNew: false, failure };
  }
}

/** Drops the new secret of a failed login. If it cannot be dropped, the error names it. */
export async function dropMadeSecret(
  { connection }: LoggedIn,
  alias: string,
  error: unknown,
): Promise<unknown> {
  const { failed } = await connection.dropSecrets([alias]);
  if (failed === undefined || !(error instanceof GraphException)) return error;
  return new GraphException(error.code, `${error.message} The secret ${alias} was made and stays.`, {
    hint: `drop it, then log in again: graphcred secret drop ${alias}`,
  });
}

interface Saved {
  /** What the profile names the saved secret by: its alias, else its id; undefined when none is saved. */
  readonly name: string | undefined;
  readonly password: boolean;
  /** Why something could not be saved. The profile is written anyway. */
  readonly failure?: GraphException;
}

/** @param show prints a new secret that a bug keeps from being saved */
export async function save(
  call: Call,
  login: LoggedIn,
  { store, alias, password }: LoginChoices,
  { value, isNew }: Made,
  show: (secret: string) => void,
): Promise<Saved> {
  const { credential } = login;
  const { username } = credential;
  let name: string | undefined;
  try {
    if (value !== undefined) name = await saveNamed(call, login, store, value, isNew ? alias : undefined);
  } catch (error) {
    if (isNew && !(error instanceof GraphException)) show(value?.reveal() ?? '');
    const what = isNew ? 'The secret was created, but it' : 'You are logged in, but the secret';
    const hint = isNew ? 'keep the value that was printed: it is never shown again' : undefined;
    return { name: undefined, password: false, failure: unsaved(error, what, hint) };
  }
  try {
    if (password && username !== undefined)
      await saveCredential(call, store, {
        kind: 'password',
        key: `password of ${username}`,
        info: { username },
        value: await credential.value(),
      });
  } catch (error) {
    return {
      name,
      password: false,
      failure: unsaved(error, 'You are logged in, but the password'),
    };
  }
  return { name, password };
}

/**
 * @param alias the name of a new secret
 * @returns what the profile names it by
 */
async function saveNamed(
  call: Call,
  login: LoggedIn,
  store: Store,
  value: Sensitive,
  alias: string | undefined,
): Promise<string> {
  const { credential } = login;
  const known = alias ?? (await aliasOnServer(login.connection, value));
  const id = await saveSecret(call, store, { alias: known, savedFor: credential, value });
  if (alias !== undefined) await removeReplaced({ ...login, call, store }, alias, value);
  // Without a user name, another person's secret may have the same alias.
  return credential.username === undefined ? id : (known ?? id);
}

/**
 * Finds the alias of a given secret: on 4.x, where a secret can log in, the server's list contains it by its mask. On
 * 3.x there is no list without a password.
 */
async function aliasOnServer(connection: GraphConnection, secret: Sensitive): Promise<string | undefined> {
  const mask = maskSecret(secret.reveal());
  const fitting = (await connection.listSecrets().catch(() => [])).filter(({ masked }) => masked === mask);
  return fitting.length === 1 ? fitting[0]?.alias : undefined;
}

function unsaved(error: unknown, what: string, advice?: string): GraphException {
  if (!(error instanceof GraphException)) throw error;
  const hint = advice ?? error.hint;
  return new GraphException(
    error.code,
    `${what} could not be saved: ${error.message}`,
    hint === undefined ? {} : { hint },
  );
}
