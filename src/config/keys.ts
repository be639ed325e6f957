import type fs from 'node:fs';

type SettingType = 'text' | 'port' | 'url' | 'duration' | 'boolean' | 'list';

interface SettingSpec {
  /** How a value is written in a config file. */
  readonly type: SettingType;
  /** Name of the flag, without dashes; absent when there is none. */
  readonly flag?: string;
  readonly variable?: string;
  /** The variable that other tools for this database use. */
  readonly tgVariable?: string;
  readonly default?: string;
}

/**
 * Every setting a profile or the top level of a config file may hold: the one table from which the schema, the
 * settings, help, completion, the man page and docs are made. `tls.x` stands for `tls: { x: … }`,
 * and `redis.x` and `oidc.x` likewise.
 */
const TABLE = {
  host: {
    type: 'url',
    flag: 'host',
    variable: 'GRAPHCRED_HOST',
    tgVariable: 'TG_HOST',
    default: 'http://127.0.0.1',
  },
  restPort: {
    type: 'port',
    flag: 'rest-port',
    variable: 'GRAPHCRED_REST_PORT',
    tgVariable: 'TG_RESTPP_PORT',
    default: '9000',
  },
  gsqlPort: {
    type: 'port',
    flag: 'gsql-port',
    variable: 'GRAPHCRED_GSQL_PORT',
    tgVariable: 'TG_GS_PORT',
    default: '14240',
  },
  restUrl: { type: 'url', flag: 'rest-url', variable: 'GRAPHCRED_REST_URL' },
  gsqlUrl: { type: 'url', flag: 'gsql-url', variable: 'GRAPHCRED_GSQL_URL' },
  graph: { type: 'text', flag: 'graph', variable: 'GRAPHCRED_GRAPH', tgVariable: 'TG_GRAPHNAME' },
  username: { type: 'text', flag: 'username', variable: 'GRAPHCRED_USERNAME', tgVariable: 'TG_USERNAME' },
  password: { type: 'text', variable: 'GRAPHCRED_PASSWORD', tgVariable: 'TG_PASSWORD' },
  passwordFile: { type: 'text', flag: 'password-file', variable: 'GRAPHCRED_PASSWORD_FILE' },
  passwordCommand: { type: 'list' },
  secret: { type: 'text', variable: 'GRAPHCRED_SECRET', tgVariable: 'TG_SECRET' },
  secretFile: { type: 'text', flag: 'secret-file', variable: 'GRAPHCRED_SECRET_FILE' },
  secretCommand: { type: 'list' },
  jwt: { type: 'text', variable: 'GRAPHCRED_JWT', tgVariable: 'TG_JWT_TOKEN' },
  jwtFile: { type: 'text', flag: 'jwt-file', variable: 'GRAPHCRED_JWT_FILE' },
  jwtCommand: { type: 'list' },
  secretAlias: { type: 'text', flag: 'secret-alias', variable: 'GRAPHCRED_SECRET_ALIAS' },
  serverVersion: {
    type: 'text',
    flag: 'server-version',
    variable: 'GRAPHCRED_SERVER_VERSION',
    default: 'auto',
  },
  lifetime: { type: 'duration', flag: 'lifetime', variable: 'GRAPHCRED_LIFETIME', default: '2592000' },
  minTtl: { type: 'duration', flag: 'min-ttl', variable: 'GRAPHCRED_MIN_TTL' },
  principal: { type: 'text', flag: 'principal', variable: 'GRAPHCRED_PRINCIPAL' },
  store: { type: 'text', flag: 'store', variable: 'GRAPHCRED_STORE' },
  'oidc.issuer': { type: 'text', flag: 'oidc-issuer', variable: 'GRAPHCRED_OIDC_ISSUER' },
  'oidc.clientId': { type: 'text', flag: 'oidc-client-id', variable: 'GRAPHCRED_OIDC_CLIENT_ID' },
  'oidc.scopes': { type: 'text', variable: 'GRAPHCRED_OIDC_SCOPES' },
  'oidc.audience': { type: 'text', variable: 'GRAPHCRED_OIDC_AUDIENCE' },
  'oidc.use': { type: 'text', variable: 'GRAPHCRED_OIDC_USE' },
  'oidc.grant': { type: 'text', variable: 'GRAPHCRED_OIDC_GRANT' },
  'oidc.clientSecretFile': { type: 'text', variable: 'GRAPHCRED_OIDC_CLIENT_SECRET_FILE' },
  'oidc.clientAssertion': { type: 'text', variable: 'GRAPHCRED_OIDC_CLIENT_ASSERTION' },
  'oidc.port': { type: 'port', variable: 'GRAPHCRED_OIDC_PORT' },
  'redis.url': { type: 'text', variable: 'GRAPHCRED_REDIS_URL' },
  'redis.username': { type: 'text', variable: 'GRAPHCRED_REDIS_USERNAME' },
  'redis.passwordFile': { type: 'text', variable: 'GRAPHCRED_REDIS_PASSWORD_FILE' },
  'redis.ca': { type: 'text', variable: 'GRAPHCRED_REDIS_CA' },
  'redis.sentinelMaster': { type: 'text', variable: 'GRAPHCRED_REDIS_SENTINEL_MASTER' },
  timeout: { type: 'duration', flag: 'timeout', variable: 'GRAPHCRED_TIMEOUT', default: '30' },
  wait: { type: 'duration', flag: 'wait', variable: 'GRAPHCRED_WAIT', default: '0' },
  'tls.ca': { type: 'text', flag: 'ca', variable: 'GRAPHCRED_CA', tgVariable: 'TG_CERT_PATH' },
  'tls.cert': { type: 'text', flag: 'cert', variable: 'GRAPHCRED_CERT' },
  'tls.key': { type: 'text', flag: 'key', variable: 'GRAPHCRED_KEY' },
  'tls.insecure': { type: 'boolean', flag: 'insecure', variable: 'GRAPHCRED_INSECURE', default: 'false' },
  output: { type: 'text', flag: 'output', variable: 'GRAPHCRED_OUTPUT', default: 'text' },
  noInput: { type: 'boolean', flag: 'no-input', variable: 'GRAPHCRED_NO_INPUT', default: 'false' },
} as const satisfies Record<string, SettingSpec>;

