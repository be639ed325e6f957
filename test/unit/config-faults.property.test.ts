import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ConfigKey } from '../../src/config/keys.js';
import { SETTINGS } from '../../src/config/keys.js';
import { parseConfig } from '../../src/config/parse.js';
import { writeProfile } from '../../src/config/write.js';
import { GraphException } from '../../src/index.js';
import { temporaryHome } from '../helpers/cli.js';
import { PROPERTY_MS, RUNS } from '../helpers/property.js';

type Draw = fc.GeneratorValue;
/** The entries are written in this order. A table inside a table is also a Map. */
type Table = Map<string, unknown>;

const ODD = [
  'a.b',
  'profiles.dev',
  'tls.graf',
  'profiles',
  'defaultProfile',
  'dev',
  'tls',
  'graf',
  'Graph',
  'password ',
  '__proto__',
  'constructor',
  'toString',
  '',
  '0',
  'null',
  '<<',
  '#graph',
  "it's",
  '"graph"',
  '\u001b[31mgraph\u0007',
  'graph\nport: 1',
  '\u202egraph',
  '\u0000',
  'größe',
  '図',
  '🦊',
  '\u2028',
  'a\\b',
  'a: b',
  '- a',
  '{graph}',
];
const GOOD: Record<string, fc.Arbitrary<unknown>> = {
  text: fc.constantFrom('graph', 'graf: x', '"password": 1', '  tls:\n  graf: y', "it's", 'ü'),
  url: fc.constantFrom('http://localhost', 'https://host: 1'),
  duration: fc.constantFrom('30d', 60),
  port: fc.constantFrom(9000, '14240'),
  boolean: fc.boolean(),
  list: fc.constantFrom(['pass', 'graph'], ['secret: x', '"dev": {']),
};
const BAD: Record<string, readonly unknown[]> = {
  text: [true, 7, ['x'], new Map(), new Map([['graph', 'x']])],
  url: [false, 7, [1]],
  duration: [null, new Map([['s', 3]])],
  port: ['x', 1.5, -1, '', 'port: 1', [9000]],
  boolean: ['yes', 1, null],
  list: ['pass show x', [], [1], new Map()],
};
const KEYS = Object.keys(SETTINGS) as ConfigKey[];
const NAMES = ['dev', 'prod', 'graph', 'tls', 'profiles', 'restPort', 'my.dev', 'default', 'a', '__proto__'];

const odd = () =>
  fc.oneof(fc.constantFrom(...ODD), fc.string({ unit: 'binary', maxLength: 20, size: 'max' }));
const one = <T>(draw: Draw, ...from: readonly T[]): T => draw(() => fc.constantFrom(...from));
const yes = (draw: Draw): boolean => draw(fc.boolean);

function putting(table: Table, key: string, value: unknown, draw: Draw): Table {
  const others = [...table].filter(([name]) => name !== key);
  const at = draw(fc.nat, { max: others.length });
  return new Map([...others.slice(0, at), [key, value], ...others.slice(at)]);
}

function settings(draw: Draw): Table {
  let table: Table = new Map();
  let tls: Table = new Map();
  for (const key of draw(() => fc.subarray(KEYS, { maxLength: 6 }))) {
    const value = draw(() => GOOD[SETTINGS[key].type] as fc.Arbitrary<unknown>);
    if (key.startsWith('tls.')) tls = putting(tls, key.slice(4), value, draw);
    else table = putting(table, key, value, draw);
  }
  return tls.size > 0 || yes(draw) ? putting(table, 'tls', tls, draw) : table;
}

/** Draws settings with one error, and returns the path to the error. */
function faulty(draw: Draw, top: boolean): [Table, string[]] {
  const table = settings(draw);
  const own = top ? ['tls', 'profiles', 'defaultProfile'] : ['tls'];
  const key = draw(() => fc.oneof(fc.constantFrom(...KEYS), odd()));
  if (key.startsWith('tls.') || own.includes(key)) {
    if (yes(draw)) {
      const none = one<unknown>(draw, 'tls: x', 3, null, ['ca']);
      return [putting(table, 'tls', none, draw), ['tls']];
    }
    const part = draw(() => odd().filter((name) => !Object.hasOwn(SETTINGS, `tls.${name}`)));
    const tls = (table.get('tls') ?? new Map()) as Table;
    const value = one<unknown>(draw, 'x', true, new Map([['ca', 'x']]));
    return [putting(table, 'tls', putting(tls, part, value, draw), draw), ['tls', part]];
  }
  const bad = Object.hasOwn(SETTINGS, key)
    ? (BAD[SETTINGS[key as ConfigKey].type] as unknown[])
    : ['x', 1, new Map([['graph', 1]])];
  return [putting(table, key, one(draw, ...bad), draw), [key]];
}

