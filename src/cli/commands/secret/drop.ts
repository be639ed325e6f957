import { openLogin } from '../../../app/gsql-login.js';
import { checkSendable, dropSecrets, planDrop } from '../../../app/secrets/drop-secrets.js';
import { GraphException } from '../../../core/errors.js';
import type { Invocation } from '../../command.js';
import { confirm } from '../../output/prompt.js';
import { printDropped } from '../../print-secrets.js';
import { openRun, skipsMissing } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const aliases = [...new Set(invocation.args)];
  checkSendable(aliases);
  const run = await openRun(invocation, { isStepwise: true });
  const login = await openLogin(run);
  const plan = await planDrop(login, aliases);
  if (aliases.length > 1)
    await confirm(
      invocation,
      run.ports,
      `Drop ${aliases.length} secrets: ${aliases.join(', ')}?`,
      'Nothing was dropped.',
    );
  const outcome = await dropSecrets(login, plan, { revoke: invocation.flags.revoke === true });
  printDropped(invocation.report, outcome, (names) => `Dropped: ${names.join(', ')}`);
  if (outcome.failure) throw outcome.failure;
  const { dropped, missing } = outcome;
  if (missing.length === 0) return;
  if (skipsMissing(invocation)) invocation.report.note(`not there: ${missing.join(', ')}`);
  else
    throw new GraphException(
      dropped.length > 0 ? 'PARTIAL' : 'NOT_FOUND',
      `No such secret: ${missing.join(', ')}.`,
      { hint: ['see the names there are', { command: 'secret list' }, 'to ignore this: --ignore-missing'] },
    );
}
