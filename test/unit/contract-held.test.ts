// Checks that every promise and every name that users may rely on has a test. A comment `// holds: C2.7, C2.8` above a test names the promises of
// docs/contract.md that it tests; a line `# holds: C2.7` above a step of a transcript does the same.
import fs from 'node:fs';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import { EXITS } from '../../src/cli/output/exit-codes.js';
import { SETTINGS } from '../../src/config/keys.js';

/** The promises that cannot be tested, each with the reason. */
const NOT_HELD: Readonly<Record<string, string>> = {};

const FILES = fs
  .readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('contract-held.test.ts'))
  .map((name) => ({ name, text: fs.readFileSync(`test/${name}`, 'utf8') }));
const ALL = FILES.map(({ text }) => text).join('\n');
const TRANSCRIPTS = fs
  .readdirSync('test/transcripts', { encoding: 'utf8' })
  .filter((name) => name.endsWith('.txt'))
  .map((name) => fs.readFileSync(`test/transcripts/${name}`, 'utf8'));
/** The options in tests and transcripts. */
const TYPED = new Set([...TRANSCRIPTS, ALL].flatMap((text) => text.match(/--[a-z][a-z-]*/g) ?? []));

/** Returns the numbers of all promises in a page. */
const promisesIn = (page: string) => [...page.matchAll(/\*\*(C\d+\.\d+)\*\*/g)].map(([, id]) => id as string);

/** Returns the promises that the comments of a file name. A comment counts only directly above a test or a step. */
function heldBy(text: string): { held: string[]; astray: string[] } {
  const lines = text.split('\n');
  const found = { held: [] as string[], astray: [] as string[] };
  lines.forEach((line, at) => {
    const [, ids] = /^\s*(?:\/\/|#) holds: (.*)$/.exec(line) ?? [];
    if (ids === undefined) return;
    const isAbove = /^(?:\s*(?:test|it)\b(?!\.todo|\.skip\()|\$ )/.test(lines[at + 1] ?? '');
    (isAbove ? found.held : found.astray).push(...ids.split(', '));
  });
  return found;
}

describe('docs/contract.md', () => {
  const promises = promisesIn(fs.readFileSync('docs/contract.md', 'utf8'));
  const comments = [...FILES.map(({ text }) => text), ...TRANSCRIPTS].map(heldBy);
  const held = new Set(comments.flatMap((one) => one.held));

  test('has a test for each promise, or a reason why it has none', () => {
    expect(promises.filter((id) => !held.has(id) && !(id in NOT_HELD))).toEqual([]);
  });

  test('has every promise that a comment names, and each comment is above a test', () => {
    expect([...held].filter((id) => !promises.includes(id))).toEqual([]);
    expect(comments.flatMap(({ astray }) => astray)).toEqual([]);
    expect(Object.keys(NOT_HELD).filter((id) => held.has(id) || !promises.includes(id))).toEqual([]);
  });

  test('has no promise without a number', () => {
    const page = fs.readFileSync('docs/contract.md', 'utf8');
    expect(page.match(/^\* (?!\*\*C\d+\.\d+\*\* )/gm) ?? []).toEqual([]);
  });

  test('reports a promise without a test', () => {
    expect(promisesIn('* **C99.1** It flies.').filter((id) => !held.has(id))).toEqual(['C99.1']);
    expect(heldBy('// holds: C99.1\nconst x = 1;')).toEqual({ held: [], astray: ['C99.1'] });
    expect(heldBy("// holds: C99.1, C99.2\ntest('x', () => {});").held).toEqual(['C99.1', 'C99.2']);
    expect(heldBy('# holds: C99.1\n$ graphcred').held).toEqual(['C99.1']);
  });
});

/** Returns the names that no test contains as a whole word with these characters around it. */
const without = (names: readonly string[], around: (name: string) => RegExp) =>
  [...new Set(names)].filter((name) => !around(name).test(ALL));

describe('what users may rely on is in a test:', () => {
  test('each error code', () => {
    const codes = EXITS.flatMap((row) => row.codes);
    expect(codes.length).toBeGreaterThan(15);
    expect(without(codes, (code) => new RegExp(`['"]${code}['"]`))).toEqual([]);
  });

  test('each exit status', () => {
    const statuses = EXITS.filter(({ status }) => status !== 128).map(({ status }) => String(status));
    expect(without(statuses, (status) => new RegExp(`(?:status|toBe\\(|exit)\\W{0,6}${status}\\b`))).toEqual(
      [],
    );
  });

  test('each key of a config file', () => {
    const keys = Object.keys(SETTINGS);
    expect(keys.length).toBeGreaterThan(25);
    const last = (key: string) => key.split('.').at(-1) as string;
    expect(without(keys, (key) => new RegExp(`\\b${last(key)}['"]?:|['"]${key}['"]`))).toEqual([]);
  });

  test('each command', () => {
    const paths = COMMANDS.map(({ path }) => path);
    const asWords = (path: string) => path.split(' ').join(`(?: |['"], ['"])`);
    expect(without(paths, (path) => new RegExp(`['"\`]${asWords(path)}\\b`))).toEqual([]);
  });

  test('each option of each command', () => {
    const missing = COMMANDS.flatMap(({ path, options }) =>
      options.filter(({ name }) => !TYPED.has(`--${name}`)).map(({ name }) => `${path} --${name}`),
    );
    expect(missing).toEqual([]);
  });

  test('each public name of the library, and each of its members', () => {
    // The page is made from the code, and another test checks that it is up to date.
    const page = fs.readFileSync('docs/library.md', 'utf8');
    const methods = [...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name as string);
    const fields = [...page.matchAll(/(?:\| |<br>)`(\w+)[?:(]/g)].map(([, name]) => name as string);
    expect(methods.length).toBeGreaterThan(15);
    expect(fields.length).toBeGreaterThan(60);
    expect(
      without(
        [...methods, ...fields],
        (name) => new RegExp(`\\.${name}\\b|\\b${name}['"]?[:,(]|\\b${name} \\}|'${name}'`),
      ),
    ).toEqual([]);
    const classes = ['GraphConnection', 'GraphException', 'Sensitive', 'BoundCredential'];
    expect(without(classes, (name) => new RegExp(`\\b${name}\\b`))).toEqual([]);
  });
});
