import { refreshToken } from '../../../app/tokens/refresh-token.js';
import type { Invocation } from '../../command.js';
import { checkOutput, printToken } from '../../print-token.js';
import { openSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const session = await openSession(invocation);
  checkOutput(session);
  printToken(session, await refreshToken(session));
}
