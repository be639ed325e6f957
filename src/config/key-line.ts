import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';

/** Returns the line (from 1) of the last key of `path` in a YAML or JSON text; undefined if it cannot be found. */
export function lineOfKey(text: string, path: readonly string[]): number | undefined {
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
export function lineOfFault(text: string, message = ''): number | undefined {
  const [, at = /^Unexpected end|EOF$/.test(message) ? text.length : undefined] =
    / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message) ?? [];
  if (at !== undefined) return text.slice(0, Number(at)).split('\n').length;
  return parseDocument(text, { schema: 'json' }).errors[0]?.linePos?.[0].line;
}
