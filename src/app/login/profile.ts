import { type Call, pathSetting } from '../../auth/call.js';
import { serversInForce } from '../../auth/servers.js';
import { configDirOf } from '../../auth/stores.js';
import type { ConfigKey } from '../../config/keys.js';
import { type ProfileToWrite, writeProfile } from '../../config/write.js';

/** Returns the profile to write, without the credential. */
export function profileOf(call: Call, username: string | undefined): ProfileToWrite {
  const { target, graph, settings, serverVersion } = call;
  const files = withoutUndefined({
    ca: pathSetting(call, 'tls.ca'),
    cert: pathSetting(call, 'tls.cert'),
    key: pathSetting(call, 'tls.key'),
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

/** Returns what the profile of the file loses because its address is replaced. */
export function keysOfOldAddress({ settings: { foreign = [] } }: Call): string[] {
  return [...new Set(foreign.map((key) => key.replace(/\..*/, '')))];
}

/**
 * Returns what keeps the settings beside the profiles out of an address that replaces theirs: they are defaults of
 * this profile too.
 */
async function restOfAddress(
  call: Call,
  { gsqlUrl, serverVersion }: ProfileToWrite,
): Promise<ProfileToWrite> {
  const { file, all } = call.settings;
  const isReplaced = (key: ConfigKey) =>
    file?.config.defaults[key] !== undefined && !all[key].some(({ level }) => level === 'fileDefaults');
  const isRestReplaced = isReplaced('restUrl') || isReplaced('restPort');
  return withoutUndefined({
    restUrl: isRestReplaced ? (await serversInForce(call)).restUrl : undefined,
    gsqlPort: isReplaced('gsqlPort') && gsqlUrl === undefined ? Number(all.gsqlPort[0]?.value) : undefined,
    serverVersion: isReplaced('serverVersion') ? (serverVersion ?? 'auto') : undefined,
  });
}

/**
 * Writes the profile to the user's own config file.
 * @param dropped what the profile loses, beside what belonged to an old address
 * @returns the config file
 */
export async function writeOwnProfile(
  call: Call,
  proved: ProfileToWrite,
  dropped: readonly string[],
): Promise<string> {
  const profile = { ...proved, ...(await restOfAddress(call, proved)) };
  const changes = { profile, removed: [...keysOfOldAddress(call), ...dropped] };
  return writeProfile(configDirOf(call), call.settings.profile.name, changes);
}