export type ConfigKey = keyof typeof TABLE;
export const SETTINGS: Readonly<Record<ConfigKey, SettingSpec>> = TABLE;

/** Where a value was set, highest priority first. */
export const PRECEDENCE = ['flag', 'variable', 'tgVariable', 'profile', 'fileDefaults', 'default'] as const;
export type Level = (typeof PRECEDENCE)[number];

/** Whether a value of this level was set in the config file. */
export function isInFile(level: string | undefined): boolean {
  return level === 'profile' || level === 'fileDefaults';
}

/** Whether this value is a credential or contains one, as the URL of a Redis server may. */
export function isLiteralCredential(key: ConfigKey, value: string | readonly string[]): boolean {
  if (key === 'redis.url') return /\/\/[^@/]*:[^@/]+@/.test(String(value));
  return key === 'password' || key === 'secret' || key === 'jwt';
}

/** Settings that give the address of a database. A new address replaces all of them. */
export const ADDRESS_KEYS = ['host', 'restPort', 'gsqlPort', 'restUrl', 'gsqlUrl'] as const;
const keysLike = (names: RegExp) => (Object.keys(TABLE) as ConfigKey[]).filter((key) => names.test(key));

/** Settings that belong to the database at an address: they are dropped when the address is replaced. */
export const KEYS_OF_ADDRESS = keysLike(/^(?:host|rest|gsql|serverVersion|password|secret|jwt|oidc)/);

/** Settings of the file that suit only the database at its address: they do not count at another one. */
export const SETTINGS_OF_ADDRESS = keysLike(/^(?:serverVersion|secretAlias|store|redis\.|tls\.)/);

/** Settings that run a program, name a file on this machine, or say where credentials go besides the database. */
export const RUNS_OR_READS = keysLike(
  /Command$|File$|^tls\.(?:ca|cert|key)$|^redis\.(?:url|ca)$|^oidc\.(?:issuer|clientAssertion)$/,
);

/** The values as text, also those of ports and durations, so that flags, variables and files are read in the same way. */
export type ConfigValues = { [K in ConfigKey]?: string | string[] };

export interface ConfigFile {
  readonly defaultProfile: string | undefined;
  readonly defaults: ConfigValues;
  readonly profiles: ReadonlyMap<string, ConfigValues>;
}

/** Returns the settings of the top level and of each profile. */
export function tablesOf({ defaults, profiles }: ConfigFile): ConfigValues[] {
  return [defaults, ...profiles.values()];
}

/** Returns the profile that a file chooses when nothing else does. Without `defaultProfile` it is the one named `default`. */
export function defaultProfileOf(config: ConfigFile | undefined): string | undefined {
  return config?.defaultProfile ?? (config?.profiles.has('default') ? 'default' : undefined);
}

/** A config file that was read and checked. */
export interface LoadedFile {
  readonly path: string;
  readonly stat: fs.Stats;
  readonly config: ConfigFile;
}

export interface SourcedValue {
  readonly value: string | readonly string[];
  readonly level: Level;
  /** Where the value was set, for people: `--graph`, `GRAPHCRED_GRAPH`, `profile prod`, `default`. */
  readonly source: string;
}

export interface Settings {
  readonly file: LoadedFile | undefined;
  readonly profile: ChosenProfile;
  readonly profileNames: readonly string[];
  /** Every value that was set for a setting, highest priority first; the first one is in force. */
  readonly all: Readonly<Record<ConfigKey, readonly SourcedValue[]>>;
  /** Notes for `-v`: what was ignored, and why. Never a value. */
  readonly notes: readonly string[];
  /** Settings of the file that do not count, because another address is in force. */
  readonly foreign?: readonly ConfigKey[];
}

export interface ChosenProfile {
  readonly name: string;
  readonly source: string;
  /** Whether the config file in force has a profile of this name. */
  readonly exists: boolean;
  /** Other names that were set, of lower priority. */
  readonly shadowed: readonly { value: string; source: string }[];
}

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;
/** A hundred years; a longer duration is a typing error. */
const MAX_SECONDS = 100 * 365 * 86_400;

/**
 * Parses a duration: `90` (seconds), `90s`, `15m`, `12h`, `30d`, `1w`.
 * @returns whole seconds, 0 or more; undefined when it is none of these
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,12})([smhdw]?)$/.exec(text);
  if (!match) return undefined;
  const seconds = Number(match[1]) * SECONDS[(match[2] || 's') as keyof typeof SECONDS];
  return seconds <= MAX_SECONDS ? seconds : undefined;
}
