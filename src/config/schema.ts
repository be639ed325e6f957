import { GraphException } from '../core/errors.js';

type Kind = 'text' | 'port' | 'url' | 'duration' | 'boolean' | 'list';

/** Every key a profile or the top level of a config file may hold. `tls.x` stands for `tls: { x: … }`. */
export const CONFIG_KEYS = {
  host: 'url',
  restPort: 'port',
  gsqlPort: 'port',
  restUrl: 'url',
  gsqlUrl: 'url',
  graph: 'text',
  username: 'text',
  password: 'text',
  passwordFile: 'text',
  passwordCommand: 'list',
  secret: 'text',
  secretFile: 'text',
  secretCommand: 'list',
  serverVersion: 'text',
  lifetime: 'duration',
  minTtl: 'duration',
  store: 'text',
  timeout: 'duration',
  wait: 'duration',
  'tls.ca': 'text',
  'tls.cert': 'text',
  'tls.key': 'text',
  'tls.insecure': 'boolean',
  output: 'text',
  noInput: 'boolean',
} as const satisfies Record<string, Kind>;

export type ConfigKey = keyof typeof CONFIG_KEYS;
/** Values as written: numbers stay text, so that a flag, a variable and a file are read alike. */
export type ConfigValues = { [K in ConfigKey]?: string | string[] };

export interface ConfigFile {
  readonly defaultProfile: string | undefined;
  readonly top: ConfigValues;
  readonly profiles: ReadonlyMap<string, ConfigValues>;
}

const PROFILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

/**
 * Checks a parsed config file, key by key.
 * @throws GraphException CONFIG_INVALID naming file, key and, when `text` is given, the line
 */
export function checkConfig(file: string, data: unknown, text = ''): ConfigFile {
  const fail: Fail = (key, problem, hint = 'correct the file; .graphcredrc.example shows every key') => {
    const line = lineOf(text, key);
    throw new GraphException(
      'CONFIG_INVALID',
      `${file}${line === undefined ? '' : `, line ${line}`}: ${key} ${problem}.`,
      {
        hint,
      },
    );
  };
  if (data === null || data === undefined) return { defaultProfile: undefined, top: {}, profiles: new Map() };
  if (!isRecord(data)) return fail('the file', 'does not hold a table of settings');
  const { defaultProfile, profiles, ...rest } = data;
  if (defaultProfile !== undefined && (typeof defaultProfile !== 'string' || defaultProfile === '')) {
    return fail('defaultProfile', 'is not the name of a profile');
  }
  if (profiles !== undefined && !isRecord(profiles)) return fail('profiles', 'is not a table of profiles');
  const checked = new Map<string, ConfigValues>();
  for (const [name, value] of Object.entries(profiles ?? {})) {
    const at = `profiles.${name}`;
    if (!PROFILE_NAME.test(name)) return fail(at, 'has a name with characters graphcred does not take');
    if (!isRecord(value)) return fail(at, 'is not a table of settings');
    checked.set(name, checkValues(value, `${at}.`, fail));
  }
  return {
    defaultProfile: defaultProfile as string | undefined,
    top: checkValues(rest, '', fail),
    profiles: checked,
  };
}

type Fail = (key: string, problem: string, hint?: string) => never;

function checkValues(data: Record<string, unknown>, prefix: string, fail: Fail): ConfigValues {
  const values: ConfigValues = {};
  for (const [name, value] of Object.entries(data)) {
    if (name === 'tls') {
      if (!isRecord(value)) fail(`${prefix}tls`, 'is not a table with ca, cert, key or insecure');
      for (const [part, inner] of Object.entries(value as Record<string, unknown>)) {
        take(values, `tls.${part}`, inner, prefix, fail);
      }
    } else {
      take(values, name, value, prefix, fail);
    }
  }
  return values;
}

function take(values: ConfigValues, key: string, value: unknown, prefix: string, fail: Fail): void {
  if (!Object.hasOwn(CONFIG_KEYS, key)) {
    const near = Object.keys(CONFIG_KEYS).find((known) => known.toLowerCase() === key.toLowerCase());
    fail(prefix + key, 'is not a setting graphcred knows', near && `did you mean ${near}?`);
  }
  const name = key as ConfigKey;
  const kind: Kind = CONFIG_KEYS[name];
  if (kind === 'list') {
    if (!Array.isArray(value) || value.length === 0 || !value.every((part) => typeof part === 'string')) {
      fail(
        prefix + key,
        'is not a list of words',
        `write a list: ${key}: [vault, kv, get, -field=secret, kv/graph]`,
      );
    }
    values[name] = value as string[];
  } else if (kind === 'boolean') {
    if (typeof value !== 'boolean') fail(prefix + key, 'is neither true nor false');
    values[name] = String(value);
  } else if (typeof value === 'string' || typeof value === 'number') {
    if (value === '') fail(prefix + key, 'is empty', 'remove the key, or give it a value');
    if (kind === 'port' && !/^\d+$/.test(String(value))) fail(prefix + key, 'is not a port number');
    values[name] = String(value);
  } else {
    fail(prefix + key, 'is not a piece of text');
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The line a key stands on: the first line after its parents that begins with its last part. */
function lineOf(text: string, key: string): number | undefined {
  const lines = text.split('\n');
  let at = -1;
  for (const part of key.split('.')) {
    const pattern = new RegExp(`(^|[\\s{,])["']?${part.replace(/[^\w]/g, '\\$&')}["']?\\s*:`);
    const next = lines.findIndex((line, index) => index >= Math.max(at, 0) && pattern.test(line));
    if (next === -1) return undefined;
    at = next;
  }
  return at === -1 ? undefined : at + 1;
}
