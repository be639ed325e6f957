import { describeSearch, findUnread } from '../../../config/find.js';
import { GraphException } from '../../../core/errors.js';
import type { Invocation } from '../../command.js';
import { settingsInput } from '../../context.js';
import { openLocalRun, untrustedFile } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const { report } = invocation;
  const { settings } = await openLocalRun(invocation);
  const untrusted = await untrustedFile(invocation);
  const search = settingsInput(invocation);
  for (const { what, instead } of await findUnread(search))
    report.note(`${what} is not read; put the settings into ${instead}`);
  if (!settings.file) {
    const looked = `There is no config file. Looked for ${describeSearch(search)}.`;
    throw new GraphException('NOT_FOUND', looked, { hint: ['make one', { command: 'login' }] });
  }
  const { path } = settings.file;
  report.show({ file: path, trusted: untrusted === undefined }, path);
}
