import { findConfigs } from '../config/find.js';
import { type ConfigKey, defaultProfileOf, KEYS_OF_ADDRESS, type Settings } from '../config/keys.js';
import type { ProfileToWrite, WithLock } from '../config/write.js';
import { GraphException } from '../core/errors.js';
import { shellWord } from '../files/shell-word.js';
import { withLock } from '../store/lock/lock.js';
import { inLines, shortPath, singleLine } from './output/report.js';
import type { Session } from './session.js';

/** Returns the lock under which a login writes the config file. */
export function lockOf({ timeoutMs }: Session): WithLock {
  return (lock, work) => withLock(lock, { waitMs: timeoutMs + 5000 }, work);
}

/** Returns what the profile of the file loses because its address is replaced. */
export function keysOfOldAddress({ settings }: Session): string[] {
  const replaced = KEYS_OF_ADDRESS.filter((key) => isRemoved(settings, key));
  return [...new Set([...replaced, ...(settings.foreign ?? [])].map((key) => key.replace(/\..*/, '')))];
}

/** Whether the profile in the file has this key, but the key is ignored because the address is new. */
function isRemoved({ file, profile, all }: Settings, key: ConfigKey): boolean {
  const had = file?.config.profiles.get(profile.name)?.[key] !== undefined;
  return had && !all[key].some(({ level }) => level === 'profile');
}

/** Returns the profile to write, without the credential. */
export function profileOf(session: Session, username: string | undefined): ProfileToWrite {
  const { target, graph, settings, tls, serverVersion } = session;
  const files = (['ca', 'cert', 'key'] as const).flatMap((name) =>
    tls[name] === undefined ? [] : [[name, tls[name]]],
  );
  const lives = (['lifetime', 'minTtl'] as const).flatMap((key) => {
    const [set] = settings.all[key];
    return set && set.level !== 'default' && set.level !== 'fileDefaults' ? [[key, set.value]] : [];
  });
  const addresses = Object.entries(target.endpoints).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(addresses) as Record<string, string | number>),
    // Without a host, the default (this machine) is written to the profile.
    ...(target.endpoints.host === undefined &&
      target.endpoints.gsqlUrl === undefined && { host: target.host }),
    ...(graph !== undefined && { graph }),
    ...(username && { username }),
    ...(serverVersion !== 'auto' && { serverVersion }),
    ...(Object.fromEntries(lives) as Record<string, string>),
    ...(files.length > 0 && { tls: Object.fromEntries(files) as Record<string, string> }),
  };
}

/** Says that the profile is written, and what to type next. */
export function reportWritten(
  session: Session,
  file: string,
  makeDefault: boolean,
  notes: readonly string[],
): void {
  const { invocation, settings, target } = session;
  const { report } = invocation;
  const { name } = settings.profile;
  const { home, stdout } = invocation.ctx;
  const done = `Logged in to ${target.gsqlUrl} as profile ${name} (${shortPath(file, home)}).`;
  report.result(inLines(singleLine([done, ...notes].join(' ')), stdout.columns));
  const before = defaultProfileOf(settings.file?.config);
  const isDefault = makeDefault || before === undefined || before === name;
  const inForce = fileInForce(session);
  if (inForce !== undefined && inForce !== file)
    report.note(`${inForce} is in force here and hides this profile`);
  const config = inForce === undefined || inForce === file ? '' : ` --config ${shellWord(file)}`;
  report.note(`next: graphcred token get${isDefault ? '' : ` -p ${name}`}${config}`);
}

/** Returns the config file that other commands find here, trusted or not. */
function fileInForce({ invocation, configDir }: Session): string | undefined {
  const { ctx, flags } = invocation;
  const named = (flags.config as string | undefined) ?? (ctx.env.GRAPHCRED_CONFIG || undefined);
  try {
    const [first] = findConfigs({ named, cwd: ctx.cwd, home: ctx.home, configDir });
    return first?.path;
  } catch (error) {
    // The file that is named, or one of two in a folder: other commands say what is wrong with it.
    if (error instanceof GraphException) return named;
    throw error;
  }
}
