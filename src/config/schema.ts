import { keyFault } from './faults.js';

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
 * @throws GraphException CONFIG_INVALID naming file, key and, when `lineOf` knows it, the line
 */
export function checkConfig(
  file: string,
  data: unknown,
  lineOf: (path: readonly string[]) => number | undefined = () => undefined,
): ConfigFile {
  const fail: Fail = (path, problem, hint) => {
    throw keyFault(file, lineOf(path), path, problem, hint);
  };
  if (data === null || data === undefined) return { defaultProfile: undefined, top: {}, profiles: new Map() };
  if (!isTable(data)) return fail([], 'does not hold a table of settings');
  const { defaultProfile, profiles, ...rest } = data;
  if (defaultProfile !== undefined && (typeof defaultProfile !== 'string' || defaultProfile === '')) {
    return fail(['defaultProfile'], 'is not the name of a profile');
  }
  if (profiles !== undefined && !isTable(profiles)) return fail(['profiles'], 'is not a table of profiles');
  const checked = new Map<string, ConfigValues>();
  for (const [name, value] of Object.entries(profiles ?? {})) {
    const at = ['profiles', name];
    if (!PROFILE_NAME.test(name)) return fail(at, 'has a name with characters graphcred does not take');
    if (!isTable(value)) return fail(at, 'is not a table of settings');
    checked.set(name, checkValues(value, at, fail));
  }
  return {
    defaultProfile: defaultProfile as string | undefined,
    top: checkValues(rest, [], fail),
    profiles: checked,
  };
}

type Fail = (path: readonly string[], problem: string, hint?: string) => never;

function checkValues(data: Record<string, unknown>, at: readonly string[], fail: Fail): ConfigValues {
  const values: ConfigValues = {};
  for (const [name, value] of Object.entries(data)) {
    const path = [...at, name];
    if (name === 'tls') {
      if (!isTable(value)) return fail(path, 'is not a table with ca, cert, key or insecure');
      for (const [part, inner] of Object.entries(value)) {
        take(values, `tls.${part}`, inner, [...path, part], fail);
      }
    } else {
      take(values, name, value, path, fail);
    }
  }
  return values;
}

function take(values: ConfigValues, key: string, value: unknown, path: readonly string[], fail: Fail): void {
  if (!Object.hasOwn(CONFIG_KEYS, key)) {
    const near = Object.keys(CONFIG_KEYS).find((known) => known.toLowerCase() === key.toLowerCase());
    fail(path, 'is not a setting graphcred knows', near && `did you mean ${near}?`);
  }
  const name = key as ConfigKey;
  const kind: Kind = CONFIG_KEYS[name];
  if (kind === 'list') {
    if (!Array.isArray(value) || value.length === 0 || !value.every((part) => typeof part === 'string')) {
      fail(path, 'is not a list of words', `write a list: ${key}: [vault, kv, get, -field=secret, kv/graph]`);
    }
    values[name] = value as string[];
  } else if (kind === 'boolean') {
    if (typeof value !== 'boolean') fail(path, 'is neither true nor false');
    values[name] = String(value);
  } else if (typeof value === 'string' || typeof value === 'number') {
    if (value === '') fail(path, 'is empty', 'remove the key, or give it a value');
    if (kind === 'port' && !/^\d+$/.test(String(value))) fail(path, 'is not a port number');
    values[name] = String(value);
  } else {
    fail(path, 'is not a piece of text');
  }
}

/** Dates and bytes, which YAML has as well, are no tables. */
function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
