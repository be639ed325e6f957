import { checkToken } from '../../../app/tokens/check-token.js';
import type { Invocation } from '../../command.js';
import { openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<number> {
  const { report } = invocation;
  const refusal = await checkToken(await openRun(invocation));
  if (report.json) report.document({ accepted: refusal === undefined });
  else if (!refusal) report.result('The server accepts the token.');
  if (refusal) throw refusal;
  return 0;
}