/** Draws a config file with at most one error, and returns the path to the error. */
function configFile(draw: Draw): [Table, string[] | undefined] {
  let profiles: Table = new Map();
  for (const name of draw(() => fc.subarray(NAMES, { maxLength: 4 })))
    profiles = putting(profiles, name, settings(draw), draw);
  let top = settings(draw);
  if (yes(draw)) top = putting(top, 'defaultProfile', 'dev', draw);
  const withProfiles = () => putting(top, 'profiles', profiles, draw);
  const kind = one(
    draw,
    'none',
    'top',
    'profile',
    'profile',
    'profile',
    'name',
    'no table',
    'default',
    'list',
  );
  if (kind === 'top') {
    const [table, path] = faulty(draw, true);
    top = table;
    return [withProfiles(), path];
  }
  if (kind === 'profile') {
    const name = one(draw, ...NAMES);
    const [table, path] = faulty(draw, false);
    profiles = putting(profiles, name, table, draw);
    return [withProfiles(), ['profiles', name, ...path]];
  }
  if (kind === 'name' || kind === 'no table') {
    const good = /^\w[\w.-]{0,63}$/;
    const name = kind === 'name' ? draw(() => odd().filter((text) => !good.test(text))) : one(draw, ...NAMES);
    const value = kind === 'name' ? settings(draw) : one<unknown>(draw, 'x: y', 1, null, []);
    profiles = putting(profiles, name, value, draw);
    return [withProfiles(), ['profiles', name]];
  }
  if (kind === 'default')
    return [
      putting(withProfiles(), 'defaultProfile', one<unknown>(draw, 3, '', null, ['dev']), draw),
      ['defaultProfile'],
    ];
  if (kind === 'list')
    return [putting(top, 'profiles', one<unknown>(draw, ['dev'], 'dev'), draw), ['profiles']];
  return [withProfiles(), undefined];
}

/** Quotes a text so that JSON and YAML read it in the same way. */
function quoted(text: string, ascii: boolean): string {
  const spell = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const hidden = ascii ? /[^ -~]/g : /[\p{C}\p{Z}\ud800-\udfff]/gu;
  return JSON.stringify(text).replace(hidden, (some) =>
    some === ' ' ? some : some.split('').map(spell).join(''),
  );
}

/** Writes the file in one of many possible styles, and records the line of every key. */
function written(file: Table, yaml: boolean, draw: Draw) {
  let text = '';
  const lines = new Map<string, number>();
  const mark = (path: readonly string[]) => lines.set(JSON.stringify(path), text.split('\n').length);
  const add = (more: string) => {
    text += more;
  };
  /** Inside brackets a line may end anywhere. */
  const flow = (value: unknown, path: readonly string[], margin: string) => {
    const gap = () => add(one(draw, '', ' ', `\n${margin}`));
    const items = value instanceof Map ? [...value] : Array.isArray(value) ? [...value.entries()] : undefined;
    if (!items) {
      add(typeof value === 'string' ? quoted(value, yes(draw)) : JSON.stringify(value));
      return;
    }
    add(value instanceof Map ? '{' : '[');
    items.forEach(([key, inner], at) => {
      if (at > 0) add(',');
      gap();
      const below = [...path, String(key)];
      if (value instanceof Map) {
        mark(below);
        add(quoted(String(key), yes(draw)));
        add(yaml ? ': ' : one(draw, ':', ' : ', ':\n'));
      }
      flow(inner, below, margin);
      gap();
    });
    add(value instanceof Map ? '}' : ']');
  };
  const spelt = (key: string) => {
    const ways = [quoted(key, false), quoted(key, true)];
    if (/^[ -~\u00c0-\u00ff\u4e00-\u9fff]*$/.test(key)) ways.push(`'${key.replaceAll("'", "''")}'`);
    if (/^[A-Za-z_]\w*$/.test(key) && key !== 'null') ways.push(key, key, key);
    return one(draw, ...ways);
  };
  const block = (table: Table, path: readonly string[], margin: string) => {
    const step = one(draw, '  ', '    ', ' ');
    for (const [key, value] of table) {
      const below = [...path, key];
      if (yes(draw)) add(`${margin}# ${one(draw, 'graph: it is', 'tls:', '"restPort": 1', "it's", '{')}\n`);
      if (yes(draw)) add('\n');
      add(margin);
      mark(below);
      add(`${spelt(key)}:`);
      if (value instanceof Map && value.size > 0 && one(draw, true, true, false)) {
        add('\n');
        block(value as Table, below, margin + step);
      } else if (typeof value === 'string' && /^\S.*$/.test(value) && !/[:#"']/.test(value) && yes(draw)) {
        add(` |-\n${margin}${step}${value}\n`);
      } else {
        add(' ');
        flow(value, below, `${margin} `);
        add('\n');
      }
    }
  };
  if (yaml && file.size > 0 && one(draw, true, true, false)) block(file, [], '');
  else flow(file, [], yaml ? ' ' : '');
  return { text, line: (path: readonly string[]) => lines.get(JSON.stringify(path)) };
}

/** Removes the names of a path from the beginning of a text. A name that cannot be written plainly has to be in quotes. */
function withoutPath(text: string, path: readonly string[]): string {
  let rest = text;
  for (const [at, name] of path.entries()) {
    if (at > 0) {
      expect(rest[0]).toBe('.');
      rest = rest.slice(1);
    }
    const [shown = ''] = /^[\w-]+/.exec(rest) ?? /^"(?:[^"\\]|\\.)*"/.exec(rest) ?? [];
    expect(shown.startsWith('"') ? JSON.parse(shown) : shown).toBe(name);
    rest = rest.slice(shown.length);
  }
  return rest;
}

