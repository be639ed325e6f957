import { openLogin } from '../../../app/gsql-login.js';
import { checkAlias, createSecret } from '../../../app/secrets/create-secret.js';
import { expected, GraphException, usageError } from '../../../core/errors.js';
import type { Invocation } from '../../command.js';
import { requireOutput } from '../../context.js';
import { printSecret } from '../../print-secrets.js';
import { openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const { flags, args, report } = invocation;
  const [wanted] = args;
  if (wanted !== undefined) checkAlias(wanted);
  const save = flags.save === true;
  if (save && wanted === undefined)
    throw usageError('--save needs an alias for the secret.', [
      'name it',
      { command: 'secret create NAME --save' },
    ]);
  if (save && flags.owner !== undefined)
    throw usageError("Another user's secret is not saved here.", 'leave --save out, and hand the value over');
  if (!save) requireOutput(invocation.ctx);
  const login = await openLogin(await openRun(invocation));
  const { alias, value, unsaved } = await createSecret(login, wanted, save);
  if (!save || unsaved !== undefined)
    printSecret(invocation, { alias }, value, {
      note: `secret ${alias}: this is the only time its value is shown`,
      whenLost: ['drop the secret that was made, for its value is lost', { command: `secret drop ${alias}` }],
    });
  if (unsaved !== undefined) {
    const { code, message } = expected(unsaved);
    throw new GraphException(code, `The secret was made, but it could not be saved: ${message}`, {
      hint: 'keep the value that was printed: it is never shown again',
    });
  }
  if (save) report.done({ alias, saved: true }, `Secret ${alias} is saved in the ${login.store.name} store.`);
}
