import { pluralize } from '../../../app/words.js';
import { secretId } from '../../../auth/credential.js';
import { addressesSetAt, type ProfileOwner, recordsOf } from '../../../auth/servers.js';
import { configDirOf, open } from '../../../auth/stores.js';
import { noSuchProfile } from '../../../config/errors.js';
import { type ConfigKey, defaultProfileOf, isInFile, type Settings } from '../../../config/keys.js';
import { removeProfile } from '../../../config/write.js';
import { GraphException } from '../../../core/errors.js';
import { Sensitive } from '../../../core/sensitive.js';
import { withLock } from '../../../store/lock/lock.js';
import { CREDENTIAL_STORES, type StoreRecord } from '../../../store/store.js';
import type { Invocation } from '../../command.js';
import { confirm } from '../../output/prompt.js';
import { shortPath } from '../../output/report.js';
import type { LocalSession } from '../../session.js';
import { openLocalSession } from '../../session.js';

/** Runs `graphcred profile remove`. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { report, args, flags } = invocation;
  const [name = ''] = args;
  const session = await openLocalSession(invocation, { newProfile: true, profile: name });
  const { file, profileNames } = session.settings;
  if (!profileNames.includes(name))
    throw noSuchProfile({ name, source: 'profile remove' }, file?.path, profileNames);
  if (flags.yes !== true) requirePrompt(session, name);
  const { records, sharedWith } = await recordsToForget(invocation, session, name);
  if (flags.yes !== true) {
    const question = `Remove profile ${name}? ${whatHappens(records, sharedWith)}`;
    await confirm(invocation, question, 'Nothing was removed.');
  }
  const forgotten = await forget(session, records);
  const written = await removeProfile(configDirOf(session), name, (lock, work) =>
    withLock(lock, { waitMs: 10_000 }, work),
  );
  if (sharedWith !== undefined)
    report.note(
      `tokens and saved credentials stay, because profile ${sharedWith} uses the same server and user; to forget them: graphcred logout -p ${sharedWith}`,
    );
  const done = `Removed profile ${name} from ${shortPath(written, invocation.ctx.home)}.`;
  report.done(
    { removed: name, file: written, forgotten },
    `${done} ${describeRemoved(forgotten, sharedWith)}`,
  );
  if (report.json) return;
  const wasDefault = defaultProfileOf(file?.config) === name;
  const others = profileNames.filter((other) => other !== name);
  if (wasDefault && others.length > 0)
    report.note(`there is no default profile now; choose one: graphcred profile use ${others[0]}`);
}

/** Describes what was removed, and notes what may still be valid on the server. */
function describeRemoved(counts: RemovedCounts, sharedWith: string | undefined): string {
  const list = listed(counts);
  if (list === '') return sharedWith === undefined ? 'Nothing else was kept for it on this machine.' : '';
  const issued = counts.tokens + counts.secrets > 0;
  return `Forgot ${list} on this machine${issued ? '; the server still knows them' : ''}.`;
}

function listed({ logins, tokens, secrets, passwords }: RemovedCounts): string {
  const counts = [
    [tokens, 'token'],
    [secrets, 'secret'],
    [passwords, 'password'],
    [logins, 'login'],
  ] as const;
  const parts = counts.filter(([count]) => count > 0).map(([count, what]) => pluralize(count, what));
  return parts.join(', ').replace(/, ([^,]*)$/, ' and $1');
}

/** Says what is deleted beside the profile, and what stays and why. */
function whatHappens(records: readonly StoreRecord[], sharedWith: string | undefined): string {
  if (sharedWith !== undefined)
    return `Its tokens and saved credentials stay: profile ${sharedWith} uses them.`;
  const count = (wanted: StoreRecord['kind']) => records.filter(({ kind }) => kind === wanted).length;
  const counts = {
    logins: count('login'),
    tokens: count('token'),
    secrets: count('secret'),
    passwords: count('password'),
  };
  const list = listed(counts);
  if (list === '') return 'Nothing else is kept for it on this machine.';
  const stays = counts.tokens + counts.secrets > 0 ? '; the server still knows them' : '';
  return `On this machine ${list} are deleted${stays}.`;
}

function requirePrompt(session: LocalSession, name: string): void {
  if (!session.canPrompt) {
    throw new GraphException(
      'INPUT_REQUIRED',
      `Removing profile ${name} needs a yes, and ${session.whyNotAsked}.`,
      {
        hint: `graphcred profile remove ${name} --yes`,
      },
    );
  }
}

/** Returns whom the profile acts as. Only the config file decides, not flags and variables. */
function ownerOfProfile(settings: Settings): ProfileOwner | undefined {
  const set = (key: ConfigKey) =>
    settings.all[key].find(({ level }) => isInFile(level))?.value as string | undefined;
  const addresses = addressesSetAt(settings, ['profile', 'fileDefaults']);
  const secret = set('secret');
  return (
    addresses && {
      gsqlUrl: addresses.gsqlUrl,
      username: set('username'),
      secretAlias: set('secretAlias'),
      principal: secret && secretId(new Sensitive(secret)),
    }
  );
}

/** Returns the records of a profile, or none and the name of another profile that uses one of them. */
async function recordsToForget(
  invocation: Invocation,
  session: LocalSession,
  name: string,
): Promise<{ records: readonly StoreRecord[]; sharedWith?: string }> {
  const all: StoreRecord[] = [];
  // A profile does not record which store its entries are in, so both are searched.
  for (const store of session.stateDir === undefined ? [] : CREDENTIAL_STORES)
    all.push(...(await (await open(session, store, true)).list()));
  const owner = ownerOfProfile(session.settings);
  const records = owner === undefined ? [] : recordsOf(all, owner);
  for (const other of session.settings.profileNames.filter((one) => one !== name)) {
    const { settings } = await openLocalSession(invocation, { newProfile: true, profile: other });
    const its = ownerOfProfile(settings);
    if (its && recordsOf(records, its).length > 0) return { records: [], sharedWith: other };
  }
  return { records };
}

interface RemovedCounts {
  readonly tokens: number;
  readonly secrets: number;
  readonly passwords: number;
  readonly logins: number;
}

async function forget(session: LocalSession, records: readonly StoreRecord[]): Promise<RemovedCounts> {
  const count = { token: 0, secret: 0, password: 0, login: 0 };
  for (const { store, kind, key } of records)
    if (await (await open(session, store, true)).delete(key)) count[kind]++;
  return { tokens: count.token, secrets: count.secret, passwords: count.password, logins: count.login };
}
