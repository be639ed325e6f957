import { ADDRESS_KEYS, type ConfigKey, type SourcedValue, topOf } from '../../config/keys.js';
import { describePair } from '../../config/target.js';
import { type ProfileToWrite, writeProfile } from '../../config/write.js';
import { pathSetting } from '../../run/ports.js';
import { graphOf, type Run } from '../../run/run.js';
import { serversInForce } from '../../run/server.js';
import type { Store } from '../../store/store.js';

/** Writes a proved run's profile to the user's own config file, without a credential; what was for another address goes. */
export async function writeOwnProfile(
  run: Run,
  store: Store,
  username: string | undefined,
  more: ProfileToWrite,
  dropped: readonly string[],
): Promise<string> {
  const { settings, stores, ports, target } = run;
  const { all, serverVersion, leftOut, file } = settings;
  // From here on things are written, and a signal no longer ends the process at once.
  ports.interruption.begin();
  stores.recordChoice(store);
  const given = (key: ConfigKey) =>
    all[key].find(({ level }) => level === 'flag' || level === 'variable')?.value as string | undefined;
  // What stands at the top level of the file is a default of this profile too.
  const isAuto = serverVersion === 'auto' && !file?.config.defaults.serverVersion;
  const profile: ProfileToWrite = {
    ...(await addressToWrite(run)),
    graph: graphOf(run),
    username: username || undefined,
    serverVersion: isAuto ? undefined : serverVersion,
    lifetime: given('lifetime'),
    minTtl: given('minTtl'),
    'tls.ca': pathSetting(run, 'tls.ca'),
    'tls.cert': pathSetting(run, 'tls.cert'),
    'tls.key': pathSetting(run, 'tls.key'),
    ...more,
  };
  const isOfProfile = ({ level }: SourcedValue) => level === 'profile';
  const old = leftOut.find(({ set }) => set.some(isOfProfile));
  const oldKeys = new Set(old?.set.filter(isOfProfile).map(({ key }) => topOf(key)));
  const address: readonly string[] = [...ADDRESS_KEYS, 'serverVersion'];
  const removed = [...address, ...oldKeys, ...dropped];
  const { name } = settings.profile;
  const top = leftOut.find(({ named, credential }) => !named && credential?.level === 'fileDefaults');
  if (top && ADDRESS_KEYS.every((key) => file?.config.defaults[key] === undefined))
    ports.reporter.warn([
      `${top.credential?.label} was for ${describePair(top.pair)}, and is sent to ${target.gsqlUrl} from now on`,
      `to prevent this, move it into a profile with the address ${describePair(top.pair)}`,
    ]);
  const written = await writeProfile(stores.requireFolder('configDir'), name, { profile, removed });
  if (old) {
    const kept = Object.entries(profile).flatMap(([key, value]) => (value === undefined ? [] : topOf(key)));
    const lost = [...oldKeys].filter((key) => ![...address, ...kept].includes(key));
    ports.reporter.warn([
      `profile "${name}" names ${describePair(target, old.pair)} now, in place of ${describePair(old.pair, target)}`,
      ...(lost.length > 0 ? [`it lost: ${lost.join(', ')}`] : []),
      'to keep both, log in with the name of a new profile: -p NAME',
    ]);
  }
  return written;
}

/** Returns the address as it was set; as URLs where the top level of the file would be overlaid with it. */
async function addressToWrite(run: Run): Promise<ProfileToWrite> {
  const { target, settings } = run;
  if (ADDRESS_KEYS.some((key) => settings.file?.config.defaults[key] !== undefined)) {
    const { gsqlUrl, restUrl } = await serversInForce(run);
    return { gsqlUrl, restUrl };
  }
  const { host, gsqlUrl } = target.endpoints;
  // Without a host, the default (this machine) is written to the profile.
  const named = host ?? (gsqlUrl === undefined ? target.host : undefined);
  return { ...target.endpoints, host: named };
}
