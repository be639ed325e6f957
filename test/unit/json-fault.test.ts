import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonErrorLine } from '../../src/config/json-error-line.js';

test.each([
  ['{\n  "a": 1,\n}', 3],
  ['{\n  "a": 1\n  "b": 2\n}', 3],
  ['{\n  a: 1\n}', 2],
  ['{\n  "a": "b\n"\n}', 2],
  ['{\n  "a": tru\n}', 2],
  ['[1,\n2', 2],
  ['{"a": [1, 2}\n', 1],
  ['{}\n{}', 2],
  ["{\n'a': 1}", 2],
  ['{"a": 1}\n// why', 2],
  ['', 1],
  ['{"a": "\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u00E9",\n}', 2],
  ['[\n"\\q"\n]', 2],
  ['[\n"\\u00g0"\n]', 2],
  ['[\n"\\u00e"\n]', 2],
  ['[0, -1, 1.5, 1e9, 1E+9, 1.25e-10, true, false, null,\n]', 2],
  ['[\n01\n]', 2],
  ['[\n1.\n]', 2],
  ['[\n-\n]', 2],
  ['["\u007f\u0080\u009f",\n]', 2],
  ['[{"a": []}, {}, [[]],\n]', 2],
  ['{"a": {\n]}', 2],
  ['[1,\r\n2\r\n3]', 3],
])('%j has its error in line %i', (text, line) => {
  expect(jsonErrorLine(text)).toBe(line);
});

test('the line is the one in Node’s message, if there is one', () => {
  let compared = 0;
  const mangled = fc
    .tuple(
      fc.jsonValue(),
      fc.nat(),
      fc.nat(3),
      fc.constantFrom('', ',', '"', '}', ']', ':', 'x', '\n', '0', '\\', '\t'),
    )
    .map(([value, where, cut, put]) => {
      const text = JSON.stringify(value, null, 1);
      const at = where % (text.length + 1);
      return `${text.slice(0, at)}${put}${text.slice(at + cut)}`;
    });
  fc.assert(
    fc.property(mangled, (text) => {
      const message = messageOf(text);
      const position = /at position (\d+)/.exec(message ?? '');
      if (message === undefined || (!position && !/end of JSON/.test(message))) return;
      compared++;
      const offset = position ? Number(position[1]) : text.length;
      expect(jsonErrorLine(text)).toBe(text.slice(0, offset).split('\n').length);
    }),
    { numRuns: 5000 },
  );
  expect(compared).toBeGreaterThan(500);
});

function messageOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
