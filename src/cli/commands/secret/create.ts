import { expected } from '../../../app/errors.js';
import { checkAlias, openLogin } from '../../../app/gsql-login.js';
import { removeReplaced, saveSecret, tryStore } from '../../../app/saved-secrets.js';
import { GraphException, usageError } from '../../../core/errors.js';
import { Sensitive } from '../../../core/sensitive.js';
import type { Invocation } from '../../command.js';
import { openSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<number | undefined> {
  const { flags, args, report } = invocation;
  const [wanted] = args;
  if (wanted !== undefined) checkAlias(wanted);
  const save = flags.save === true;
  if (save && wanted === undefined)
    throw usageError('--save needs an alias for the secret.', 'name it: graphcred secret create NAME --save');
  if (save && flags.owner !== undefined)
    throw usageError("Another user's secret is not saved here.", 'leave --save out, and hand the value over');
  const login = await openLogin(await openSession(invocation));
  const { call, connection, credential, store } = login;
  // The value is shown only once, so the store is tested before the secret is created.
  if (save) await tryStore(call, store);
  invocation.interruption?.begin();
  const made = await connection.createSecret(wanted, { withAlias: true }).catch((error) => {
    throw withNextStep(error, wanted);
  });
  const [[alias, secret]] = Object.entries(made) as [[string, string]];
  if (!save) return show(invocation, alias, secret);
  try {
    const value = new Sensitive(secret);
    await saveSecret(call, store, { alias, savedFor: credential, value });
    await removeReplaced(login, alias, value);
  } catch (error) {
    show(invocation, alias, secret);
    const { code, message } = expected(error);
    throw new GraphException(code, `The secret was made, but it could not be saved: ${message}`, {
      hint: 'keep the value that was printed: it is never shown again',
    });
  }
  report.done({ alias, saved: true }, `Secret ${alias} is saved in the ${store.name} store.`);
  return undefined;
}

function show({ ctx, report }: Invocation, alias: string, secret: string): undefined {
  try {
    if (report.json) report.document({ alias, secret }, true);
    else {
      report.note(`secret ${alias}: this is the only time its value is shown`);
      report.result(secret, true);
    }
    if (ctx.stdout.isNull)
      report.warn(`the value went to the null device and is lost; drop it: graphcred secret drop ${alias}`);
  } catch (error) {
    const { code, message } = expected(error);
    throw new GraphException(code, message, {
      hint: `drop the secret that was made, for its value is lost: graphcred secret drop ${alias}`,
    });
  }
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
