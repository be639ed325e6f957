import { getToken } from '../../../app/tokens/get-token.js';
import type { Invocation } from '../../command.js';
import { printToken } from '../../print-token.js';
import { openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const run = await openRun(invocation);
  const freshSince = invocation.flags.fresh === true ? run.ports.startedAt : undefined;
  await printToken(invocation, run, () => {
    if (run.ports.env.TG_API_TOKEN)
      run.ports.reporter.detail('TG_API_TOKEN is set, but token get ignores it');
    return getToken(run, { freshSince });
  });
}
