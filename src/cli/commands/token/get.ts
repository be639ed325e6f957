import { getToken } from '../../../app/tokens/get-token.js';
import type { Invocation } from '../../command.js';
import { checkOutput, printToken } from '../../print-token.js';
import { openSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const session = await openSession(invocation);
  checkOutput(session);
  if (invocation.ctx.env.TG_API_TOKEN)
    invocation.report.detail('TG_API_TOKEN is set; token get does not look at it');
  printToken(session, await getToken(session, { fresh: invocation.flags.fresh === true }));
}
