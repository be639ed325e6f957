import type { Call } from '../../command.js';
import { openSession } from '../../session/session.js';
import { obtainToken } from '../../token/obtain.js';
import { checkOutput, printToken } from '../../token/print.js';

/** `graphcred token get` */
export async function run(call: Call): Promise<undefined> {
  const session = await openSession(call);
  checkOutput(session);
  if (call.ctx.env.TG_API_TOKEN) call.report.detail('TG_API_TOKEN is set; token get does not look at it');
  await printToken(session, await obtainToken(session, { fresh: call.flags.fresh === true }));
}
