import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { noSuchProfile } from './faults.js';
import { type ConfigLocation, findConfig } from './find.js';
import type { Level } from './level.js';
import { parseConfig } from './parse.js';
import type { ConfigFile, ConfigKey } from './schema.js';
import { isTrusted, trustOfKey } from './trust.js';

interface SettingSpec {
  /** Name of the flag, without dashes; absent when there is none. */
  flag?: string;
  /** Our own variable, without the prefix `GRAPHCRED_`. */
  variable?: string;
  /** The variable other tools for this database use. */
  field?: string;
  fallback?: string;
}

/** The settings table of the contract, section 3. */
export const SETTINGS: Record<ConfigKey, SettingSpec> = {
  host: { flag: 'host', variable: 'HOST', field: 'TG_HOST', fallback: 'http://127.0.0.1' },
  restPort: { flag: 'rest-port', variable: 'REST_PORT', field: 'TG_RESTPP_PORT', fallback: '9000' },
  gsqlPort: { flag: 'gsql-port', variable: 'GSQL_PORT', field: 'TG_GS_PORT', fallback: '14240' },
  restUrl: { flag: 'rest-url', variable: 'REST_URL' },
  gsqlUrl: { flag: 'gsql-url', variable: 'GSQL_URL' },
  graph: { flag: 'graph', variable: 'GRAPH', field: 'TG_GRAPHNAME' },
  username: { flag: 'username', variable: 'USERNAME', field: 'TG_USERNAME' },
  password: { variable: 'PASSWORD', field: 'TG_PASSWORD' },
  passwordFile: { flag: 'password-file', variable: 'PASSWORD_FILE' },
  passwordCommand: {},
  secret: { variable: 'SECRET', field: 'TG_SECRET' },
  secretFile: { flag: 'secret-file', variable: 'SECRET_FILE' },
  secretCommand: {},
  serverVersion: { flag: 'server-version', variable: 'SERVER_VERSION', fallback: 'auto' },
  lifetime: { flag: 'lifetime', variable: 'LIFETIME', fallback: '2592000' },
  minTtl: { flag: 'min-ttl', variable: 'MIN_TTL' },
  store: { flag: 'store', variable: 'STORE' },
  timeout: { flag: 'timeout', variable: 'TIMEOUT', fallback: '30' },
  wait: { flag: 'wait', variable: 'WAIT', fallback: '0' },
  'tls.ca': { flag: 'ca', variable: 'CA', field: 'TG_CERT_PATH' },
  'tls.cert': { flag: 'cert', variable: 'CERT' },
  'tls.key': { flag: 'key', variable: 'KEY' },
  'tls.insecure': { flag: 'insecure', variable: 'INSECURE', fallback: 'false' },
  output: { flag: 'output', variable: 'OUTPUT', fallback: 'text' },
  noInput: { flag: 'no-input', variable: 'NO_INPUT', fallback: 'false' },
};

export interface SourcedValue {
  readonly value: string | readonly string[];
  readonly level: Level;
  /** Where the value was said, for people: `--graph`, `GRAPHCRED_GRAPH`, `profile prod`, `default`. */
  readonly source: string;
  /** From a config file whose keys count only together with a credential of its own. */
  readonly untrusted: boolean;
}

export interface Settings {
  readonly file: { path: string; trusted: boolean; stat: fs.Stats } | undefined;
  readonly profile: ChosenProfile;
  readonly profileNames: readonly string[];
  /** Every value said for a setting, nearest first; the first one is in force. */
  readonly all: Readonly<Record<ConfigKey, readonly SourcedValue[]>>;
  /** Notes for `-v`: what was passed over, and why. Never a value. */
  readonly notes: readonly string[];
  /** Keys that an untrusted file gives and that are never taken from one. */
  readonly refused: readonly ConfigKey[];
}

export interface ChosenProfile {
  readonly name: string;
  readonly source: string;
  /** Other names that were said, farther away. */
  readonly shadowed: readonly { value: string; source: string }[];
}

export interface SettingsInput {
  flags: Readonly<Record<string, string | true | string[] | undefined>>;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  home: string;
  configDir: string;
  uid: number | undefined;
  /** The profile is about to be made, so it need not exist. */
  newProfile?: boolean;
}

/**
 * Every setting with its value, its source and what it shadows.
 * @throws GraphException CONFIG_INVALID (file), NOT_FOUND (no such profile)
 */
