import { GraphException } from '../../../core/errors.js';
import { Sensitive } from '../../../core/sensitive.js';
import { checkAlias } from '../../alias.js';
import type { Call } from '../../call.js';
import { loggedIn } from '../../login.js';
import { printable } from '../../printable.js';
import { saveSecret, tryStore } from '../../saved.js';

/** `graphcred secret create` */
export async function run(call: Call): Promise<number | undefined> {
  const { flags, args, report } = call;
  const [wanted] = args;
  if (wanted !== undefined) checkAlias(wanted);
  const save = flags.save === true;
  const { session, connection, credential, store } = await loggedIn(call);
  // The value is shown once: a store that fails must fail before it exists.
  if (save) await tryStore(session, store);
  const [entry] = Object.entries(await connection.createSecret(wanted, { withAlias: true }));
  if (!entry)
    throw new GraphException('BAD_RESPONSE', 'The server made a secret and did not show it.', {
      hint: 'drop it and make another: graphcred secret list',
    });
  const [alias, secret] = entry;
  if (!save) return show(call, alias, secret);
  try {
    await saveSecret(session, store, { alias, username: credential.username, value: new Sensitive(secret) });
  } catch (error) {
    show(call, alias, secret);
    if (!(error instanceof GraphException)) throw error;
    throw new GraphException(error.code, `The secret was made, but it could not be saved: ${error.message}`, {
      hint: 'keep the value that was printed: it is never shown again',
    });
  }
  if (report.json) report.document({ alias, saved: true });
  else report.result(`Secret ${printable(alias)} is saved in the ${store.name} store.`);
  return undefined;
}

function show({ report }: Call, alias: string, secret: string): undefined {
  try {
    if (report.json) report.document({ alias, secret });
    else {
      report.note(`secret ${alias}: this is the only time its value is shown`);
      report.result(secret);
    }
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    throw new GraphException(error.code, error.message, {
      hint: `the secret was made, and nobody knows its value: graphcred secret drop ${alias}`,
    });
  }
}
