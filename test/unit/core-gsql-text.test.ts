import { describe, expect, test } from 'vitest';
import type { HttpReply, HttpRequest } from '../../src/core/http/types.js';
import {
  createSecretStatement,
  dropSecretStatement,
  parseCreated,
  parseDropped,
  parseSecretList,
  useGraph,
} from '../../src/core/protocol/gsql.js';
import { GraphException } from '../../src/index.js';

const request: HttpRequest = {
  server: 'service',
  base: 'http://127.0.0.1:14240',
  method: 'POST',
  path: '/gsqlserver/gsql/file',
};
const reply = (body: string, status = 200): HttpReply => ({ status, headers: {}, body, timeUnix: 1 });
const lines = (...text: string[]) => reply(`${text.join('\n')}\n`);
const trailer = (code: number) => [
  '__GSQL__COOKIES__,{"auth":"Basic Zm9vOmJhcg=="}',
  `__GSQL__RETURN__CODE__,${code}`,
];

function refusalOf(call: () => unknown): GraphException {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(GraphException);
    return error as GraphException;
  }
  return expect.fail('was not refused');
}

describe('the answer to SHOW SECRET', () => {
  const ENTRY = ['    - Secret: s00****001', '      - Alias: demo_alias', '      - GraphName: demo_graph'];

  test('is read in the documented form', () => {
    const secrets = parseSecretList(request, lines("Using graph 'demo_graph'", ...ENTRY, ...trailer(0)));
    expect(secrets).toEqual([{ alias: 'demo_alias', masked: 's00****001', graph: 'demo_graph' }]);
  });

  test('may contain tokens between the entries, Windows line ends, and lack a graph or an alias', () => {
    const token = '      - Token: t0000000000000000000000000000001 expire at: 2022-01-31 10:20:30';
    const body = [ENTRY[0], ENTRY[1], token, token, ENTRY[0], ...ENTRY, ''].join('\r\n');
    expect(parseSecretList(request, reply(body))).toEqual([
      { alias: 'demo_alias', masked: 's00****001' },
      { alias: '', masked: 's00****001' },
      { alias: 'demo_alias', masked: 's00****001', graph: 'demo_graph' },
    ]);
  });

  test('has whole values masked, and aliases may be words of error messages', () => {
    const body = lines('- Secret: s0000000000000000000000000000001', '- Alias: permission denied, failed to');
    expect(parseSecretList(request, body)).toEqual([
      { alias: 'permission denied, failed to', masked: 's00****001' },
    ]);
  });

  test('may list no secret', () => {
    expect(
      parseSecretList(request, lines("Using graph 'demo'", 'There is no secret.', ...trailer(0))),
    ).toEqual([]);
    expect(parseSecretList(request, lines("Using graph 'permission'"))).toEqual([]);
    expect(parseSecretList(request, lines(...trailer(0)))).toEqual([]);
    expect(parseSecretList(request, reply(''))).toEqual([]);
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
  ])('%j is %s', (text, code) => {
    expect(refusalOf(() => parseSecretList(request, lines(...text))).code).toBe(code);
  });

  test('never shows the login in the cookie line in an error', () => {
    const refused = refusalOf(() => parseSecretList(request, lines('Failed to do it.', ...trailer(212))));
    expect(JSON.stringify(refused) + refused.message).not.toContain('Zm9v');
  });

  test('with status 401 is AUTH_FAILED, whatever the text', () => {
    expect(refusalOf(() => parseSecretList(request, reply('', 401))).code).toBe('AUTH_FAILED');
    expect(refusalOf(() => parseSecretList(request, reply('<html>', 404))).code).toBe('BAD_RESPONSE');
  });
});

describe('the answer to CREATE SECRET', () => {
  test('has the value between these words and a blank', () => {
    const said = 'The secret: s0000000000000000000000000000001 has been created for user "demo_user".';
    expect(parseCreated(request, lines("Using graph 'g'", said, ...trailer(0))).reveal()).toBe(
      's0000000000000000000000000000001',
    );
  });

  test.each([
    ['The secret with alias a already exists.', 'ALREADY_EXISTS'],
    [
      "Semantic Check Fails: You don't have permission to create a secret on graph 'demo'.",
      'PERMISSION_DENIED',
    ],
    ["Graph 'demo' does not exist.", 'NOT_FOUND'],
    ['Done.', 'BAD_RESPONSE'],
    ['', 'BAD_RESPONSE'],
  ])('%j is %s', (text, code) => {
    expect(refusalOf(() => parseCreated({ ...request, operation: 'create-secret' }, lines(text))).code).toBe(
      code,
    );
  });
});

describe('the answer to DROP SECRET', () => {
  test('is success, refusal or unclear', () => {
    expect(parseDropped(request, lines('Successfully dropped secrets: [a].', ...trailer(0)))).toBeUndefined();
    expect(parseDropped(request, lines('Failed to drop secrets: [a].', ...trailer(0)))?.code).toBe(
      'SERVER_ERROR',
    );
    expect(refusalOf(() => parseDropped(request, lines("Using graph 'g'"))).code).toBe('BAD_RESPONSE');
  });
});

describe('a statement', () => {
  test('contains the names unchanged', () => {
    expect(createSecretStatement('')).toBe('CREATE SECRET');
    expect(createSecretStatement('ci')).toBe('CREATE SECRET ci');
    expect(dropSecretStatement('my-alias.1')).toBe('DROP SECRET my-alias.1');
    expect(useGraph('demo')).toBe('USE GRAPH demo');
  });

  test.each([
    '',
    'a b',
    'a;b',
    'a,b',
    "a'b",
    'a"b',
    'a`b',
    'a\nb',
    'a\u0000b',
    'a//b',
    'a/*b',
    'a#b',
    'a\\b',
    'a\u2028b',
  ])('is not built for the alias %j', (alias) => {
    expect(refusalOf(() => dropSecretStatement(alias)).code).toBe('USAGE');
  });

  test.each(['', 'a b', '1a', 'a;b', "a'", 'a\n', 'a-b'])('is not built for the graph %j', (graph) => {
    expect(refusalOf(() => useGraph(graph)).code).toBe('USAGE');
  });
});

describe('an answer that is cut off', () => {
  const LIST = "Using graph 'g'\n    - Secret: s00****001\n      - Alias: first\n      - GraphName: g\n";

  test('is not read as a list, wherever a line is cut off', () => {
    for (let length = 1; length < LIST.length - 1; length++) {
      const cut = LIST.slice(0, length);
      if (cut.endsWith('\n')) continue;
      expect(refusalOf(() => parseSecretList(request, reply(cut))).code).toBe('BAD_RESPONSE');
    }
    expect(parseSecretList(request, reply(`${LIST}__GSQL__COOK`))).toHaveLength(1);
  });

  test('contains no secret value', () => {
    expect(refusalOf(() => parseCreated(request, reply('The secret: s00000')))).toMatchObject({
      code: 'BAD_RESPONSE',
      ambiguous: true,
    });
    expect(parseCreated(request, reply('The secret: s00000\n')).reveal()).toBe('s00000');
  });
});
