import { noSuchProfile } from '../../../config/errors.js';
import { defaultProfileOf, isInFile, type Settings } from '../../../config/keys.js';
import { removeProfile } from '../../../config/write.js';
import { GraphException } from '../../../core/errors.js';
import { withLock } from '../../../store/lock/lock.js';
import type { Invocation } from '../../command.js';
import { askYes } from '../../output/prompt.js';
import { inLines, shortPath, singleLine } from '../../output/report.js';
import { pluralize } from '../../output/time.js';
import { addressesSetAt, isStoredFor, type Owner } from '../../session/binding.js';
import { openLocalSession } from '../../session/session.js';
import { configDirOf, open } from '../../session/store.js';
import type { LocalSession } from '../../session/types.js';

/** Runs `graphcred profile remove`. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { report, args, flags } = invocation;
  const [name = ''] = args;
  const session = await openLocalSession(invocation, { newProfile: true, profile: name });
  const { file, profileNames } = session.settings;
  if (!profileNames.includes(name))
    throw noSuchProfile({ name, source: 'profile remove' }, file?.path, profileNames);
  await confirm(session, name, flags.yes === true);
  const owner = ownerOf(session.settings);
  const sharedWith = await profileWithSameOwner(invocation, name, profileNames, owner);
  const forgotten =
    sharedWith === undefined && owner
      ? await forget(session, owner)
      : { tokens: 0, secrets: 0, passwords: 0 };
  const written = await removeProfile(configDirOf(session), name, (lock, work) =>
    withLock(lock, { waitMs: 10_000 }, work),
  );
  if (sharedWith !== undefined)
    report.note(
      `tokens and saved credentials stay, because profile ${sharedWith} uses the same server and user; to forget them: graphcred logout -p ${sharedWith}`,
    );
  if (report.json) {
    report.document({ removed: name, file: written, forgotten });
    return;
  }
  const { home, stdout } = invocation.ctx;
  const done = `Removed profile ${name} from ${shortPath(written, home)}.`;
  report.result(
    inLines(singleLine(`${done} ${describeRemoved(forgotten, sharedWith)}`.trim()), stdout.columns),
  );
  const wasDefault = defaultProfileOf(file?.config) === name;
  const others = profileNames.filter((other) => other !== name);
  if (wasDefault && others.length > 0)
    report.note(`there is no default profile now; choose one: graphcred profile use ${others[0]}`);
}

/** Describes what was removed, and notes what may still be valid on the server. */
function describeRemoved(
  { tokens, secrets, passwords }: RemovedCounts,
  sharedWith: string | undefined,
): string {
  const counts = [
    [tokens, 'token'],
    [secrets, 'secret'],
    [passwords, 'password'],
  ] as const;
  const parts = counts.filter(([count]) => count > 0).map(([count, what]) => pluralize(count, what));
  if (parts.length === 0)
    return sharedWith === undefined ? 'Nothing else was kept for it on this machine.' : '';
  const list = parts.join(', ').replace(/, ([^,]*)$/, ' and $1');
  const issued = tokens + secrets > 0;
  return `Forgot ${list} on this machine${issued ? '; the server still knows them' : ''}.`;
}

async function confirm(session: LocalSession, name: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!session.canPrompt) {
    throw new GraphException(
      'INPUT_REQUIRED',
      `Removing profile ${name} needs a yes, and there is no terminal to ask.`,
      {
        hint: `graphcred profile remove ${name} --yes`,
      },
    );
  }
  const question = `Remove profile ${name}, and forget its tokens, secrets and password on this machine?`;
  if (!(await askYes(session.invocation, question)))
    throw new GraphException('CANCELLED', 'Nothing was removed.');
}

/** Returns the owner of the profile's records. Only the config file decides, not flags and variables. */
function ownerOf(settings: Settings): Owner | undefined {
  const addresses = addressesSetAt(settings, ['profile', 'fileDefaults']);
  const username = settings.all.username.find(({ level }) => isInFile(level))?.value as string | undefined;
  return addresses && { gsqlUrl: addresses.gsqlUrl, username };
}

async function profileWithSameOwner(
  invocation: Invocation,
  name: string,
  names: readonly string[],
  owner: Owner | undefined,
): Promise<string | undefined> {
  for (const other of names) {
    if (other === name) continue;
    const { settings } = await openLocalSession(invocation, { newProfile: true, profile: other });
    const its = ownerOf(settings);
    const isSameUser =
      its?.username === undefined || owner?.username === undefined || its.username === owner.username;
    if (its && its.gsqlUrl === owner?.gsqlUrl && isSameUser) return other;
  }
  return undefined;
}

interface RemovedCounts {
  readonly tokens: number;
  readonly secrets: number;
  readonly passwords: number;
}

async function forget(session: LocalSession, owner: Owner): Promise<RemovedCounts> {
  const count = { token: 0, secret: 0, password: 0 };
  // A profile does not record which store its entries are in, so both are searched.
  for (const name of session.stateDir === undefined ? [] : (['keychain', 'file'] as const)) {
    const store = await open(session, name, true);
    for (const record of (await store.list()).filter((one) => isStoredFor(one, owner))) {
      if (await store.remove(record.key)) count[record.kind]++;
    }
  }
  return { tokens: count.token, secrets: count.secret, passwords: count.password };
}
