import { GraphException } from '../../../core/errors.js';
import type { Call } from '../../call.js';
import { openSettings } from '../../session.js';

/** `graphcred config path` */
export async function run(call: Call): Promise<undefined> {
  const { settings } = await openSettings(call);
  if (!settings.file) {
    throw new GraphException('NOT_FOUND', 'There is no config file.', { hint: 'make one: graphcred login' });
  }
  if (call.report.json) call.report.document({ file: settings.file.path, trusted: settings.file.trusted });
  else call.report.result(settings.file.path);
}