export async function loadSettings(input: SettingsInput): Promise<Settings> {
  const { flags, env } = input;
  const notes: string[] = [];
  const named = text(flags.config) ?? nonEmpty(env.GRAPHCRED_CONFIG);
  const location = findConfig({ named, cwd: input.cwd, home: input.home, configDir: input.configDir });
  const loaded = location && (await readConfig(location, input));
  const config: ConfigFile | undefined = loaded?.config;
  const trusted = loaded?.trusted ?? true;

  const profile = chooseProfile(flags, env, config);
  const values = config?.profiles.get(profile.name);
  if (values === undefined && profile.source !== 'default' && !input.newProfile) {
    throw noSuchProfile(profile, location?.path, [...(config?.profiles.keys() ?? [])]);
  }
  const fieldsCount = flags.profile === undefined;
  const refused: ConfigKey[] = [];
  const all = {} as Record<ConfigKey, SourcedValue[]>;
  for (const key of Object.keys(SETTINGS) as ConfigKey[]) {
    const spec = SETTINGS[key];
    const said: SourcedValue[] = [];
    const add = (
      value: string | readonly string[] | undefined,
      level: Level,
      source: string,
      fromFile = false,
    ) => {
      if (value === undefined) return;
      const trust = fromFile && !trusted ? trustOfKey(key) : 'free';
      if (trust === 'never') refused.push(key);
      else said.push({ value, level, source, untrusted: trust === 'with-own-literal' });
    };
    if (spec.flag !== undefined) {
      const flag = flags[spec.flag];
      add(flag === true ? 'true' : text(flag), 'flag', `--${spec.flag}`);
    }
    if (spec.variable !== undefined) {
      const name = `GRAPHCRED_${spec.variable}`;
      add(nonEmpty(env[name]), 'variable', name);
    }
    if (spec.field !== undefined) {
      const value = nonEmpty(env[spec.field]);
      if (fieldsCount) add(value, 'field', spec.field);
      else if (value !== undefined) notes.push(`${spec.field} is ignored because --profile was given`);
    }
    add(values?.[key], 'profile', `profile ${profile.name}`, true);
    add(config?.top[key], 'top', 'config file', true);
    add(spec.fallback, 'default', 'default');
    all[key] = said;
  }
  return {
    file: loaded && location && { path: location.path, trusted, stat: loaded.stat },
    profile,
    profileNames: [...(config?.profiles.keys() ?? [])],
    all,
    notes,
    refused,
  };
}

/** The value in force, as text. */
export function settingText(settings: Settings, key: ConfigKey): string | undefined {
  const value = settings.all[key][0]?.value;
  return typeof value === 'string' ? value : undefined;
}

/** A setting that is yes or no. */
export function isOn(settings: Settings, key: ConfigKey): boolean {
  const value = settingText(settings, key)?.toLowerCase();
  return value !== undefined && value !== '0' && value !== 'false' && value !== 'no';
}

async function readConfig(location: ConfigLocation, input: SettingsInput) {
  let source: string;
  let stat: fs.Stats;
  try {
    const fd = fs.openSync(location.path, 'r');
    try {
      stat = fs.fstatSync(fd);
      if (stat.size > 1_000_000)
        throw new GraphException('CONFIG_INVALID', `${location.path} is too large to be a config file.`, {
          hint: 'name another one with --config',
        });
      source = fs.readFileSync(fd, 'utf8');
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    if (error instanceof GraphException) throw error;
    throw new GraphException('CONFIG_INVALID', `${location.path} cannot be read.`, {
      hint: `look at its owner and mode: ls -l ${path.basename(location.path)}`,
    });
  }
  const config = await parseConfig(location.path, source);
  checkLiterals(location.path, config, stat, input.uid);
  const trusted = isTrusted({ location, text: source, stat, uid: input.uid, configDir: input.configDir });
  return { config, stat, trusted };
}

/** Whoever can write a file with a credential in it decides where that credential is sent. */
function checkLiterals(file: string, config: ConfigFile, stat: fs.Stats, uid: number | undefined): void {
  if (uid === undefined || (stat.mode & 0o022) === 0 || !holdsLiteral(config)) return;
  throw new GraphException('CONFIG_INVALID', `${file} holds a credential, and other users can write to it.`, {
    hint: `take their right away: chmod 600 ${file}`,
  });
}

function holdsLiteral(config: ConfigFile): boolean {
  return [config.top, ...config.profiles.values()].some(
    (values) => values.password !== undefined || values.secret !== undefined,
  );
}

function chooseProfile(
  flags: SettingsInput['flags'],
  env: SettingsInput['env'],
  config: ConfigFile | undefined,
): ChosenProfile {
  const said = [
    { value: text(flags.profile), source: '--profile' },
    { value: nonEmpty(env.GRAPHCRED_PROFILE), source: 'GRAPHCRED_PROFILE' },
    { value: config?.defaultProfile, source: 'defaultProfile' },
    { value: 'default', source: 'default' },
  ];
  const [first, ...shadowed] = said.filter(
    (one): one is { value: string; source: string } => one.value !== undefined,
  );
  return { name: first?.value ?? 'default', source: first?.source ?? 'default', shadowed };
}

function text(value: string | true | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
