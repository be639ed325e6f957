import type fs from 'node:fs';
import type { Endpoints, Pair } from '../core/endpoints.js';
import { type GraphException, usageError } from '../core/errors.js';

/** A row of the table: the names of flag and variable follow from the key's. */
interface SettingRow {
  /** The form of a value: a `path` is that of a file, a `list` a program; any other but `text` has no blanks and quotes. */
  readonly type: 'text' | 'word' | 'path' | 'port' | 'url' | 'duration' | 'boolean' | 'list';
  readonly flag?: true;
  /** The variable that other tools for this database use. */
  readonly tgVariable?: string;
  readonly default?: string;
  /** What it concerns: a credential, or this machine, whichever database is in force. */
  readonly of?: 'credential' | 'machine';
  /** Whether a person is shown the value before a file is trusted, as is done with every file and program. */
  readonly isShown?: true;
}

/** A list of words has no variable. */
type SettingSpec = Omit<SettingRow, 'flag'> & Readonly<Record<'flag' | 'variable', string | undefined>>;

/**
 * Every setting of a profile or the top level of a config file: the one table from which the schema, help, completion, the
 * manual page and docs are made. `tls.x` stands for `tls: { x: … }`, and `redis.x` and `oidc.x` likewise.
 */
const TABLE = {
  host: { type: 'url', flag: true, tgVariable: 'TG_HOST', default: 'http://127.0.0.1' },
  restPort: { type: 'port', flag: true, tgVariable: 'TG_RESTPP_PORT', default: '9000' },
  gsqlPort: { type: 'port', flag: true, tgVariable: 'TG_GS_PORT', default: '14240' },
  restUrl: { type: 'url', flag: true },
  gsqlUrl: { type: 'url', flag: true },
  graph: { type: 'word', flag: true, tgVariable: 'TG_GRAPHNAME' },
  username: { type: 'text', flag: true, tgVariable: 'TG_USERNAME' },
  password: { type: 'text', tgVariable: 'TG_PASSWORD', of: 'credential' },
  passwordFile: { type: 'path', flag: true, of: 'credential' },
  passwordCommand: { type: 'list', of: 'credential' },
  secret: { type: 'word', tgVariable: 'TG_SECRET', of: 'credential' },
  secretFile: { type: 'path', flag: true, of: 'credential' },
  secretCommand: { type: 'list', of: 'credential' },
  jwt: { type: 'word', tgVariable: 'TG_JWT_TOKEN', of: 'credential' },
  jwtFile: { type: 'path', flag: true, of: 'credential' },
  jwtCommand: { type: 'list', of: 'credential' },
  secretAlias: { type: 'word', flag: true },
  serverVersion: { type: 'word', flag: true, default: 'auto' },
  lifetime: { type: 'duration', flag: true, default: '2592000', of: 'machine' },
  minTtl: { type: 'duration', flag: true, of: 'machine' },
  principal: { type: 'text', flag: true },
  store: { type: 'word', flag: true, of: 'machine' },
  'oidc.issuer': { type: 'text', flag: true, of: 'credential', isShown: true },
  'oidc.clientId': { type: 'text', flag: true, of: 'credential' },
  'oidc.scopes': { type: 'text', of: 'credential' },
  'oidc.audience': { type: 'text', of: 'credential' },
  'oidc.use': { type: 'text', of: 'credential' },
  'oidc.grant': { type: 'text', of: 'credential' },
  'oidc.clientSecretFile': { type: 'path', of: 'credential' },
  'oidc.clientAssertion': { type: 'path', of: 'credential' },
  'oidc.port': { type: 'port', of: 'credential' },
  'redis.url': { type: 'text', of: 'machine', isShown: true },
  'redis.username': { type: 'text', of: 'machine' },
  'redis.passwordFile': { type: 'path', of: 'machine' },
  'redis.ca': { type: 'path', of: 'machine' },
  'redis.sentinelMaster': { type: 'text', of: 'machine' },
  timeout: { type: 'duration', flag: true, default: '30', of: 'machine' },
  wait: { type: 'duration', flag: true, default: '0', of: 'machine' },
  'tls.ca': { type: 'path', flag: true, tgVariable: 'TG_CERT_PATH' },
  'tls.cert': { type: 'path', flag: true },
  'tls.key': { type: 'path', flag: true },
  'tls.insecure': { type: 'boolean', flag: true, default: 'false', isShown: true },
  output: { type: 'word', flag: true, default: 'text', of: 'machine' },
  noInput: { type: 'boolean', flag: true, default: 'false', of: 'machine' },
} as const satisfies Record<string, SettingRow>;

