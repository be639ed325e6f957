import { GraphException } from '../../../core/errors.js';
import type { Invocation } from '../../command.js';
import { singleLine } from '../../output/report.js';
import { openLocalSession } from '../../session.js';

export async function run(invocation: Invocation): Promise<undefined> {
  const { ctx, report, settings, untrusted } = await openLocalSession(invocation);
  if (!settings.file) {
    throw new GraphException('NOT_FOUND', 'There is no config file.', { hint: 'make one: graphcred login' });
  }
  const { path } = settings.file;
  // A terminal would interpret control characters in a folder's name; a program needs the name unchanged.
  report.show({ file: path, trusted: untrusted === undefined }, ctx.stdout.isTTY ? singleLine(path) : path);
}
