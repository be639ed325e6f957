import type { ConfigKey } from '../config/schema.js';
import { GraphException } from '../core/errors.js';
import { mayAsk } from './may-ask.js';
import type { Session } from './session.js';

/**
 * Asks the person, if there is one, whether these keys of a file nobody vouched for may count in this call.
 * @throws GraphException CONFIG_UNTRUSTED when they may not
 */
export async function askTrust(
  { settings, target, call }: Session,
  keys: readonly ConfigKey[],
): Promise<void> {
  const what = `${settings.file?.path} is not trusted, and it decides ${keys.join(', ')} (host: ${target.host}).`;
  if (mayAsk(call.ctx, settings)) {
    call.report.warn(what);
    const { askYes } = await import('./prompt.js');
    if (await askYes(call, 'Use it for this call?')) return;
  }
  throw new GraphException('CONFIG_UNTRUSTED', what, {
    hint: `read the file; if it is yours: graphcred config trust ${settings.file?.path}`,
  });
}
