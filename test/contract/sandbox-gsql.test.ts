import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.js';
import { defined } from '../helpers/defined.js';
import { demo, LOGIN, raw, SECRET } from './sandbox-raw.js';

/** Tests how texts and bodies are parsed: what is a statement, what is an alias, what is JSON. */
describe('a GSQL text', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await demo({ serverVersion: '3.9.3' });
  });
  afterAll(() => sandbox.close());

  const run = async (body: string) => {
    const reply = await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/file', LOGIN, body);
    expect(reply.status).toBe(200);
    const lines = reply.body.trimEnd().split('\n');
    return { lines: lines.slice(0, -2), code: Number(defined(lines.at(-1)).split(',')[1]) };
  };
  const using = "Using graph 'demo_graph'";
  const failed = (alias: string) => `Failed to drop secrets: [${alias}].`;

  it.each([
    ['newlines', 'USE GRAPH demo_graph\nDROP SECRET a\nDROP SECRET b'],
    ['one line', 'USE GRAPH demo_graph DROP SECRET a DROP SECRET b'],
    ['semicolons', 'USE GRAPH demo_graph; DROP SECRET a; DROP SECRET b;'],
    ['a list', 'USE GRAPH demo_graph DROP SECRET a, b'],
    ['quotes', 'USE GRAPH demo_graph\nDROP SECRET "a"\nDROP SECRET \'b\''],
    ['lower case and odd blanks', '\r\n\t use   graph demo_graph\r\n  drop secret a\r\n drop\tsecret b'],
    [
      'comments',
      '# one\nUSE GRAPH demo_graph // two\n/* three\nDROP SECRET c */ DROP SECRET a DROP SECRET b',
    ],
    ['URL-encoding', 'USE+GRAPH+demo_graph%0D%0ADROP+SECRET+a%3B%20DROP+SECRET+%22b%22'],
    ['a stray percent sign', 'USE GRAPH demo_graph DROP SECRET a # 100%\nDROP SECRET b'],
  ])('%s', async (_, body) => {
    expect(await run(body)).toEqual({ lines: [using, failed('a'), failed('b')], code: 212 });
  });

  it('with quotes around it, a keyword or a separator is a name', async () => {
    expect((await run('USE GRAPH demo_graph DROP SECRET ";", "a b"')).lines.slice(1)).toEqual([
      failed(';'),
      failed('a b'),
    ]);
    expect((await run("USE GRAPH demo_graph DROP SECRET 'it\\'s'")).lines.slice(1)).toEqual([failed("it's")]);
    expect((await run('"USE" GRAPH demo_graph')).code).toBe(211);
  });

  it.each(['DROP SECRET', 'USE GRAPH', 'DROP SECRET a,'])(
    'that ends with %s names its end as the error',
    async (end) => {
      const { lines, code } = await run(`USE GRAPH demo_graph\n${end}`);
      expect({ last: lines.at(-1), code }).toEqual({
        last: 'Encountered "<EOF>" at line 2, column 1.',
        code: 211,
      });
    },
  );

  it('names an alias only on the same line', async () => {
    const { lines } = await run('USE GRAPH demo_graph\nCREATE SECRET\nDROP SECRET a');
    expect(lines[1]).toMatch(/^The secret: [a-z0-9]{32} has been/);
    expect(lines[2]).toBe(failed('a'));
    const below = await run('USE GRAPH demo_graph\nCREATE SECRET\nci');
    expect(below.lines.slice(2)).toEqual(['Encountered "ci" at line 3, column 1.']);
    const next = await run('USE GRAPH demo_graph CREATE SECRET SHOW SECRET');
    expect(next.lines[1]).toMatch(/^The secret: /);
    expect(next.lines[2]).toMatch(/- Secret: /);
    for (const statement of [
      'CREATE SECRET',
      'DROP SECRET a',
      'SHOW USER',
      'USE GLOBAL',
      'USE GRAPH demo_graph',
    ]) {
      const { lines, code } = await run(`USE GRAPH demo_graph CREATE SECRET ${statement}`);
      expect({ statement, made: lines[1], isSyntaxError: code === 211 }).toEqual({
        statement,
        made: expect.stringMatching(/^The secret: /),
        isSyntaxError: false,
      });
    }
  });

  it.each(['use', 'show', 'create', 'drop'])('may name an alias %s, like a statement', async (alias) => {
    const { lines, code } = await run(`USE GRAPH demo_graph CREATE SECRET ${alias}`);
    expect([lines[1]?.slice(0, 11), lines.length, code]).toEqual(['The secret:', 2, 0]);
    expect((await run(`USE GRAPH demo_graph DROP SECRET ${alias}`)).code).toBe(0);
  });

  it('creates only aliases that are identifiers, but drops any alias', async () => {
    for (const alias of ['my-ci', '1st', 'ä', '"two words"', '""', 'a.b', "'; DROP SECRET demo_alias; '"]) {
      const { lines, code } = await run(`USE GRAPH demo_graph CREATE SECRET ${alias}`);
      expect([defined(lines.at(-1)).slice(0, 11), code], alias).toEqual(['Encountered', 211]);
    }
    const odd = await demo({
      serverVersion: '3.9.3',
      secrets: [{ alias: 'my odd-one', value: SECRET, user: 'demo_user', graph: 'demo_graph' }],
    });
    const dropped = await raw(
      odd.gsqlUrl,
      'POST /gsqlserver/gsql/file',
      LOGIN,
      'USE GRAPH demo_graph DROP SECRET "my odd-one"',
    );
    expect(dropped.body).toContain('Successfully dropped secrets: [my odd-one].');
    await odd.close();
  });

  it('with a syntax error is run up to the error', async () => {
    const { lines, code } = await run('USE GRAPH demo_graph\nCREATE SECRET done\nDROP\nCREATE SECRET never');
    expect(lines.at(-1)).toBe('Encountered "DROP" at line 3, column 1.');
    expect(code).toBe(211);
    const shown = (await run('USE GRAPH demo_graph SHOW SECRET')).lines.join('\n');
    expect(shown).toContain('- Alias: done');
    expect(shown).not.toContain('never');
  });

  it('shows only the secrets of its graph and its user', async () => {
    expect((await run('USE GRAPH other_graph SHOW SECRET')).lines).toEqual([
      "Using graph 'other_graph'",
      'There is no secret.',
    ]);
    expect((await run('USE GRAPH other_graph DROP SECRET demo_alias')).lines[1]).toBe(failed('demo_alias'));
    expect((await run('USE GRAPH other_graph CREATE SECRET demo_alias')).lines[1]).toMatch(/^The secret: /);
  });

  it('has no graph in use after USE GLOBAL', async () => {
    expect((await run('USE GRAPH demo_graph USE GLOBAL SHOW SECRET')).code).toBe(213);
  });
});

