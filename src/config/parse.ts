import { formatError, keyError } from './errors.js';
import { type ConfigFile, type ConfigKey, type ConfigValues, SETTINGS } from './keys.js';

/**
 * Reads and checks the text of a config file. JSON needs no YAML parser; YAML goes through cosmiconfig's loader, and
 * only its loader: building a cosmiconfig explorer would run a planted `.config/config.js`.
 * @throws GraphException CONFIG_INVALID naming the file, and the key or the line. The parser's message is dropped, since it
 * quotes the text around the error, which may be a password.
 */
export async function parseConfig(file: string, text: string): Promise<ConfigFile> {
  if (text.trim() === '') return checkConfig(file, {});
  const mustBeJson = file.endsWith('.json');
  if (mustBeJson || text.trimStart().startsWith('{')) {
    try {
      return checkConfig(file, JSON.parse(text));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      // `{a: b}` without quotes is YAML; only a file with the ending .json has to be JSON.
      if (mustBeJson) throw formatError(file, await lineOfSyntaxError(text, error), 'JSON');
    }
  }
  const config = checkConfig(file, await parseYaml(file, text));
  if ([...config.profiles.keys()].some((name) => isChanged(name, text)))
    throw keyError(file, ['profiles'], 'holds a number as a name', 'put the name in quotes');
  return config;
}

/** Whether a YAML parser has made another number of a name: 1.10 is 1.1, and 007 is 7. */
function isChanged(name: string, text: string): boolean {
  if (Number.isNaN(Number(name))) return false;
  return !new RegExp(`(?:^|[\\s{,"'])${name.replace(/\W/g, '\\$&')}["']?\\s*:`).test(text);
}

/** Returns the line (from 1) at which a text stops being JSON; undefined where neither parser tells it. */
async function lineOfSyntaxError(text: string, { message }: SyntaxError): Promise<number | undefined> {
  const [, position = /^Unexpected end/.test(message) ? text.length : undefined] =
    / at position (\d+)/.exec(message) ?? [];
  if (position !== undefined) return text.slice(0, Number(position)).split('\n').length;
  const { parseDocument } = await import('yaml');
  return parseDocument(text, { schema: 'json' }).errors[0]?.linePos?.[0].line;
}

async function parseYaml(file: string, text: string): Promise<unknown> {
  const { defaultLoadersSync } = await import('cosmiconfig');
  try {
    return defaultLoadersSync['.yaml'](file, text);
  } catch (error) {
    const { line } = (error as { mark?: { line?: number } }).mark ?? {};
    throw formatError(file, line === undefined ? undefined : line + 1, 'YAML');
  }
}

export const PROFILE_NAME_FORM =
  'a letter, a digit or _, then letters, digits, _, . and -, 64 characters at most';

export function isProfileName(name: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/.test(name);
}

type Path = readonly string[];
/** Throws the error for the key at the end of a path. */
type Fail = (path: Path, problem: string, hint?: string) => never;
/** Throws the error for a value. */
type Refuse = (problem: string, hint?: string) => never;

/**
 * Checks a parsed config file, key by key.
 * @throws GraphException CONFIG_INVALID naming file and key
 */
export function checkConfig(file: string, data: unknown = {}): ConfigFile {
  const fail: Fail = (path, problem, hint) => {
    throw keyError(file, path, problem, hint);
  };
  const { defaultProfile, profiles = {}, ...defaults } = tableAt([], data, fail);
  if (defaultProfile !== undefined && (typeof defaultProfile !== 'string' || defaultProfile === ''))
    return fail(['defaultProfile'], 'is not the name of a profile');
  const checked = new Map<string, ConfigValues>();
  for (const [name, values] of Object.entries(tableAt(['profiles'], profiles, fail, 'profiles'))) {
    const at = ['profiles', name];
    if (!isProfileName(name)) fail(at, 'is not a name for a profile', `begin it with ${PROFILE_NAME_FORM}`);
    checked.set(name, checkValues(values, at, fail));
  }
  return { defaultProfile, defaults: checkValues(defaults, [], fail), profiles: checked };
}

function tableAt(path: Path, value: unknown, fail: Fail, of = 'settings'): Record<string, unknown> {
  return isTable(value) ? value : fail(path, `is not a table of ${of}`);
}

/** Names of the tables of settings, such as `tls`. */
const TABLES = new Set(Object.keys(SETTINGS).flatMap((key) => /^(\w+)\./.exec(key)?.[1] ?? []));

function checkValues(data: unknown, at: Path, fail: Fail): ConfigValues {
  const values: ConfigValues = {};
  const check = (value: unknown, ...names: Path) => {
    const refuse: Refuse = (problem, hint) => fail([...at, ...names], problem, hint);
    const key = keyOf(names, refuse);
    const text = textOf(key, value, refuse);
    if (text !== undefined) values[key] = text;
  };
  for (const [name, value] of Object.entries(tableAt(at, data, fail))) {
    const parts = TABLES.has(name) && Object.entries(tableAt([...at, name], value, fail));
    if (parts) for (const [part, inner] of parts) check(inner, name, part);
    else check(value, name);
  }
  return values;
}

function keyOf(names: Path, refuse: Refuse): ConfigKey {
  const key = names.join('.');
  // A dot in a key's name stands for a table, and is not written.
  if (Object.hasOwn(SETTINGS, key) && !names.at(-1)?.includes('.')) return key as ConfigKey;
  const near = Object.keys(SETTINGS).find((known) => known.toLowerCase() === key.toLowerCase());
  const meant = near?.replace(/\.(.*)/, ': { $1: … }');
  return refuse('is not a setting graphcred knows', meant && `did you mean ${meant}?`);
}

/** Returns a value as text. Undefined for an empty text, or null, which YAML makes of none: it counts as not set. */
function textOf(key: ConfigKey, value: unknown, refuse: Refuse): string | string[] | undefined {
  const { type } = SETTINGS[key];
  const isText = ['text', 'word', 'path'].includes(type);
  if ([value].flat().some((text) => typeof text === 'string' && text.includes('\0')))
    return refuse('holds a NUL character, which no setting has');
  if (type === 'list')
    return isListOfWords(value)
      ? value
      : refuse('is not a list of words', `write a list: ${key}: [vault, kv, get, -field=secret, kv/graph]`);
  if (type === 'boolean')
    return typeof value === 'boolean' ? `${value}` : refuse('is neither true nor false');
  if (isText && (value === '' || value === null)) return undefined;
  if (value === '') return refuse('is empty', 'remove the key, or give it a value');
  const isNumber = typeof value === 'number' && (type === 'port' || type === 'duration');
  if (typeof value === 'string' || isNumber)
    return type !== 'port' || /^\d+$/.test(`${value}`) ? `${value}` : refuse('is not a port number');
  // The parser has changed the text of a number already: 3.10 is 3.1, and 0123 is 123.
  const isSimple = !Array.isArray(value) && !isTable(value);
  return refuse(
    'is not a piece of text',
    isSimple ? `put it in quotes: ${key.replace(/.*\./, '')}: "…"` : undefined,
  );
}

function isListOfWords(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'string');
}

/** Whether a value is a table. YAML also has dates and bytes, which are objects but not tables. */
function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
