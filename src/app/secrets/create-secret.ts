import { expected, GraphException, type Hint } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import type { Login } from '../gsql-login.js';
import { saveSecret } from './save-credential.js';
import { savedAs } from './saved-secrets.js';

/** Creates a secret, and saves it if that is wanted, in a tested store. Returns its name, its value, and why it is unsaved. */
export async function createSecret(login: Login, wanted: string | undefined, save: boolean) {
  const { run, connection, credential } = login;
  run.ports.interruption.begin();
  const made = await connection.createSecret(wanted, { withAlias: true }).catch((error) => {
    throw withNextStep(error, wanted);
  });
  const [[alias, secret]] = Object.entries(made) as [[string, string]];
  const value = new Sensitive(secret);
  run.ports.reporter.did(`made the secret "${alias}"`);
  if (!save) return { alias, value };
  try {
    const id = await saveSecret(login, value, { alias });
    // The server has made this alias anew. A login by secret proves no user name, so there older values stay.
    if (credential.kind !== 'secret')
      for (const old of await savedAs(login, [{ alias }]))
        if (old.record.info.id !== id) await old.store.delete(old.record.key);
    run.ports.reporter.did('saved it');
    return { alias, value };
  } catch (error) {
    if (!(error instanceof GraphException)) return { alias, value, unsaved: error };
    const why = `The secret was made, but it could not be saved: ${error.message}`;
    const hint = 'keep the value that was printed: it is never shown again';
    return { alias, value, unsaved: new GraphException(error.code, why, { hint }) };
  }
}

/** Names the alias in the hint of an error, and says that the server may hold a secret whose value is lost. */
function withNextStep(error: unknown, alias = ''): unknown {
  const { code, message, fix, ambiguous } = expected(error);
  if (code === 'ALREADY_EXISTS')
    return new GraphException(code, message, { hint: [...fix, { command: `secret rotate ${alias}` }] });
  if (!ambiguous) return error;
  const name = alias === '' ? 'a secret with a generated name' : `the secret "${alias}"`;
  // Only a person can tell a generated one from those of other machines.
  const drop = alias === '' ? 'secret drop ALIAS' : `secret drop ${alias} --ignore-missing`;
  const hint: Hint = ['see the secrets', { command: 'secret list' }, 'drop it', { command: drop }];
  const why = `${message} So ${name} may have been made, and its value is lost.`;
  return new GraphException(code, why, { hint });
}
