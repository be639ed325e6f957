import { graphOf, pathSetting, type Run } from '../../auth/run.js';
import { serversInForce } from '../../auth/servers.js';
import { ADDRESS_KEYS } from '../../config/keys.js';
import { settingsOfFile } from '../../config/settings.js';
import { targetOf } from '../../config/target.js';
import { type ProfileToWrite, writeProfile } from '../../config/write.js';

/** Returns the profile to write, without the credential. */
export function profileOf(run: Run, username: string | undefined): ProfileToWrite {
  const { target, settings } = run;
  const { serverVersion } = settings;
  const graph = graphOf(run);
  const files = withoutUndefined({
    ca: pathSetting(run, 'tls.ca'),
    cert: pathSetting(run, 'tls.cert'),
    key: pathSetting(run, 'tls.key'),
  });
  const lifeOf = (name: 'lifetime' | 'minTtl') => {
    const [set] = settings.all[name];
    const isOwn = set && set.level !== 'default' && set.level !== 'fileDefaults';
    return isOwn ? (set.value as string) : undefined;
  };
  const { host, gsqlUrl } = target.endpoints;
  return withoutUndefined({
    ...target.endpoints,
    // Without a host, the default (this machine) is written to the profile.
    host: host ?? (gsqlUrl === undefined ? target.host : undefined),
    graph,
    username: username || undefined,
    serverVersion: serverVersion === 'auto' ? undefined : serverVersion,
    lifetime: lifeOf('lifetime'),
    minTtl: lifeOf('minTtl'),
    tls: Object.keys(files).length > 0 ? files : undefined,
  });
}

/** Leaves out what is undefined. */
export function withoutUndefined<V>(
  record: Readonly<Record<string, V | undefined>>,
): Readonly<Record<string, V>> {
  const set = Object.entries(record).filter((entry): entry is [string, V] => entry[1] !== undefined);
  return Object.fromEntries(set);
}

/** Returns what the profile of the file loses because its address is replaced: nothing of another database counts. */
export function keysOfOldAddress({ settings: { leftOut } }: Run): string[] {
  const own = leftOut.flatMap(({ set }) => set.filter(({ value }) => value.level === 'profile'));
  return [...new Set(own.map(({ key }) => key.replace(/\..*/, '')))];
}

/**
 * Returns what keeps the settings at the top level of the file, which are defaults of this profile too, out of the
 * address that was proved.
 */
async function apartFromTopLevel(run: Run, proved: ProfileToWrite): Promise<ProfileToWrite> {
  const { file, profile } = run.settings;
  if (file === undefined) return proved;
  const values = Object.fromEntries(
    Object.entries(run.target.endpoints).map(([key, set]) => [key, String(set)]),
  );
  const profiles = new Map([[profile.name, values]]);
  const written = settingsOfFile({ ...file, config: { ...file.config, profiles } }, profile.name);
  const { gsqlUrl, restUrl } = targetOf(written);
  const isSame = gsqlUrl === run.target.gsqlUrl && restUrl === run.target.restUrl;
  const { serverVersion = file.config.defaults.serverVersion && 'auto' } = proved;
  const { host, gsqlPort, restPort, ...rest } = proved;
  return withoutUndefined({
    ...(isSame ? proved : { ...rest, ...(await serversInForce(run)) }),
    serverVersion,
  });
}

/**
 * Writes the profile to the user's own config file.
 * @param dropped what the profile loses, beside what belonged to an old address
 * @returns the config file
 */
export async function writeOwnProfile(
  run: Run,
  proved: ProfileToWrite,
  dropped: readonly string[],
): Promise<string> {
  const profile = await apartFromTopLevel(run, proved);
  const changes = {
    profile,
    removed: [...ADDRESS_KEYS, 'serverVersion', ...keysOfOldAddress(run), ...dropped],
  };
  return writeProfile(run.stores.requireFolder('configDir'), run.settings.profile.name, changes);
}
