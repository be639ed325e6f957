import { checkToken } from '../../../app/tokens/check-token.js';
import type { Invocation } from '../../command.js';
import { openSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<number> {
  const { report } = invocation;
  const refusal = await checkToken(await openSession(invocation));
  if (report.json) report.document({ accepted: refusal === undefined });
  else if (!refusal) report.result('The server accepts the token.');
  if (refusal) throw refusal;
  return 0;
}