export type ConfigKey = keyof typeof TABLE;

export const KEYS = Object.keys(TABLE) as ConfigKey[];

/** The settings, with the names of flag and variable: `ca` and `GRAPHCRED_CA` for `tls.ca`. */
export const SETTINGS = Object.fromEntries(
  Object.entries<SettingRow>(TABLE).map(([key, { flag, ...row }]): [string, SettingSpec] => {
    const words = key
      .replace('tls.', '')
      .replace(/\.|(?=[A-Z])/g, '-')
      .toLowerCase();
    const variable = `GRAPHCRED_${words.replaceAll('-', '_').toUpperCase()}`;
    return [key, { ...row, flag: flag && words, variable: row.type === 'list' ? undefined : variable }];
  }),
) as Readonly<Record<ConfigKey, SettingSpec>>;

const OTHERS = 'CONFIG PROFILE STORE_KEY STORE_KEY_FILE OIDC_CLIENT_SECRET REDIS_PASSWORD';

export function unknownVariables(env: SettingsInput['env']): string[] {
  const others = OTHERS.split(' ').map((name) => `GRAPHCRED_${name}`);
  const known = [...Object.values(SETTINGS).map(({ variable }) => variable), ...others];
  return Object.keys(env).filter((name) => name.startsWith('GRAPHCRED_') && !known.includes(name));
}

/** Returns the name that a file has a setting under: for `tls.ca` that of the table `tls`. */
export function topOf(key: string): string {
  return key.replace(/\..*/, '');
}

/** Where a value was set, highest priority first. */
export const PRECEDENCE = ['flag', 'variable', 'tgVariable', 'profile', 'fileDefaults', 'default'] as const;
export type Level = (typeof PRECEDENCE)[number];

export function isInFile(level: string | undefined): boolean {
  return level === 'profile' || level === 'fileDefaults';
}

/** Whether this value is a credential or contains one, as the URL of a Redis server may. */
export function isLiteralCredential(key: ConfigKey, value: string | readonly string[]): boolean {
  if (key === 'redis.url') return /\/\/[^/:]*:[^/]+@/.test(String(value));
  return key === 'password' || key === 'secret' || key === 'jwt';
}

/** Settings that give the address of a database, those that name a server first. */
export const ADDRESS_KEYS = ['host', 'gsqlUrl', 'restUrl', 'gsqlPort', 'restPort'] as const;

/** Settings that are a credential, say where one is, or name a provider of them. */
export const CREDENTIAL_KEYS = KEYS.filter((key) => SETTINGS[key].of === 'credential');

/** Settings that run a program, name a file, change how a server is verified, or say where else credentials go. */
export const RUNS_OR_READS = KEYS.filter((key) => {
  const { type, isShown } = SETTINGS[key];
  return type === 'path' || type === 'list' || isShown;
});

/** The values as text, also those of ports and durations, so that flags, variables and files are read in the same way. */
export type ConfigValues = { [K in ConfigKey]?: string | string[] };

export interface ConfigFile {
  readonly defaultProfile: string | undefined;
  readonly defaults: ConfigValues;
  readonly profiles: ReadonlyMap<string, ConfigValues>;
}

export function tablesOf({ defaults, profiles }: ConfigFile): ConfigValues[] {
  return [defaults, ...profiles.values()];
}

/** Returns the profile that a file chooses when nothing else does. Without `defaultProfile` it is the one named `default`. */
export function defaultProfileOf(config: ConfigFile | undefined): string | undefined {
  return config?.defaultProfile ?? (config?.profiles.has('default') ? 'default' : undefined);
}

/** Returns the default profile once `name` is written: it is the first profile of a file that names no servers besides. */
export function defaultWith(config: ConfigFile | undefined, name: string): string | undefined {
  const { profiles, defaults } = config ?? {};
  const isFirst = !profiles?.size && ADDRESS_KEYS.every((key) => defaults?.[key] === undefined);
  return defaultProfileOf(config) ?? (isFirst || name === 'default' ? name : undefined);
}

export interface ConfigLocation {
  readonly path: string;
  readonly place: 'named' | 'project' | 'home' | 'user';
}

export interface LoadedFile extends ConfigLocation {
  readonly stat: fs.Stats;
  readonly config: ConfigFile;
  /** Whether other users of this machine can read a credential that is written in it, of whichever profile. */
  readonly showsCredential: boolean;
}

