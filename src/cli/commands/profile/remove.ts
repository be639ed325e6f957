import { pluralize, shortPath } from '../../../app/format.js';
import { planRemoval, removeProfile } from '../../../app/login/remove-profile.js';
import type { StoreEntry } from '../../../auth/stores.js';
import { defaultProfileOf } from '../../../config/keys.js';
import type { StoreRecord } from '../../../store/store.js';
import type { Invocation } from '../../command.js';
import { confirm, requireYes } from '../../output/prompt.js';
import { openOwnProfile } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const [name = ''] = invocation.args;
  const run = await openOwnProfile(invocation, name);
  const { ctx, report } = invocation;
  const { file: before, profileNames } = run.settings;
  const byYes = ['to confirm it', { command: `profile remove ${name} --yes` }];
  requireYes(invocation, run.ports, `Removing profile ${name}`, byYes);
  const { entries, sharedWith } = await planRemoval(run, name);
  const { tokens, secrets, logins } = countsOf(entries);
  if (sharedWith !== undefined)
    report.note([
      `tokens and saved credentials stay, because profile ${sharedWith} uses the same server and user; to forget them`,
      { command: `logout -p ${sharedWith}` },
    ]);
  if (tokens + secrets > 0)
    report.note('the server still knows the tokens and secrets that are deleted here');
  if (logins > 0) report.note('only graphcred logout revokes a login at its provider');
  const question = `Remove profile ${name}${andListed(entries)}?`;
  await confirm(invocation, run.ports, question, 'Nothing was removed.');
  const { file, deleted } = await removeProfile(run, name, entries);
  report.done(
    { removed: name, file, forgotten: countsOf(deleted) },
    `Removed profile ${name} from ${shortPath(file, ctx.home)}${andListed(deleted)}.`,
  );
  const others = profileNames.filter((other) => other !== name);
  if (!report.json && defaultProfileOf(before?.config) === name && others.length > 0)
    report.note(['there is no default profile now; choose one', { command: `profile use ${others[0]}` }]);
}

/** Names what goes with the profile: `, and on this machine 1 token, 2 secrets`. */
function andListed(entries: readonly StoreEntry[]): string {
  const counts = Object.entries(countsOf(entries)).filter(([, count]) => count > 0);
  const parts = counts.map(([what, count]) => pluralize(count, what.slice(0, -1)));
  return parts.length === 0 ? '' : `, and on this machine ${parts.join(', ')}`;
}

function countsOf(entries: readonly StoreEntry[]) {
  const count = (kind: StoreRecord['kind']) => entries.filter(({ record }) => record.kind === kind).length;
  return {
    tokens: count('token'),
    secrets: count('secret'),
    passwords: count('password'),
    logins: count('login'),
  };
}
