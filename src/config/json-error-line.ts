const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  /[{}[\],:]|"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null/uy;

/**
 * Returns the line, from 1, at which `text` stops being JSON. The message of JSON.parse differs between runtimes and
 * versions, and often names no position.
 */
export function jsonErrorLine(text: string): number {
  const open: string[] = [];
  /**
   * What the parser expects next: a value, a key, a colon, or what follows a value; and whether the bracket may close
   * at once.
   */
  let next: 'value' | 'key' | 'colon' | 'more' = 'value';
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
    if (token !== undefined && closes && (next === 'more' || empty)) {
      open.pop();
      next = 'more';
    } else if (next === 'key' && token?.startsWith('"')) next = 'colon';
    else if (next === 'colon' && token === ':') next = 'value';
    else if (next === 'more' && token === ',' && inside !== undefined)
      next = inside === '{' ? 'key' : 'value';
    else if (next === 'value' && (token === '{' || token === '[')) {
      open.push(token);
      next = token === '{' ? 'key' : 'value';
      empty = true;
      continue;
    } else if (next === 'value' && token !== undefined && !/^[}\],:]/.test(token)) next = 'more';
    else return text.slice(0, start).split('\n').length;
    empty = false;
  }
}