describe('a body', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await demo({ serverVersion: '3.10.1' });
  });
  afterAll(() => sandbox.close());
  const ask = async (body: string) =>
    JSON.parse((await raw(sandbox.restUrl, 'POST /requesttoken', LOGIN, body)).body) as {
      error: boolean;
      message: string;
    };

  it.each([
    "{'graph': 'demo_graph'}",
    `{'graph': "demo_graph", 'lifetime': '60', 'secret': None}`,
    '{graph: demo_graph}',
    '{"graph":"demo_graph","lifetime":"60",}',
    ' {\n"graph" : "demo\\u005fgraph", "more": [1, {"a": \'b\'}, true] } ',
    '{"graph":"demo_graph","lifetime":" 60 "}',
    "{'more': [], 'graph': 'demo_graph', 'empty': {}, 'last': [1,]}",
  ])('is accepted as JSON: %s', async (body) => {
    expect(await ask(body)).toMatchObject({ error: false });
  });

  it.each([
    'graph=demo_graph',
    '{"graph":"demo_graph"',
    '["demo_graph"]',
    'null',
    '{"graph":"demo_graph"} and more',
    `${'{"a":'.repeat(100)}1${'}'.repeat(100)}x`,
    '\u0000',
    `{'graph': 'demo_graph', 'more': ["a" "b"]}`,
  ])('is refused: %s', async (body) => {
    expect(await ask(body)).toMatchObject({ error: true, message: 'The request body is not valid JSON.' });
  });

  it.each(['"1.5"', '"1e3"', '"60s"', 'true', '[60]', '{}'])(
    'with %s as a lifetime is refused, because it is not a number',
    async (lifetime) => {
      expect(await ask(`{"graph":"demo_graph","lifetime":${lifetime}}`)).toEqual({
        code: 'REST-1101',
        error: true,
        message: 'Invalid parameters, lifetime is not a number.',
        token: '',
      });
    },
  );

  it.each(['0', '-1', '99999999999999', '9999999999999'])(
    'with a lifetime of %s is refused',
    async (lifetime) => {
      expect(await ask(`{"graph":"demo_graph","lifetime":${lifetime}}`)).toMatchObject({
        error: true,
        message: 'The lifetime is invalid.',
      });
    },
  );
});
