import { getToken } from '../../../app/tokens/get-token.js';
import type { Invocation } from '../../command.js';
import { checkOutput, printToken } from '../../print-token.js';
import { openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const run = await openRun(invocation);
  checkOutput(invocation);
  if (invocation.ctx.env.TG_API_TOKEN)
    invocation.report.detail('TG_API_TOKEN is set, but token get ignores it');
  const freshSince = invocation.flags.fresh === true ? run.ports.startedAt : undefined;
  printToken(invocation, run, await getToken(run, { freshSince }));
}
