import { formatError, keyError } from './errors.js';
import type { ConfigFile } from './keys.js';
import { checkConfig } from './schema.js';

/** Loaded only to find the line of an error. */
type Yaml = typeof import('yaml');

/**
 * Reads and checks the text of a config file. JSON needs no YAML parser; YAML goes through cosmiconfig's loader, and
 * only its loader: building a cosmiconfig explorer would run a planted `.config/config.js`.
 * @throws GraphException CONFIG_INVALID naming file, key, and the line where the parser tells it. The parser's message is dropped, since it quotes
 * the text around the error, which may be a password.
 */
export async function parseConfig(file: string, content: string): Promise<ConfigFile> {
  // Editors on Windows put a byte order mark at the start of a file.
  const text = content.replace(/^\ufeff/, '');
  if (text.trim() === '') return checkConfig(file, {});
  const json = file.endsWith('.json');
  if (json || text.trimStart().startsWith('{')) {
    let data: unknown;
    let fault: string | undefined;
    try {
      data = JSON.parse(text);
    } catch (error) {
      fault = (error as SyntaxError).message;
    }
    const isTwice = fault === undefined && hasKeyTwice(text, data);
    // `{a: b}` without quotes is YAML; only a file with the ending .json has to be JSON.
    if (isTwice || (json && fault !== undefined)) {
      const line = lineOfFault(await import('yaml'), text, fault);
      throw formatError(file, line, isTwice ? 'JSON: a key stands there twice' : 'JSON');
    }
    if (fault === undefined) return checked(file, data, text);
  }
  const config = await checked(file, await parseYaml(file, text), text);
  if ([...config.profiles.keys()].some((name) => isChanged(name, text))) {
    const line = lineOfKey(await import('yaml'), text, ['profiles']);
    throw keyError(file, line, ['profiles'], 'holds a number as a name', 'put the name in quotes');
  }
  return config;
}

/** Whether a YAML parser has made another number of a name: 1.10 is 1.1, and 007 is 7. */
function isChanged(name: string, text: string): boolean {
  if (Number.isNaN(Number(name))) return false;
  return !new RegExp(`(?:^|[\\s{,"'])${name.replace(/\W/g, '\\$&')}["']?\\s*:`).test(text);
}

/** JSON.parse takes the last of two equal keys without a word; a YAML parser refuses them. */
function hasKeyTwice(text: string, data: unknown): boolean {
  return countKeys(text) !== countKeys(JSON.stringify(data));
}

function countKeys(json: string): number {
  const strings = json.match(/"(?:[^"\\]|\\.)*"(?:\s*:)?/g) ?? [];
  return strings.filter((one) => one.endsWith(':')).length;
}

async function checked(file: string, data: unknown, text: string): Promise<ConfigFile> {
  try {
    return checkConfig(file, data);
  } catch {
    // The line is looked for only when there is an error.
    const yaml = await import('yaml');
    return checkConfig(file, data, (path) => lineOfKey(yaml, text, path));
  }
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

/** Returns the line (from 1) of the last key of `path` in a YAML or JSON text; undefined if it cannot be found. */
function lineOfKey(
  { isMap, isScalar, LineCounter, parseDocument }: Yaml,
  text: string,
  path: readonly string[],
): number | undefined {
  const lineCounter = new LineCounter();
  let { contents: node }: { contents: unknown } = parseDocument(text.replace(/\r\n?/g, '\n'), {
    lineCounter,
    uniqueKeys: false,
  });
  let line: number | undefined;
  for (const name of path) {
    const pair = isMap(node)
      ? node.items.findLast(({ key }) => isScalar(key) && String(key.value) === name)
      : undefined;
    if (!pair || !isScalar(pair.key) || !pair.key.range) return undefined;
    ({ line } = lineCounter.linePos(pair.key.range[0]));
    node = pair.value;
  }
  return line;
}

/** Returns the line at which a text stops being JSON, or has a key twice; undefined where neither parser tells it. */
function lineOfFault({ parseDocument }: Yaml, text: string, message = ''): number | undefined {
  const [, at = /^Unexpected end|EOF$/.test(message) ? text.length : undefined] =
    / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message) ?? [];
  if (at !== undefined) return text.slice(0, Number(at)).split('\n').length;
  return parseDocument(text, { schema: 'json' }).errors[0]?.linePos?.[0].line;
}
