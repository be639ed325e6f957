import type { Call } from '../../call.js';
import { openSession } from '../../session.js';
import { obtainToken } from '../../token.js';
import { checkOutput, printToken } from '../../token-output.js';

/** `graphcred token get` */
export async function run(call: Call): Promise<undefined> {
  const session = await openSession(call);
  await checkOutput(session);
  if (call.ctx.env.TG_API_TOKEN) call.report.detail('TG_API_TOKEN is set; token get does not look at it');
  await printToken(session, await obtainToken(session, { fresh: call.flags.fresh === true }));
}
