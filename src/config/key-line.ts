/** So many characters are parsed at most in search of a line, however long the file and however common the word. */
const BUDGET = 2_000_000;
/** What may be a key, also one that is spelt with escapes or, like 0x1f, differently from what it means. */
const TOKEN =
  /"(?:[^"\\\n]|\\.){0,200}"|'(?:[^'\n]|''){0,200}'|[^\s"'{}[\],?:#][^\n"'{}[\],?:#]{0,200}(?=:)/g;

/**
 * The line (from 1) of the last key of `path` in `text`; undefined if it cannot be found. Each occurrence of the word
 * is replaced by another word and the text parsed again: where the key of that table changed its name, the key is
 * found. So comments, values and equal keys elsewhere need no special case.
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
  for (const { word, at } of [...literally(text, key), ...places(text, TOKEN)]) {
    budget -= text.length;
    if (budget < 0) return undefined;
    const instead = word !== key && /^["']/.test(word) ? `"${probe}"` : probe;
    const changed = text.slice(0, at) + instead + text.slice(at + word.length);
    const table = tableAt(path.slice(0, -1), () => parse(changed));
    // In JSON another of the same name may be there still.
    if (table && Object.hasOwn(table, probe) && (word === key || !Object.hasOwn(table, key)))
      return text.slice(0, at).split(/\r\n?|\n/).length;
  }
  return undefined;
}

interface Place {
  readonly word: string;
  readonly at: number;
}

function literally(text: string, key: string): Place[] {
  const pattern = new RegExp(`(?<!\\w)${key.replace(/\W/g, '\\$&')}(?!\\w)`, 'g');
  return key === '' ? [] : places(text, pattern);
}

/** Searched from the end: of duplicate keys JSON takes the last one. */
function places(text: string, pattern: RegExp): Place[] {
  return [...text.matchAll(pattern)].map(({ 0: word, index }) => ({ word, at: index })).reverse();
}

function tableAt(path: readonly string[], parse: () => unknown): object | undefined {
  let value: unknown;
  try {
    value = parse();
  } catch {
    // With the other word this is a file no more.
    return undefined;
  }
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return typeof value === 'object' && value !== null ? value : undefined;
}