/** Flags by their long name: text, `true` for a switch, a list for one that may be repeated. */
export type Flags = Readonly<Record<string, string | true | string[] | undefined>>;

export interface SettingsInput {
  readonly flags: Flags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string | undefined;
  /** `$XDG_CONFIG_HOME/graphcred` */
  readonly configDir: string | undefined;
}

export interface SourcedValue {
  readonly key: ConfigKey;
  readonly value: string | readonly string[];
  readonly level: Level;
  /** Where the value was set, for people: `--graph`, `GRAPHCRED_GRAPH`, `profile prod`, `default`. */
  readonly source: string;
  /** The same, of a value in the config file with its key: `graph of profile prod`. */
  readonly label: string;
}

export interface Settings {
  readonly file: LoadedFile | undefined;
  readonly profile: { name: string; source: string; shadowed: readonly { value: string; source: string }[] };
  readonly profileNames: readonly string[];
  /** Every value that was set for a setting, highest priority first; the first one is in force. */
  readonly all: Readonly<Record<ConfigKey, readonly SourcedValue[]>>;
  readonly database: Target | GraphException;
  readonly leftOut: readonly LeftOut[];
}

/** The database: the addresses as one layer sets them, and what follows from them without asking the server. */
export interface Target extends Pair {
  readonly endpoints: Endpoints;
  /** Scheme and host name of the GSQL server, without port. */
  readonly host: string;
}

/** A layer of settings that does not count, because it is for another database than the one in force. */
export interface LeftOut {
  /** The first part of its address; undefined for a config file that names none, and so is for this machine. */
  readonly named: SourcedValue | undefined;
  /** Where the layer names its address, or what it holds, for messages: `TG_HOST`, `profile prod`. */
  readonly source: string;
  readonly pair: Pair | undefined;
  readonly set: readonly SourcedValue[];
  readonly credential: SourcedValue | undefined;
}

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;
/** A hundred years; a longer duration is a typing error. */
const MAX_SECONDS = 100 * 365 * 86_400;

/** Parses a duration, `90` (seconds), `90s`, `15m`, `12h`, `30d` or `1w`, to whole seconds; undefined for another text. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,12})([smhdw]?)$/.exec(text);
  if (!match) return undefined;
  const seconds = Number(match[1]) * SECONDS[(match[2] || 's') as keyof typeof SECONDS];
  return seconds <= MAX_SECONDS ? seconds : undefined;
}

/** The words of a switch. The first half turns it on. */
const SWITCH = ['1', 'true', 'yes', 'on', '0', 'false', 'no', 'off'];
export const NO_SWITCH = ['must be on or off', `write one of: ${SWITCH.join(', ')}`] as const;

export function readSwitch(word: string): boolean | undefined {
  const at = SWITCH.indexOf(word.toLowerCase());
  return at === -1 ? undefined : at < SWITCH.length / 2;
}

/** Returns the life that a cached token must have left where no setting says it, for tokens of this life; in seconds. */
export function defaultMinTtl(lifetime: number): number {
  return Math.min(60, lifetime * 0.1);
}

/** What a value has by mistake, of a shell or a paste; a text that is no single word may have the last two. */
const MISTAKES: readonly [string, RegExp][] = [
  ['a line end', /[\r\n\u2028\u2029]/],
  ['an unprintable character', /[\p{Cc}\p{Cf}]/u],
  ['a blank', /\s/],
  ['a quotation mark', /["'`\u2018-\u201f]/],
];

/**
 * Returns the value of a variable without the line end that a shell or a mounted file may add; undefined for an empty
 * one. Throws USAGE for a character that it cannot have: a wrong login each time may lock the user out.
 * @param isWord whether it cannot hold blanks and quotation marks: a token, a graph, an address, but not a password
 */
export function variableIn(env: SettingsInput['env'], name: string, isWord: boolean): string | undefined {
  const value = env[name]?.replace(/\r?\n$/, '') || undefined;
  // Most values are plain ASCII, and for them the Unicode tables are not needed.
  if (value === undefined || /^[!#-&(-_a-~]*$/.test(value)) return value;
  for (const [what, pattern] of isWord ? MISTAKES : MISTAKES.slice(0, 2)) {
    const at = value.search(pattern);
    if (at !== -1)
      throw usageError(
        `There is ${what} in ${name}, at character ${at + 1} of ${value.length}.`,
        'set it to the value alone, on one line; in a file for docker --env-file, without quotation marks and spaces around =',
      );
  }
  return value;
}
