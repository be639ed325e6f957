import { CLOUD_PORT, isCloud } from '../core/endpoints.js';
import { GraphException, usageError } from '../core/errors.js';
import { accessOf, keepOthersOut } from '../files/access.js';
import { noSuchProfile, refuseValue } from './errors.js';
import {
  type ConfigText,
  findConfigs,
  findUserConfig,
  isTrusted,
  NO_PROJECT_FILE,
  notTrusted,
  problemOfConfig,
  readConfig,
  refused,
} from './find.js';
import {
  type ConfigKey,
  type Flags,
  isInFile,
  isLiteralCredential,
  KEYS,
  type Level,
  type LoadedFile,
  NO_SWITCH,
  parseDuration,
  RUNS_OR_READS,
  readSwitch,
  SETTINGS,
  type Settings,
  type SettingsInput,
  type SourcedValue,
  tablesOf,
  valueOfVariable,
} from './keys.js';
import { parseConfig } from './parse.js';
import { resolveTarget } from './target.js';

/** Returns the config file in force, the first that is trusted, and those before it. Throws like `loadConfig`. */
export async function findTrustedConfig(input: SettingsInput) {
  const untrusted: ConfigText[] = [];
  for (const location of findConfigs(input)) {
    const read = await readConfig(location);
    if (isTrusted(read, input.configDir)) return { file: await loadConfig(read), untrusted };
    untrusted.push(read);
  }
  return { file: undefined, untrusted };
}

/** Finds the user's own config file, even when a file of higher priority exists. Throws like `loadConfig`. */
export async function findOwnConfig(input: SettingsInput) {
  const ofUser = { ...input, home: undefined, env: {}, flags: { config: NO_PROJECT_FILE } };
  const found = await findTrustedConfig(ofUser);
  for (const own of found.untrusted) throw notTrusted(own);
  return found;
}

export function hiddenUserConfig({ configDir }: Partial<SettingsInput>, file?: LoadedFile) {
  const own = file && configDir && findUserConfig(configDir);
  return own === file?.path ? undefined : own;
}

/** Parses and checks a config file. Throws CONFIG_INVALID naming file, key and line, and CONFIG_UNTRUSTED. */
export async function loadConfig(read: ConfigText): Promise<LoadedFile> {
  const { path, text, stat, place } = read;
  const config = await parseConfig(path, text);
  const set = tablesOf(config).flatMap((table) => Object.entries(table) as [ConfigKey, string | string[]][]);
  if (place === 'project' && set.some(([key, value]) => key === 'tls.insecure' && readSwitch(`${value}`)))
    throw new GraphException(
      'CONFIG_INVALID',
      `${path} sets tls.insecure, which a project's config file may not.`,
      { hint: 'remove it from the file; give the CA certificate with tls.ca, or type --insecure' },
    );
  const holdsCredential = set.some(([key, value]) => isLiteralCredential(key, value));
  const access = holdsCredential ? accessOf(path, stat.mode) : 'none';
  // Who can write the file could change the address that the credential is sent to.
  if (access === 'write')
    throw new GraphException(
      'CONFIG_INVALID',
      `${path} holds a credential, and other users can write to it.`,
      { hint: `remove their permission: ${keepOthersOut(path)}` },
    );
  // They could also make a program or a file that it names any other.
  const namesOne = place === 'named' && set.some(([key]) => RUNS_OR_READS.includes(key));
  const problem = namesOne ? problemOfConfig(read) : undefined;
  if (problem) throw refused(problem);
  return { path, stat, config, showsCredential: access !== 'none' };
}

export function settingsOfFile(file: LoadedFile | undefined, profile: string | undefined): Settings {
  return resolveSettings({ flags: { profile }, env: {} }, file, { needsProfile: false });
}

/**
 * Resolves every setting to its value, its source and the values of lower priority, and the address to one database.
 * @param options.needsProfile whether a profile that is named must exist, and one that is typed must be for that database
 */
