import { getToken } from '../../../app/tokens/get-token.js';
import type { Invocation } from '../../command.js';
import { printToken } from '../../print-token.js';
import { openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const run = await openRun(invocation);
  const { env, startedAt, reporter } = run.ports;
  const freshSince = invocation.flags.fresh === true ? startedAt : undefined;
  if (env.TG_API_TOKEN) reporter.detail('TG_API_TOKEN is set, but token get ignores it');
  await printToken(invocation, run, () => getToken(run, { freshSince }));
}
