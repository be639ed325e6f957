import { describe, expect, test } from 'vitest';
import type { HttpReply } from '../../src/core/http/types.js';
import { BY_STATEMENT, graphFor } from '../../src/core/protocol/gsql.js';
import { refusalOf, statementSession } from '../contract/core-support.js';

const reply = (body: string, status = 200): HttpReply => ({ status, headers: {}, body });
const lines = (...text: string[]) => reply(`${text.join('\n')}\n`);
const trailer = (code: number) => [
  '__GSQL__COOKIES__,{"auth":"Basic Zm9vOmJhcg=="}',
  `__GSQL__RETURN__CODE__,${code}`,
];

/** A session in which every statement gets the same answer. */
const answered = (reply: HttpReply, sent: unknown[] = []) =>
  statementSession(({ operation }, statement) => {
    sent.push(statement);
    const path = '/gsqlserver/gsql/file';
    return {
      request: { server: 'service', base: 'http://127.0.0.1:14240', method: 'POST', path, operation },
      reply,
    };
  });
const { listSecrets, createSecret, dropSecret } = BY_STATEMENT;
const listIn = (reply: HttpReply) => listSecrets(answered(reply));
const createdIn = async (reply: HttpReply) =>
  (await createSecret(answered(reply), 'a', false)).value.reveal();

describe('the answer to SHOW SECRET', () => {
  const ENTRY = ['    - Secret: s00****001', '      - Alias: demo_alias', '      - GraphName: demo_graph'];

  test('is read in the documented form', async () => {
    expect(await listIn(lines("Using graph 'demo_graph'", ...ENTRY, ...trailer(0)))).toEqual([
      { alias: 'demo_alias', masked: 's00****001', graph: 'demo_graph' },
    ]);
  });

  test('may contain tokens between the entries, Windows line ends, and lack a graph or an alias', async () => {
    const token = '      - Token: t0000000000000000000000000000001 expire at: 2022-01-31 10:20:30';
    const body = [ENTRY[0], ENTRY[1], token, token, ENTRY[0], ...ENTRY, ''].join('\r\n');
    expect(await listIn(reply(body))).toEqual([
      { alias: 'demo_alias', masked: 's00****001' },
      { alias: '', masked: 's00****001' },
      { alias: 'demo_alias', masked: 's00****001', graph: 'demo_graph' },
    ]);
  });

  test('has whole values masked, and aliases may be words of error messages', async () => {
    const body = lines('- Secret: s0000000000000000000000000000001', '- Alias: permission denied, failed to');
    expect(await listIn(body)).toEqual([{ alias: 'permission denied, failed to', masked: 's00****001' }]);
  });

  test('may be painted in colours, with other lines around it, as those of a new and a dropped secret', async () => {
    const painted = (...text: string[]) =>
      lines('\x1b[1mWelcome\x1b[0m', ...text.map((line) => `\x1b[32m${line}\x1b[0m`), 'Bye.', ...trailer(0));
    expect(await listIn(painted("Using graph 'demo_graph'", ...ENTRY))).toEqual([
      { alias: 'demo_alias', masked: 's00****001', graph: 'demo_graph' },
    ]);
    expect(await createdIn(painted("Using graph 'demo'", 'The secret: abc123 has been created.'))).toBe(
      'abc123',
    );
    const dropped = painted("Using graph 'demo'", 'Successfully dropped secrets: [a].');
    await expect(dropSecret(answered(dropped), 'a')).resolves.toBeUndefined();
  });

  test('may list no secret', async () => {
    for (const none of [
      lines("Using graph 'demo'", 'There is no secret.', ...trailer(0)),
      lines("Using graph 'permission'"),
    ])
      expect(await listIn(none)).toEqual([]);
  });

  test.each([
    [["Graph 'demo' does not exist.", ...trailer(212)], 'NOT_FOUND'],
    [["Semantic Check Fails: You don't have permission to do that.", ...trailer(212)], 'PERMISSION_DENIED'],
    [["Using graph 'demo'", 'Something else.', ...trailer(255)], 'SERVER_ERROR'],
    [['Encountered "x" at line 1, column 1.'], 'SERVER_ERROR'],
    [[...trailer(41)], 'AUTH_FAILED'],
    [['Hello, world.'], 'BAD_RESPONSE'],
    [['<html>'], 'BAD_RESPONSE'],
    [['{"error":false,"message":""}'], 'BAD_RESPONSE'],
    [['{"error":true,"message":"Authentication failed."}'], 'AUTH_FAILED'],
  ])('%j is %s', async (text, code) => {
    expect((await refusalOf(listIn(lines(...text)))).code).toBe(code);
  });

  test('with status 401 is AUTH_FAILED, whatever the text', async () => {
    expect((await refusalOf(listIn(reply('', 401)))).code).toBe('AUTH_FAILED');
    expect((await refusalOf(listIn(reply('<html>', 404)))).code).toBe('BAD_RESPONSE');
  });
});

