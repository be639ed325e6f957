import { GraphException } from '../core/errors.js';
import { isPlainAlias } from '../core/protocol/gsql.js';
import { Sensitive } from '../core/sensitive.js';
import { expected } from './errors.js';
import type { Login } from './gsql-login.js';
import { removeReplaced, saveSecret, tryStore } from './saved-secrets.js';

export interface CreateInput {
  /** The name to give it; undefined for one that the server generates. */
  readonly wanted: string | undefined;
  readonly save: boolean;
  /** Called with a secret that was made but could not be saved: the server never shows it again. */
  onUnsaved(alias: string, value: Sensitive): void;
}

/**
 * Checks an alias before anything is sent.
 * @throws GraphException USAGE
 */
export function checkAlias(alias: string): void {
  if (isPlainAlias(alias)) return;
  throw new GraphException('USAGE', 'This alias cannot be used.', {
    hint: 'begin with a letter or _, then letters, digits and _, 128 characters at most',
  });
}

/** Creates a secret on the server, and saves it if that is wanted. */
export async function createSecret(
  login: Login,
  { wanted, save, onUnsaved }: CreateInput,
): Promise<{ alias: string; value: Sensitive }> {
  const { call, connection, credential, store } = login;
  // The value is shown only once, so the store is tested before the secret is created.
  if (save) await tryStore(call, store);
  call.interruption?.begin();
  const made = await connection.createSecret(wanted, { withAlias: true }).catch((error) => {
    throw withNextStep(error, wanted);
  });
  const [[alias, secret]] = Object.entries(made) as [[string, string]];
  const value = new Sensitive(secret);
  if (!save) return { alias, value };
  try {
    await saveSecret(call, store, { alias, savedFor: credential, value });
    await removeReplaced(login, alias, value);
  } catch (error) {
    onUnsaved(alias, value);
    const { code, message } = expected(error);
    throw new GraphException(code, `The secret was made, but it could not be saved: ${message}`, {
      hint: 'keep the value that was printed: it is never shown again',
    });
  }
  return { alias, value };
}

/** Names the alias in the hint of an error, and says that the server may hold a secret whose value is lost. */
function withNextStep(error: unknown, alias = ''): unknown {
  const { code, message, hint: given, ambiguous } = expected(error);
  if (code === 'ALREADY_EXISTS')
    return new GraphException(code, message, { hint: `${given}: graphcred secret rotate ${alias}` });
  if (!ambiguous) return error;
  const name = alias === '' ? 'a secret with a generated name' : `the secret ${alias}`;
  // Prune would drop the generated secrets of other machines too, so it is only used to look.
  const hint =
    alias === ''
      ? 'see the generated names: graphcred secret prune --dry-run; drop the one that is new: graphcred secret drop ALIAS; then make it again'
      : `drop it, then make it again: graphcred secret drop ${alias} --ignore-missing`;
  return new GraphException(code, `${message} So ${name} may have been made, and its value is lost.`, {
    hint,
  });
}
