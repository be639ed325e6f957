import { checkSendable, type Dropping, dropSecrets, planDrop } from '../../../app/drop-secrets.js';
import { openLogin } from '../../../app/gsql-login.js';
import { GraphException } from '../../../core/errors.js';
import type { Invocation, Session } from '../../command.js';
import { confirm } from '../../output/prompt.js';
import { printDropped } from '../../print-dropped.js';
import { openSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const aliases = [...new Set(invocation.args)];
  checkSendable(aliases);
  const session = await openSession(invocation, { isStepwise: true });
  const login = await openLogin(session);
  const plan = await planDrop(login, aliases);
  if (aliases.length > 1)
    await confirm(session, `Drop ${aliases.length} secrets: ${aliases.join(', ')}?`, 'Nothing was dropped.');
  const outcome = await dropSecrets(login, plan, { revoke: session.flags.revoke === true });
  printDropped(session.report, outcome, (names) => `Dropped: ${names.join(', ')}`);
  if (outcome.failure) throw outcome.failure;
  if (outcome.missing.length > 0) tellMissing(session, outcome);
}

function tellMissing({ report, flags }: Session, { dropped, missing }: Dropping): void {
  if (flags['ignore-missing'] !== true)
    throw new GraphException(
      dropped.length > 0 ? 'PARTIAL' : 'NOT_FOUND',
      `No such secret: ${missing.join(', ')}.`,
      { hint: 'see the names there are: graphcred secret list; to ignore this: --ignore-missing' },
    );
  report.note(`not there: ${missing.join(', ')}`);
}
