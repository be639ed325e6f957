/** The search for a line parses at most this many characters, however long the file and however frequent the word. */
const BUDGET = 2_000_000;
/** Matches what may be a key, including one written with escapes or in another notation, such as 0x1f. */
const TOKEN =
  /"(?:[^"\\\n]|\\.){0,200}"|'(?:[^'\n]|''){0,200}'|[^\s"'{}[\],?:#][^\n"'{}[\],?:#]{0,200}(?=:)/g;

/**
 * Returns the line (from 1) of the last key of `path` in `text`; undefined if it cannot be found. Each occurrence of
 * the word is replaced by another word and the text is parsed again: if the key in that table has changed its name,
 * this occurrence is the key. So comments, values and equal keys elsewhere need no special case.
 */
export function lineOfKey(
  text: string,
  path: readonly string[],
  parse: (text: string) => unknown,
): number | undefined {
  const key = path.at(-1);
  if (key === undefined) return undefined;
  let probe = 'probe';
  while (text.includes(probe)) probe += probe;
  let budget = BUDGET;
  for (const { word, at } of [...literally(text, key), ...occurrences(text, TOKEN)]) {
    budget -= text.length;
    if (budget < 0) return undefined;
    const instead = word !== key && /^["']/.test(word) ? `"${probe}"` : probe;
    const changed = text.slice(0, at) + instead + text.slice(at + word.length);
    const table = tableAt(path.slice(0, -1), () => parse(changed));
    // In JSON the table may still contain a second key of the same name. A name that has quotes of its own looks like
    // another name in quotes, so it must be gone.
    const isLiteral = word === key && !/^["']/.test(key);
    if (table && Object.hasOwn(table, probe) && (isLiteral || !Object.hasOwn(table, key)))
      return text.slice(0, at).split(/\r\n?|\n/).length;
  }
  return undefined;
}

interface Occurrence {
  readonly word: string;
  readonly at: number;
}

function literally(text: string, key: string): Occurrence[] {
  const pattern = new RegExp(`(?<!\\w)${key.replace(/\W/g, '\\$&')}(?!\\w)`, 'g');
  return key === '' ? [] : occurrences(text, pattern);
}

/** Returns the occurrences from the last to the first, because JSON uses the last of duplicate keys. */
function occurrences(text: string, pattern: RegExp): Occurrence[] {
  return [...text.matchAll(pattern)].map(({ 0: word, index }) => ({ word, at: index })).reverse();
}

function tableAt(path: readonly string[], parse: () => unknown): object | undefined {
  let value: unknown;
  try {
    value = parse();
  } catch {
    // With the other word the text cannot be parsed, so this occurrence is not the key.
    return undefined;
  }
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return typeof value === 'object' && value !== null ? value : undefined;
}