export function resolveSettings(
  input: Pick<SettingsInput, 'flags' | 'env'> & Partial<SettingsInput>,
  file: LoadedFile | undefined,
  { needsProfile = true } = {},
): Settings {
  const { flags, env } = input;
  const config = file?.config;
  const profile = chooseProfile(flags, env, file);
  const profileNames = [...(config?.profiles.keys() ?? [])];
  if (needsProfile && !config?.profiles.has(profile.name) && profile.source !== 'default')
    throw noSuchProfile(profile.name, ` (${profile.source})`, file, hiddenUserConfig(input, file));
  const ofTools = profile.source === '--profile' ? {} : env;
  const cloudPort = portInCloud(ofTools);
  const all = {} as Record<ConfigKey, SourcedValue[]>;
  for (const key of KEYS) {
    const { flag = '', variable = '', tgVariable = '', type, default: preset } = SETTINGS[key];
    const isUsual = tgVariable !== '' && type === 'port' && (ofTools[tgVariable] || preset) === preset;
    const tool = (isUsual && cloudPort) || { source: tgVariable, value: ofTools[tgVariable] };
    const isWord = /^(?:url|port|word|duration|boolean)$/.test(type);
    const values: readonly [Level, source: string, value: SourcedValue['value'] | undefined][] = [
      ['flag', `--${flag}`, readFlag(flags[flag])],
      ['variable', variable, valueOfVariable(variable, env[variable], isWord)],
      ['tgVariable', tool.source, valueOfVariable(tool.source, tool.value, isWord)],
      ['profile', `profile ${profile.name}`, config?.profiles.get(profile.name)?.[key]],
      ['fileDefaults', 'config file', config?.defaults[key]],
      ['default', 'default', preset],
    ];
    all[key] = values.flatMap(([level, source, value]) => {
      const where = level === 'profile' ? `profile "${profile.name}"` : 'the config file';
      const label = isInFile(level) ? `${key} of ${where}` : source;
      return value === undefined ? [] : [{ key, value, level, source, label }];
    });
  }
  const name = 'GRAPHCRED_OIDC_CLIENT_SECRET';
  const clientSecret = valueOfVariable(name, env[name], false);
  return resolveTarget({ file, profile, profileNames, all, clientSecret }, needsProfile);
}

/** Returns the port of both servers at a `TG_HOST` in the makers' cloud; no value where core knows it from the host. */
function portInCloud(env: SettingsInput['env']): { source: string; value: string | undefined } | undefined {
  const { TG_HOST = '', TG_SSL_PORT } = env;
  const word = valueOfVariable('TG_TGCLOUD', env.TG_TGCLOUD, true) ?? 'off';
  const isNamed = TG_HOST !== '' && readSwitch(word);
  if (isNamed === undefined) throw usageError(`TG_TGCLOUD ${NO_SWITCH[0]}.`, NO_SWITCH[1]);
  if (!isNamed && !isCloud(TG_HOST)) return undefined;
  const value = TG_SSL_PORT || String(CLOUD_PORT);
  const isKnown = isCloud(TG_HOST) && value === String(CLOUD_PORT);
  return { source: TG_SSL_PORT ? 'TG_SSL_PORT' : 'TG_TGCLOUD', value: isKnown ? undefined : value };
}

/** Returns the value of a flag. One that a person answers may be empty, which counts as not given. */
function readFlag(flag: Flags[string]): string | undefined {
  if (flag === true) return 'true';
  return typeof flag === 'string' && flag !== '' ? flag : undefined;
}

export function settingText(settings: Settings, key: ConfigKey): string | undefined {
  const value = settings.all[key][0]?.value;
  return typeof value === 'string' ? value : undefined;
}

/** Returns a duration in ms. A timer of more than 2^31 - 1 ms fires at once, so a longer time is that long. */
export function millisecondsOf(settings: Settings, key: ConfigKey, whenShort?: string): number {
  return Math.min(secondsOf(settings, key, whenShort) * 1000, 2 ** 31 - 1);
}

/** Returns a duration in seconds. @param whenShort what to do about less than a second, where that is too short */
export function secondsOf(settings: Settings, key: ConfigKey, whenShort?: string): number {
  const hint = 'write seconds, or a number with a unit, 100 years at most: 90, 90s, 15m, 12h, 30d, 1w';
  const value =
    parseDuration(settingText(settings, key) ?? '') ?? refuseValue(settings, key, 'is not a duration', hint);
  return whenShort && value < 1 ? refuseValue(settings, key, 'is too short', whenShort) : value;
}

/** Whether a setting that is a switch is on. Throws USAGE or CONFIG_INVALID for a value that is neither on nor off. */
export function isOn(settings: Settings, key: ConfigKey): boolean {
  return readSwitch(settingText(settings, key) ?? 'off') ?? refuseValue(settings, key, ...NO_SWITCH);
}

function chooseProfile(flags: Flags, env: SettingsInput['env'], file?: LoadedFile) {
  const set: readonly [value: string | undefined, source: string][] = [
    [readFlag(flags.profile), '--profile'],
    [valueOfVariable('GRAPHCRED_PROFILE', env.GRAPHCRED_PROFILE, true), 'GRAPHCRED_PROFILE'],
    [file?.config.defaultProfile, 'defaultProfile'],
    ['default', 'default'],
  ];
  const given = set.flatMap(([value, source]) => (value === undefined ? [] : [{ value, source }]));
  const [{ value: name, source }, ...shadowed] = given as [(typeof given)[0], ...typeof given];
  return { name, source, shadowed };
}
