const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  /[{}[\],:]|"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null/uy;

/** What the parser expects next; `more` is what follows a value. */
type Next = 'value' | 'key' | 'colon' | 'more';

/**
 * Returns the line, from 1, at which `text` stops being JSON. The message of JSON.parse differs between runtimes and
 * versions, and often names no position.
 */
export function jsonErrorLine(text: string): number {
  const open: string[] = [];
  let next: Next = 'value';
  /** Whether the bracket may close at once. */
  let empty = false;
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  for (;;) {
    take(SPACE);
    const start = at;
    const token = take(TOKEN);
    const inside = open.at(-1);
    const closes = (token === '}' && inside === '{') || (token === ']' && inside === '[');
    const isEnd: boolean = closes && (next === 'more' || empty);
    const after: Next | undefined = isEnd ? 'more' : expectAfter(token, next, inside);
    if (token === undefined || after === undefined) return text.slice(0, start).split('\n').length;
    if (isEnd) open.pop();
    empty = token === '{' || token === '[';
    if (empty) open.push(token);
    next = after;
  }
}

/** Returns what follows a token; undefined when the token does not fit. */
function expectAfter(token: string | undefined, next: Next, inside: string | undefined): Next | undefined {
  if (token === undefined) return undefined;
  if (next === 'key') return token.startsWith('"') ? 'colon' : undefined;
  if (next === 'colon') return token === ':' ? 'value' : undefined;
  if (next === 'more' && (token !== ',' || inside === undefined)) return undefined;
  if (next === 'more') return inside === '{' ? 'key' : 'value';
  if (token === '{' || token === '[') return token === '{' ? 'key' : 'value';
  return /^[}\],:]/.test(token) ? undefined : 'more';
}
