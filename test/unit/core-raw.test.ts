import { describe, expect, test } from 'vitest';
import { checkRawCall } from '../../src/core/call-rules.js';
import type { HttpRequest } from '../../src/core/http/types.js';
import type { ServerCall, ServerSession } from '../../src/core/protocol/session.js';
import { sendRaw } from '../../src/core/raw.js';
import { BoundCredential, Sensitive } from '../../src/core/sensitive.js';
import { GraphException } from '../../src/index.js';

const REST = 'https://db.example.test/restpp';
const SERVICE = 'https://db.example.test';
const SERVERS = { restUrl: REST, gsqlUrl: SERVICE };

const sessionWith = (ask: ServerSession['ask']) =>
  ({ servers: SERVERS, ask }) as Partial<ServerSession> as ServerSession;

function refused(server: 'rest' | 'service', method: string, path: string, headers = {}): boolean {
  try {
    checkRawCall(server === 'rest' ? REST : SERVICE, method, path, { headers });
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(GraphException);
    expect((error as GraphException).code).toBe('USAGE');
    return true;
  }
}

// holds: C8.7
test.each(['/graph/demo/vertices/Person/Zoë', '/graph/demo/vertices/Person/Zoe B'])(
  'a path with a character that is not encoded is refused: %s',
  (path) => {
    expect(refused('rest', 'GET', path)).toBe(true);
    expect(refused('rest', 'GET', encodeURI(path))).toBe(false);
  },
);

test('a path of which Git Bash made a file name is told with the variable that stops that', () => {
  expect(() => checkRawCall(REST, 'GET', 'C:/Program Files/Git/echo', {})).toThrow(
    expect.objectContaining({ code: 'USAGE', hint: expect.stringContaining('MSYS_NO_PATHCONV=1') }),
  );
});

test('the answer to a raw call may have 64 MiB', async () => {
  const asked: ServerCall[] = [];
  const session = sessionWith(async (call) => {
    asked.push(call);
    return { request: call as HttpRequest, reply: { status: 200, headers: {}, body: '' } };
  });
  await sendRaw(session, { server: 'rest', method: 'GET', path: '/echo' }, {});
  expect(asked.map(({ maxBytes }) => maxBytes)).toEqual([64 * 1024 * 1024]);
});

// holds: C9.6
test('a long refusal is cut, and shows no part of the token that it quotes', async () => {
  const credential = new BoundCredential(new Sensitive('0123456789abcdef'.repeat(2)), SERVERS);
  const body = `${' '.repeat(16_360)}${credential.reveal()} is refused`;
  const authorization = { scheme: 'Bearer', credential } as const;
  const session = sessionWith(async (request) => ({
    request: request as HttpRequest,
    reply: { status: 403, headers: {}, body },
  }));
  const asked = { server: 'rest', method: 'GET', path: '/echo', authorization } as const;
  expect((await sendRaw(session, asked, { keepRefusal: true })).body.trim()).toBe('…');
});

describe('a raw call stays within its base URL', () => {
  test.each([
    'https://evil.example/x',
    '//evil.example/x',
    '/\\evil.example/x',
    'graph/demo',
    '',
    '/../gsql/v1/version',
    '/a/../../gsql/v1/version',
    '/%2e%2e/gsql/v1/version',
    '/.%2E/gsql/v1/version',
    '/..%2fgsql/v1/version',
    '/a%252f..%252F..%5cgsql/v1/version',
    '/a\r\nHost: evil',
    '/a b',
    '/ä',
    '/\t/evil',
  ])('%j is refused', (path) => {
    expect(refused('rest', 'GET', path)).toBe(true);
  });

  test.each([
    ['/graph/demo/vertices/Person?limit=2', '/graph/demo/vertices/Person?limit=2'],
    ['/a?b=https://evil.example/', '/a?b=https://evil.example/'],
    ['/a@evil.example', '/a@evil.example'],
    [`/100%${'25'.repeat(7)}`, `/100%${'25'.repeat(7)}`],
  ])('%s is sent as %s', (path, expected) => {
    expect(checkRawCall(REST, 'get', path, {})).toMatchObject({
      method: 'GET',
      path: expected,
    });
  });

  // holds: C8.7
  test.each(['/graph/demo/vertices/Person/#1', '/query?lang=C#&limit=5', '/vertices/Zo\u00eb Kim', '/a b'])(
    '%j is refused, and told how to write it',
    (path) => {
      const hint = 'percent-encode them: %20 for a blank, %23 for #';
      expect(() => checkRawCall(REST, 'DELETE', path, {})).toThrow(
        expect.objectContaining({ code: 'USAGE', hint }),
      );
    },
  );

  test('a path is read until nothing is left to decode', () => {
    expect(refused('rest', 'GET', `/a/%${'25'.repeat(20)}2e./b`)).toBe(true);
  });

  test.each(['TRACE', 'CONNECT', 'GET /x', ''])('the method %j is refused', (method) => {
    expect(refused('rest', method, '/x')).toBe(true);
  });
});

