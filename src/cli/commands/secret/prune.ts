import { openLogin } from '../../../app/gsql-login.js';
import { dropEach } from '../../../app/secrets/drop-secrets.js';
import { planPrune } from '../../../app/secrets/prune-secrets.js';
import type { Invocation } from '../../command.js';
import { confirm, requireYes } from '../../output/prompt.js';
import { singleLine } from '../../output/report.js';
import { printDropped } from '../../print-secrets.js';
import { openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const run = await openRun(invocation, { isStepwise: true });
  const { flags, report, ctx } = invocation;
  const dryRun = flags['dry-run'] === true;
  const login = await openLogin(run);
  const look = ['look first', { command: 'secret prune --dry-run' }, 'then drop them with --yes'];
  if (!dryRun) requireYes(invocation, run.ports, 'Dropping secrets', look);
  const { unused, unknown } = await planPrune(login);
  if (unused.length > 0 && unknown.length > 0)
    report.warn(
      `one of these may be in use: the secretCommand of ${unknown.map((name) => `profile ${name}`).join(', ')} was not run`,
    );
  const names = unused.map(singleLine).join('\n');
  if (unused.length === 0 || dryRun) {
    if (report.json) report.document({ dropped: unused, missing: [], dryRun });
    else if (unused.length === 0) report.note('there are no generated secrets to drop');
    else report.result(names);
    return;
  }
  if (flags.yes !== true) {
    // The names are written even with -q, because a person must see them before confirming.
    ctx.stderr.write(`${names}\n`);
    const what = unused.length === 1 ? 'this secret' : `these ${unused.length} secrets`;
    const effect = login.version.tokensOutliveSecret ? '' : ', and their tokens end at once';
    report.warn(`programs that made a secret without a name use these${effect}`);
    await confirm(invocation, run.ports, `Drop ${what}?`, 'Nothing was dropped.');
  }
  const outcome = await dropEach(login, unused);
  printDropped(report, outcome, (dropped) => `Dropped:\n${dropped.join('\n')}`);
  if (login.version.tokensOutliveSecret && outcome.dropped.length > 0)
    report.note('tokens minted from dropped secrets stay valid until they expire');
  if (outcome.failure) throw outcome.failure;
}
