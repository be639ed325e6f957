import { keyError } from './errors.js';
import { type ConfigFile, type ConfigKey, type ConfigValues, SETTINGS } from './keys.js';

const PROFILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

export function isProfileName(name: string): boolean {
  return PROFILE_NAME.test(name);
}

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
    throw keyError(file, lineOf(path), path, problem, hint);
  };
  const table = data ?? {};
  if (!isTable(table)) return fail([], 'does not hold a table of settings');
  const { defaultProfile, profiles, ...rest } = table;
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
    defaults: checkValues(rest, [], fail),
    profiles: checked,
  };
}

/** Settings that are grouped in a table, such as `tls`. */
const TABLES: Readonly<Record<string, string>> = {
  tls: 'ca, cert, key or insecure',
  redis: 'url, username, passwordFile, ca or sentinelMaster',
  oidc: 'issuer, clientId and what else is set of an identity provider',
};

const TAKES_NUMBER: ReadonlySet<string> = new Set(['port', 'duration']);

type Fail = (path: readonly string[], problem: string, hint?: string) => never;

function checkValues(data: Record<string, unknown>, at: readonly string[], fail: Fail): ConfigValues {
  const values: ConfigValues = {};
  for (const [name, value] of Object.entries(data)) {
    const path = [...at, name];
    if (Object.hasOwn(TABLES, name)) {
      if (!isTable(value)) return fail(path, `is not a table with ${TABLES[name]}`);
      for (const [part, inner] of Object.entries(value)) {
        take(values, `${name}.${part}`, inner, [...path, part], fail);
      }
    } else {
      take(values, name, value, path, fail);
    }
  }
  return values;
}

function checkKey(key: string, value: unknown, path: readonly string[], fail: Fail): ConfigKey {
  if (!Object.hasOwn(SETTINGS, key)) {
    const near = Object.keys(SETTINGS).find((known) => known.toLowerCase() === key.toLowerCase());
    fail(path, 'is not a setting graphcred knows', near && `did you mean ${near}?`);
  }
  if ([value].flat().some((text) => typeof text === 'string' && text.includes('\0')))
    fail(path, 'holds a NUL character, which no setting has');
  return key as ConfigKey;
}

function take(values: ConfigValues, key: string, value: unknown, path: readonly string[], fail: Fail): void {
  const name = checkKey(key, value, path, fail);
  const kind = SETTINGS[name].type;
  if (kind === 'list') {
    if (!isListOfWords(value))
      fail(path, 'is not a list of words', `write a list: ${key}: [vault, kv, get, -field=secret, kv/graph]`);
    values[name] = value;
  } else if (kind === 'boolean') {
    if (typeof value !== 'boolean') fail(path, 'is neither true nor false');
    values[name] = String(value);
  } else if ((value === '' || value === null) && kind === 'text') {
    // An empty text counts as not set, as it does in a variable; in YAML a key without a value is null.
    delete values[name];
  } else if (typeof value === 'string' || isNumberFor(kind, value)) {
    if (value === '') fail(path, 'is empty', 'remove the key, or give it a value');
    if (kind === 'port' && !/^\d+$/.test(String(value))) fail(path, 'is not a port number');
    values[name] = String(value);
  } else {
    // The parser has changed the text of a number already: 3.10 is 3.1, and 0123 is 123.
    const hint = Array.isArray(value) || isTable(value) ? undefined : `put it in quotes: ${path.at(-1)}: "…"`;
    fail(path, 'is not a piece of text', hint);
  }
}

function isListOfWords(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'string');
}

function isNumberFor(kind: string, value: unknown): boolean {
  return typeof value === 'number' && TAKES_NUMBER.has(kind);
}

/** Whether a value is a table. YAML also has dates and bytes, which are objects but not tables. */
function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