test(
  'a random profile file is read, or refused in one printable line with file, line and key',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.gen(),
        fc.constantFrom('/x/.graphcredrc', '/x/.graphcredrc.json', '/x/.graphcredrc.yaml'),
        async (draw, file) => {
          const [table, path] = configFile(draw);
          const { text, line } = written(table, !file.endsWith('.json') && yes(draw), draw);
          const read = parseConfig(file, text);
          if (path === undefined) {
            const names = table.get('profiles') as Table;
            expect([...(await read).profiles.keys()].sort()).toEqual([...names.keys()].sort());
            return;
          }
          const refused = await read.then(
            () => undefined,
            (error: unknown) => error,
          );
          expect(refused).toBeInstanceOf(GraphException);
          const { code, message } = refused as GraphException;
          expect(code).toBe('CONFIG_INVALID');
          expect(message).toMatch(/^[^\p{C}\p{Zl}\p{Zp}]+$/u);
          const where = `${file}, line ${line(path)}: `;
          expect(message.slice(0, where.length), text).toBe(where);
          expect(withoutPath(message.slice(where.length), path)).toMatch(/^ (is|has|does) [\w ,]+\.$/);
        },
      ),
      // Shrinking a drawn file takes too long, and the text in the failure is enough to find the error.
      { ...RUNS, endOnFailure: true },
    );
  },
  PROPERTY_MS,
);

test.each([
  ['a number spelt otherwise', 'graph: x\n0x1f: y', 2],
  ['the name in a value and a comment before', 'graph: "graf: x"\n# graf: y\ngraf: z', 3],
  ['a key of the table that holds it', 'profiles:\n  profiles:\n    profiles: x', 3],
  ['a key under an anchor', 'profiles:\n  a: &a\n    graph: x\n  b:\n    <<: *a\n    graf: y', 6],
  ['old line ends', 'graph: x\rgraf: y', 2],
  ['a name with quotes of its own beside the name without', `{'"graph"': x,\n"graph": y}`, 1],
  ['what is no table, though it can be taken apart', 'graph: x\nprofiles: !!binary aGVsbG8=', 2],
])('the line of an error is found: %s', async (_, text, line) => {
  await expect(parseConfig('/x/.graphcredrc', text)).rejects.toThrow(`/x/.graphcredrc, line ${line}: `);
});

test('a profile named like a member of every JavaScript object is written like any other', async () => {
  const folder = temporaryHome();
  for (const graph of ['a', 'b'])
    await writeProfile(folder, '__proto__', { profile: { graph }, removed: [] }, async (_lock, work) =>
      work(),
    );
  const file = path.join(folder, 'config.json');
  const { profiles } = await parseConfig(file, fs.readFileSync(file, 'utf8'));
  expect([...profiles]).toEqual([['__proto__', { graph: 'b' }]]);
});
