import { pluralize, shortPath } from '../../../app/format.js';
import { type ProfileRemoval, planRemoval, removeProfile } from '../../../app/login/remove-profile.js';
import type { StoreEntry } from '../../../auth/stores.js';
import { defaultProfileOf } from '../../../config/keys.js';
import type { StoreRecord } from '../../../store/store.js';
import type { Invocation } from '../../command.js';
import { confirm, requireYes } from '../../output/prompt.js';
import { openOwnProfile } from '../../session.js';

export async function execute(invocation: Invocation): Promise<undefined> {
  const [name = ''] = invocation.args;
  const run = await openOwnProfile(invocation, name, 'profile remove');
  const { ctx, report } = invocation;
  const { file: before, profileNames } = run.settings;
  requireYes(invocation, run.ports, `Removing profile ${name}`, [
    'to confirm it',
    { command: `profile remove ${name} --yes` },
  ]);
  const plan = await planRemoval(run, name);
  const { sharedWith } = plan;
  await confirm(
    invocation,
    run.ports,
    `Remove profile ${name}? ${whatHappens(plan)}`,
    'Nothing was removed.',
  );
  const { file, deleted } = await removeProfile(run, name, plan.entries);
  if (sharedWith !== undefined)
    report.note([
      `tokens and saved credentials stay, because profile ${sharedWith} uses the same server and user; to forget them`,
      { command: `logout -p ${sharedWith}` },
    ]);
  const done = `Removed profile ${name} from ${shortPath(file, ctx.home)}.`;
  const document = { removed: name, file, forgotten: countsOf(deleted) };
  report.done(document, `${done} ${describeRemoved(deleted, sharedWith)}`);
  if (report.json) return;
  const others = profileNames.filter((other) => other !== name);
  if (defaultProfileOf(before?.config) === name && others.length > 0)
    report.note(['there is no default profile now; choose one', { command: `profile use ${others[0]}` }]);
}

/** Says what is deleted beside the profile, and what stays and why. */
function whatHappens({ entries, sharedWith }: ProfileRemoval): string {
  if (sharedWith !== undefined)
    return `Its tokens and saved credentials stay: profile ${sharedWith} uses them.`;
  const list = listed(entries);
  if (list === '') return 'Nothing else is kept for it on this machine.';
  return `On this machine ${list} ${entries.length === 1 ? 'is' : 'are'} deleted${stillKnown(entries)}.`;
}

/** Describes what was removed, and notes what may still be valid on the server. */
function describeRemoved(deleted: readonly StoreEntry[], sharedWith: string | undefined): string {
  const list = listed(deleted);
  if (list === '') return sharedWith === undefined ? 'Nothing else was kept for it on this machine.' : '';
  return `Forgot ${list} on this machine${stillKnown(deleted)}.`;
}

function stillKnown(entries: readonly StoreEntry[]): string {
  const { tokens, secrets, logins } = countsOf(entries);
  const known = tokens + secrets;
  const atServer = known === 0 ? '' : `; the server still knows ${known === 1 ? 'it' : 'them'}`;
  return logins === 0 ? atServer : `${atServer}; only graphcred logout revokes a login at its provider`;
}

function listed(entries: readonly StoreEntry[]): string {
  const counts = Object.entries(countsOf(entries)).filter(([, count]) => count > 0);
  const parts = counts.map(([what, count]) => pluralize(count, what.slice(0, -1)));
  return parts.join(', ').replace(/, ([^,]*)$/, ' and $1');
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
