import { refreshToken } from '../../../app/tokens/refresh-token.js';
import type { Invocation } from '../../command.js';
import { checkOutput, printToken } from '../../print-token.js';
import { openRun } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const run = await openRun(invocation);
  checkOutput(invocation);
  printToken(invocation, run, await refreshToken(run));
}
