import { formatError, keyError } from './errors.js';
import {
  type ConfigFile,
  type ConfigKey,
  type ConfigValues,
  NO_SWITCH,
  readSwitch,
  SETTINGS,
} from './keys.js';

/**
 * Reads and checks the text of a config file. JSON needs no YAML parser; YAML goes through cosmiconfig's loader, and
 * only its loader: building a cosmiconfig explorer would run a planted `.config/config.js`.
 * @throws GraphException CONFIG_INVALID naming the file, and the key or the line. The parser's message is dropped, since it
 * quotes the text around the error, which may be a password.
 */
export async function parseConfig(file: string, text: string): Promise<ConfigFile> {
  if (text.trim() === '') return checkedConfig(file, {});
  const mustBeJson = file.endsWith('.json');
  if (mustBeJson || text.trimStart().startsWith('{')) {
    try {
      return checkedConfig(file, JSON.parse(text));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      // `{a: b}` without quotes is YAML; only a file with the ending .json has to be JSON.
      if (mustBeJson) throw formatError(file, await lineOfSyntaxError(text, error), 'JSON');
    }
  }
  return checkedConfig(file, await parseYaml(file, text));
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

/** Checks a parsed config file, key by key. Throws CONFIG_INVALID naming file and key. */
export function checkedConfig(file: string, data: unknown): ConfigFile {
  const tableAt = (path: Path, value: unknown, of = 'settings') => {
    // YAML gives null for a file, or a table, with nothing but comments.
    if (value === undefined || value === null) return {};
    if (isTable(value)) return value;
    throw keyError(file, path, `must be a table of ${of}`);
  };
  const settingsAt = (path: Path, table: unknown): ConfigValues => {
    const values: ConfigValues = {};
    const add = (value: unknown, ...names: Path) => {
      const key = names.join('.') as ConfigKey;
      // A dot in a key's name stands for a table, and is not written.
      const isKnown = Object.hasOwn(SETTINGS, key) && !names.at(-1)?.includes('.');
      const isSet = value !== '' && value !== null;
      const problem = isKnown ? isSet && problemOfValue(key, value) : unknownKey(key);
      if (problem) throw keyError(file, [...path, ...names], ...problem);
      if (isSet) values[key] = Array.isArray(value) ? value : `${value}`;
    };
    for (const [name, value] of Object.entries(tableAt(path, table))) {
      if (!TABLES.has(name)) add(value, name);
      else
        for (const [part, inner] of Object.entries(tableAt([...path, name], value))) add(inner, name, part);
    }
    return values;
  };
  const { defaultProfile: named, profiles, ...defaults } = tableAt([], data);
  const defaultProfile = named === '' ? undefined : (named ?? undefined);
  if (defaultProfile !== undefined && typeof defaultProfile !== 'string')
    throw keyError(file, ['defaultProfile'], 'is not text', 'put the value in quotes');
  const tables = Object.entries(tableAt(['profiles'], profiles, 'profiles')).map(([name, table]) => {
    const at = ['profiles', name];
    if (isProfileName(name)) return [name, settingsAt(at, table)] as const;
    throw keyError(file, at, 'is not a valid profile name', `begin it with ${PROFILE_NAME_FORM}`);
  });
  return { defaultProfile, defaults: settingsAt([], defaults), profiles: new Map(tables) };
}

const TABLES = new Set(Object.keys(SETTINGS).flatMap((key) => /^(\w+)\./.exec(key)?.[1] ?? []));

type ValueProblem = readonly [problem: string, hint?: string | undefined];

function unknownKey(key: string): ValueProblem {
  const near = Object.keys(SETTINGS).find((known) => known.toLowerCase() === key.toLowerCase());
  const meant = near?.replace(/\.(.*)/, ': { $1: … }');
  return ['is not a setting graphcred knows', meant && `did you mean ${meant}?`];
}

function problemOfValue(key: ConfigKey, value: unknown): ValueProblem | undefined {
  const { type } = SETTINGS[key];
  const isText = typeof value === 'string';
  const isNumber = typeof value === 'number';
  if ([value].flat().some((text) => typeof text === 'string' && text.includes('\0')))
    return ['contains a NUL character, which is not allowed'];
  if (type === 'list') {
    const isList = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
    const hint = `write a list, for example ${key}: [vault, kv, get, -field=secret, kv/graph]`;
    return isList ? undefined : ['is not a list of strings', hint];
  }
  if (type === 'boolean')
    return typeof value === 'object' || readSwitch(`${value}`) === undefined ? NO_SWITCH : undefined;
  if (type === 'port' && (isText || isNumber))
    return /^\d+$/.test(`${value}`) ? undefined : ['is not a port number'];
  if (isText || (type === 'duration' && isNumber)) return undefined;
  // The parser has changed the text of a number already: 3.10 is 3.1, and 0123 is 123.
  const isSimple = !Array.isArray(value) && !isTable(value);
  return ['is not a string', isSimple ? 'put the value in quotes' : undefined];
}

/** Whether a value is a table. YAML also has dates and bytes, which are objects but not tables. */
function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
