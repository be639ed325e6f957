import type { GraphConnection } from '../../core/connection.js';
import { GraphException } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import { Sensitive } from '../../core/sensitive.js';
import { removeReplaced, savePassword, saveSecret } from '../secret/saved.js';
import { findCredential } from '../session/credential.js';
import { openSession } from '../session/session.js';
import { chooseStore } from '../session/store.js';
import type { Session } from '../session/types.js';
import { obtainToken } from '../token/obtain.js';
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
  session: Session,
  { connected, credential }: LoggedIn,
  { alias, keepsGiven }: LoginChoices,
): Promise<Made> {
  if (keepsGiven) return { value: await credential.value(), isNew: false, failure: undefined };
  if (alias === undefined) return { value: undefined, isNew: false, failure: undefined };
  session.invocation.interruption?.begin();
  try {
    const value = new Sensitive(await connected.connection.createSecret(alias));
    return { value, isNew: true, failure: undefined };
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    const { code, message, hint } = error;
    if (session.invocation.interruption?.status !== undefined) {
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
  { connected }: LoggedIn,
  alias: string,
  error: unknown,
): Promise<unknown> {
  const { failed } = await connected.connection.dropSecrets([alias]);
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

export async function save(
  session: Session,
  login: LoggedIn,
  { store, alias, password }: LoginChoices,
  { value, isNew }: Made,
): Promise<Saved> {
  const { credential, connected } = login;
  const { username } = credential;
  let name: string | undefined;
  try {
    if (value !== undefined) {
      const known = isNew ? alias : await aliasOnServer(connected.connection, value);
      const id = await saveSecret(session, store, { alias: known, savedFor: credential, value });
      if (isNew && known !== undefined)
        await removeReplaced({ session, store, credential, version: connected.version }, known, value);
      // Without a user name, another person's secret may have the same alias.
      name = username === undefined ? id : (known ?? id);
    }
  } catch (error) {
    if (isNew && !(error instanceof GraphException)) session.invocation.report.result(value?.reveal() ?? '');
    const what = isNew ? 'The secret was created, but it' : 'You are logged in, but the secret';
    const hint = isNew ? 'keep the value that was printed: it is never shown again' : undefined;
    return { name: undefined, password: false, failure: unsaved(error, what, hint) };
  }
  try {
    if (password && username !== undefined)
      await savePassword(session, store, { username, value: await credential.value() });
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

/** Mints a first token for the next command. A failure does not make the login fail. */
export async function firstToken({ invocation, learned }: Session, profile: string): Promise<void> {
  const credentialFlags = ['password-stdin', 'password-file', 'secret-stdin', 'secret-file', 'secret-alias'];
  const flags = Object.fromEntries(
    Object.entries(invocation.flags).filter(([name]) => !credentialFlags.includes(name)),
  );
  try {
    learned.deadline?.check();
    const opened = await openSession({ ...invocation, flags }, { newProfile: true, profile, noInput: true });
    // The version is not asked for again, and the time that was used stays used.
    const session = { ...opened, learned };
    const store = await chooseStore(session);
    // No token is minted from a secret in a variable: only a saved secret is certain to be used by the next command.
    const { level } = await findCredential(session, 'mint', async () => store);
    if (level === 'store') await obtainToken(session, { fresh: false });
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    invocation.report.warn(`there is no token yet: ${error.message}`);
  }
}