describe('calls that are never sent (C10.2)', () => {
  // holds: C10.2
  test.each([
    '/gsql/v1/drop-all',
    '/GSQL/v1/Drop-All',
    '/gsql//v1//drop-all',
    '/gsql/v1/x/../drop-all',
    '/gsql/v1/%64rop-all',
    '/gsql/v1/drop%2Dall',
    '/gsql/v1/drop%25252Dall',
    '/gsqlserver/gsql/v1/drop-all',
  ])('%s', (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) expect(refused('service', method, path)).toBe(true);
  });

  // holds: C10.2
  test.each([
    '/gsql/v1/tokens?clear=true',
    '/gsql/v1/tokens?a=b&clear=TRUE',
    '/gsql/v1/tokens?%63lear=true',
    '/gsql/v1/tokens?%2563lear=true',
    '/gsql/v1/%74okens?clear=true',
    '/gsql/v1/TOKENS?Clear=true',
    '/gsql/v1/tokens?a=b;clear=true',
    '/gsql/v1/tokens?+clear=true',
  ])('DELETE %s', (path) => {
    expect(refused('service', 'DELETE', path)).toBe(true);
    expect(refused('service', 'delete', path)).toBe(true);
  });

  test('similar paths are sent', () => {
    expect(refused('service', 'DELETE', '/gsql/v1/tokens')).toBe(false);
    expect(refused('service', 'POST', '/gsql/v1/tokens')).toBe(false);
    expect(refused('rest', 'DELETE', '/graph/demo/vertices/Person?filter=clear')).toBe(false);
    expect(refused('rest', 'GET', '/graph/demo/vertices/Person/100%25')).toBe(false);
  });
});

describe('headers', () => {
  test.each([{ 'X-A': 'a\r\nX-B: b' }, { 'X A': 'a' }, { '': 'a' }])('%j is refused', (headers) => {
    expect(refused('rest', 'GET', '/x', headers)).toBe(true);
  });

  test('other headers are sent', () => {
    const { headers } = checkRawCall(REST, 'GET', '/x', { headers: { 'GSQL-TIMEOUT': '1000' } });
    expect(headers).toEqual({ 'gsql-timeout': '1000' });
  });
});

test.each([
  ...['authorization', 'connection', 'content-length', 'cookie', 'host', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
])('the header %s is set by graphcred itself, in any case of its letters', (name) => {
  const [first = '', ...rest] = name;
  for (const written of [name, first.toUpperCase() + rest.join('')])
    expect(() => checkRawCall(REST, 'GET', '/', { headers: { [written]: 'x' } })).toThrow(
      expect.objectContaining({
        message: `The header ${name} is set by graphcred itself.`,
        hint: 'leave it out',
      }),
    );
});

test('an error is known by its name, and by what is absent of it', () => {
  const error = new GraphException('USAGE', 'words');
  expect(String(error)).toBe('GraphException: words');
  expect(error).toMatchObject({ ambiguous: false, fix: [], hint: undefined, retryable: false });
});
