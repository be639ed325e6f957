/**
 * Parses a body as the servers do: with a lenient org.json parser, whatever the content type says. So `{'graph':
 * 'g'}`, bare words and trailing commas are valid JSON. Returns undefined for anything that is not an object; an empty
 * body is an empty object.
 */
export function parseBody(body: string): Record<string, unknown> | undefined {
  if (body.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : undefined;
  } catch {
    return parseLenient(body);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseLenient(source: string): Record<string, unknown> | undefined {
  let at = 0;
  const fail = (): never => {
    throw new SyntaxError('not an object');
  };
  const skipBlanks = () => {
    while (source.charCodeAt(at) <= 32) at++;
  };

  const readQuoted = (quote: string): string => {
    at++;
    let out = '';
    while (at < source.length && source[at] !== quote) {
      if (source[at] !== '\\') {
        out += source[at++];
        continue;
      }
      const escaped = source[at + 1] ?? fail();
      const plain = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }[escaped];
      if (escaped === 'u') {
        out += String.fromCharCode(Number.parseInt(source.slice(at + 2, at + 6), 16));
        at += 6;
      } else {
        out += plain ?? escaped;
        at += 2;
      }
    }
    if (at >= source.length) fail();
    at++;
    return out;
  };

  const readBare = (): string => {
    const from = at;
    // At the end of the source, the empty string ends the word.
    while (!',:]}/\\"[{;=#'.includes(source.charAt(at)) && source.charCodeAt(at) > 31) at++;
    return source.slice(from, at).trim() || fail();
  };

  const readValue = (depth: number): unknown => {
    if (depth > 64) fail();
    skipBlanks();
    const first = source[at];
    if (first === '"' || first === "'") return readQuoted(first);
    if (first === '{') return readObject(depth + 1);
    if (first === '[') return readList(depth + 1);
    const word = readBare();
    if (/^(true|false)$/i.test(word)) return word.toLowerCase() === 'true';
    // Python's None arrives through str(dict).
    if (/^(null|none)$/i.test(word)) return null;
    return /^-?\d+(\.\d+)?$/.test(word) ? Number(word) : word;
  };

  const readList = (depth: number): unknown[] => {
    const list: unknown[] = [];
    at++;
    for (;;) {
      skipBlanks();
      if (source[at] === ']') break;
      list.push(readValue(depth));
      skipBlanks();
      if (source[at] === ',') at++;
      else if (source[at] !== ']') fail();
    }
    at++;
    return list;
  };

  const readObject = (depth: number): Record<string, unknown> => {
    const entries: [string, unknown][] = [];
    at++;
    for (;;) {
      skipBlanks();
      const first = source[at];
      if (first === '}') break;
      const key = first === '"' || first === "'" ? readQuoted(first) : readBare();
      skipBlanks();
      if (source[at] !== ':' && source[at] !== '=') fail();
      at++;
      entries.push([key, readValue(depth)]);
      skipBlanks();
      if (source[at] === ',' || source[at] === ';') at++;
      else if (source[at] !== '}') fail();
    }
    at++;
    return Object.fromEntries(entries);
  };

  try {
    skipBlanks();
    if (source[at] !== '{') return undefined;
    const value = readObject(0);
    skipBlanks();
    return at === source.length ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a string field; undefined when it is absent, null or empty. Numbers and booleans count as their text. */
export function stringField(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name];
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Three thousand years, in seconds: a later date cannot be formatted. */
export const LONGEST_LIFETIME = 1e11;

/**
 * Reads `lifetime` as an integer or a numeric string, in whatever unit the server counts. Returns undefined if it is
 * absent, and null for anything that is not a whole number above 0.
 */
export function lifetimeField(value: unknown): number | null | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const given = typeof value === 'number' ? String(value) : value;
  if (typeof given !== 'string' || !/^\d{1,13}$/.test(given.trim())) return null;
  return Number(given) || null;
}

/** Reads several credentials from one field: a string, a comma-separated string, or a list of them. */
export function listField(value: unknown): string[] {
  const items = Array.isArray(value) ? value : [value];
  return items
    .filter((item) => typeof item === 'string')
    .flatMap((item) => item.split(','))
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
