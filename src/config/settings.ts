import { CLOUD_PORT, isCloud } from '../core/endpoints.js';
import { usageError } from '../core/errors.js';
import { noSuchProfile, refuseValue } from './errors.js';
import { hiddenUserConfig } from './find.js';
import {
  type ConfigKey,
  type Flags,
  isInFile,
  KEYS,
  type Level,
  type LoadedFile,
  NO_SWITCH,
  parseDuration,
  readSwitch,
  SETTINGS,
  type Settings,
  type SettingsInput,
  type SourcedValue,
  variableIn,
} from './keys.js';
import { resolveTarget } from './target.js';

export function settingsOfFile(file: LoadedFile | undefined, profile: string | undefined): Settings {
  return resolveSettings({ flags: { profile }, env: {} }, file, false);
}

/**
 * Resolves every setting to its value, its source and the values of lower priority, and the address to one database.
 * @param needsProfile whether a profile that is named must exist, and one that is typed must be for that database
 */
export function resolveSettings(
  input: Pick<SettingsInput, 'flags' | 'env'> & Partial<SettingsInput>,
  file: LoadedFile | undefined,
  needsProfile = true,
): Settings {
  const { flags, env } = input;
  const config = file?.config;
  const profile = chooseProfile(flags, env, file);
  const profileNames = [...(config?.profiles.keys() ?? [])];
  if (needsProfile && !config?.profiles.has(profile.name) && profile.source !== 'default')
    throw noSuchProfile(profile.name, profile.source, file, hiddenUserConfig(input, file));
  const ofTools = profile.source === '--profile' ? {} : env;
  const cloudPort = portInCloud(ofTools);
  const all = {} as Record<ConfigKey, SourcedValue[]>;
  for (const key of KEYS) {
    const { flag = '', variable = '', tgVariable = '', type, default: preset } = SETTINGS[key];
    const isWord = !/^(?:text|path|list)$/.test(type);
    const isUsual = tgVariable !== '' && type === 'port' && (ofTools[tgVariable] || preset) === preset;
    const tool = (isUsual && cloudPort) || {
      source: tgVariable,
      value: variableIn(ofTools, tgVariable, isWord),
    };
    const values: readonly [Level, source: string, value: SourcedValue['value'] | undefined][] = [
      ['flag', `--${flag}`, readFlag(flags[flag])],
      ['variable', variable, variableIn(env, variable, isWord)],
      ['tgVariable', tool.source, tool.value],
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
  return resolveTarget({ file, profile, profileNames, all }, needsProfile);
}

/** Returns the port of both servers at a `TG_HOST` in the makers' cloud; no value where core knows it from the host. */
function portInCloud(env: SettingsInput['env']): { source: string; value: string | undefined } | undefined {
  const { TG_HOST = '' } = env;
  const isNamed = TG_HOST !== '' && readSwitch(variableIn(env, 'TG_TGCLOUD', true) ?? 'off');
  if (isNamed === undefined) throw usageError(`TG_TGCLOUD ${NO_SWITCH[0]}.`, NO_SWITCH[1]);
  if (!isNamed && !isCloud(TG_HOST)) return undefined;
  const own = variableIn(env, 'TG_SSL_PORT', true);
  const value = own ?? `${CLOUD_PORT}`;
  const isKnown = isCloud(TG_HOST) && value === `${CLOUD_PORT}`;
  return { source: own ? 'TG_SSL_PORT' : 'TG_TGCLOUD', value: isKnown ? undefined : value };
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
    [variableIn(env, 'GRAPHCRED_PROFILE', true), 'GRAPHCRED_PROFILE'],
    [file?.config.defaultProfile, 'defaultProfile'],
    ['default', 'default'],
  ];
  const given = set.flatMap(([value, source]) => (value === undefined ? [] : [{ value, source }]));
  const [{ value: name, source }, ...shadowed] = given as [(typeof given)[0], ...typeof given];
  return { name, source, shadowed };
}