describe('the answer to CREATE SECRET', () => {
  test('has the value between these words and a blank', async () => {
    const said = 'The secret: s0000000000000000000000000000001 has been created for user "demo_user".';
    expect(await createdIn(lines("Using graph 'g'", said, ...trailer(0)))).toBe(
      's0000000000000000000000000000001',
    );
  });

  test.each([
    ['The secret with alias a already exists.', 'ALREADY_EXISTS'],
    ["Graph 'demo' does not exist.", 'NOT_FOUND'],
    ['Done.', 'BAD_RESPONSE'],
    ['', 'BAD_RESPONSE'],
  ])('%j is %s', async (text, code) => {
    expect((await refusalOf(createdIn(lines(text)))).code).toBe(code);
  });
});

describe('the answer to DROP SECRET', () => {
  test('is success, refusal or unclear', async () => {
    const drop = (...text: string[]) => dropSecret(answered(lines(...text)), 'a');
    expect(await drop('Successfully dropped secrets: [a].', ...trailer(0))).toBeUndefined();
    expect((await refusalOf(drop('Failed to drop secrets: [a].', ...trailer(0)))).code).toBe('SERVER_ERROR');
    expect((await refusalOf(drop("Using graph 'g'"))).code).toBe('BAD_RESPONSE');
  });
});

describe('a statement', () => {
  test.each([
    ['my-alias.1', true],
    ...['', 'a b', 'a;b', 'a,b', "a'b", 'a"b', 'a`b', 'a\nb', 'a\u0000b', 'a//b', 'a/*b', 'a#b'].map(
      (alias): [string, boolean] => [alias, false],
    ),
    ['a\\b', false],
    ['a\u2028b', false],
  ])('is built for the listed alias %j: %j', async (alias, isBuilt) => {
    const sent: unknown[] = [];
    const session = answered(lines(`- Secret: s00****001`, `- Alias: ${alias}`), sent);
    await dropSecret(session, alias).catch(() => {});
    expect(sent.includes(`DROP SECRET ${alias}`)).toBe(isBuilt);
  });

  test.each(['', 'a b', '1a', 'a;b', "a'", 'a\n', 'a-b'])('is not built for the graph %j', (graph) => {
    expect(graphFor({ graph: 'demo' })).toBe('demo');
    expect(() => graphFor({ graph })).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });
});

describe('an answer that is cut off', () => {
  const LIST = "Using graph 'g'\n    - Secret: s00****001\n      - Alias: first\n      - GraphName: g\n";

  test('is not read as a list, wherever a line is cut off', async () => {
    for (let length = 1; length < LIST.length - 1; length++) {
      const cut = LIST.slice(0, length);
      if (cut.endsWith('\n')) continue;
      expect((await refusalOf(listIn(reply(cut)))).code).toBe('BAD_RESPONSE');
    }
    expect(await listIn(reply(`${LIST}__GSQL__COOK`))).toHaveLength(1);
  });

  test('contains no secret value', async () => {
    expect(await refusalOf(createdIn(reply('The secret: s00000')))).toMatchObject({
      code: 'BAD_RESPONSE',
      ambiguous: true,
    });
    expect(await createdIn(reply('The secret: s00000\n'))).toBe('s00000');
  });
});
