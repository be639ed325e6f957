import { GraphException } from '../../../core/errors.js';
import type { Invocation } from '../../command.js';
import { openLocalSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const { report, settings, untrusted } = await openLocalSession(invocation);
  if (!settings.file) {
    throw new GraphException('NOT_FOUND', 'There is no config file.', { hint: 'make one: graphcred login' });
  }
  const { path } = settings.file;
  report.show({ file: path, trusted: untrusted === undefined }, path);
}
