import { expect, test } from 'vitest';
import { send } from '../../src/core/http/send.js';
import type { HttpRequest } from '../../src/core/http/types.js';
import {
  BoundCredential,
  type ConnectionOptions,
  Deadline,
  type GraphConnection,
  Sensitive,
} from '../../src/index.js';
import { listErrors } from '../helpers/told.js';
import { answering, connectionAt } from './core-support.js';

type Answer = string | readonly [status: number, body: string, headers?: Record<string, string>];
type Call = (conn: GraphConnection) => unknown;

const TOKEN = 'visibletoken';
const V4 = { serverVersion: '4.1.2' };
const NO_LOGIN = { username: undefined, password: undefined };
const OTHER_PAIR = { restUrl: 'https://a.test:9000', gsqlUrl: 'https://a.test:14240' };
const PAGE = '<html>a page</html>';
const create: Call = (conn) => conn.createSecret('ci');
const list: Call = (conn) => conn.listSecrets();
const mint: Call = (conn) => conn.mintToken();
const read: Call = (conn) => conn.rest('GET', '/a');
const drop: Call = (conn) => conn.dropSecret('ci');
const version: Call = (conn) => conn.findVersion();
const AUTO = { serverVersion: 'auto' };

const FOREIGN = {
  scheme: 'Bearer',
  credential: new BoundCredential(new Sensitive('hidden'), OTHER_PAIR),
} as const;

/** Sends a request that no method of a connection would send. */
function sendTo(path: string, request: Partial<HttpRequest>): Promise<unknown> {
  const settings = { tls: {} };
  return send(
    settings,
    { server: 'rest', base: 'http://db', method: 'GET', path, ...request },
    new Deadline(1000),
  );
}

/** A refusal of the token with status 200 and this many characters. */
function longRefusal(length: number): string {
  const start = '{"error":true,"code":"REST-10019","message":"';
  return `${start}${'x'.repeat(length - start.length - 2)}"}`;
}

/** What is tried, with which settings, and what the server answers: one answer after the other, the last one again and again. */
const CASES: readonly (readonly [
  title: string,
  call: Call,
  options?: ConnectionOptions,
  ...answers: Answer[],
])[] = [
  ['a time limit of 0', read, { timeoutMs: 0 }],
  ['a time limit that timers cannot have', read, { timeoutMs: 0x8000_0000 }],
  ['a host without a scheme', read, { host: 'db' }],
  ['a host with a port and without a scheme', read, { host: 'db:80' }],
  ['a host with a port', read, { host: 'http://db:80' }],
  ['a host with a path', read, { host: 'http://db/a' }],
  ['a URL that is none', read, { gsqlUrl: 'http://[' }],
  ['a URL with a login', read, { restUrl: 'http://ada:hidden@db' }],
  ['a URL with a query', read, { restUrl: 'http://db/?a=b' }],
  ['a port out of range', read, { gsqlPort: 65_536 }],
  ['two hosts', read, { host: 'http://db', restUrl: undefined }],
  ['a version that is none', version, { serverVersion: 'new' }],
  ['a version before 3', version, { serverVersion: '2.6' }],
  ['a password without a user', list, { username: undefined }],
  ['a user name with a colon', list, { username: 'a:b' }],
  ['3.x: secrets without a graph', list, { graph: undefined }],
  ['3.x: a mint by password without a graph', mint, { graph: undefined }],
  ['3.x: secrets without a login', list, NO_LOGIN],
  ['3.x: a mint without a login', mint, NO_LOGIN],
  ['4.x: secrets without a login', list, { ...V4, ...NO_LOGIN }],
  ['4.x: a mint without a login', mint, { ...V4, ...NO_LOGIN }],
  [
    '4.x: a token deleted without a login',
    (conn) => conn.deleteToken('', { token: TOKEN }),
    { ...V4, ...NO_LOGIN },
    '{"error":false}',
  ],
  ['no token to check', (conn) => conn.checkToken()],
  ['no token to refresh', (conn) => conn.refreshToken()],
  ['no token to delete', (conn) => conn.deleteToken('')],
  ['4.x: a refresh', (conn) => conn.refreshToken({ token: TOKEN }), V4],
  ['a lifetime of 0', (conn) => conn.mintToken({ lifetime: 0 })],
  ['a lifetime with a fraction', (conn) => conn.mintToken({ lifetime: 1.5 })],
  ['a lifetime of more than a hundred years', (conn) => conn.mintToken({ lifetime: 3_153_600_001 })],
  ['an alias that no secret has', (conn) => conn.createSecret('a b')],
  ['no alias', (conn) => conn.dropSecret([])],
  ['an empty alias', (conn) => conn.dropSecret(['ci', ''])],
  [
    '3.x: an alias that ends a statement',
    (conn) => conn.dropSecret('a;b'),
    {},
    "Using graph 'demo'\n- Secret: abc****xyz\n- Alias: a;b\n",
  ],
  ['3.x: a graph that no server has', list, { graph: 'a-b' }],
  ['a method that is none', (conn) => conn.rest('TRACE', '/a')],
  ['a path that begins with two slashes', (conn) => conn.rest('GET', '//a')],
  ['a header with a line break', (conn) => conn.rest('GET', '/a', { headers: { a: 'b\nc' } })],
  ['a header of our own', (conn) => conn.rest('GET', '/a', { headers: { Cookie: 'a' } })],
  ['a call that wipes everything', (conn) => conn.service('GET', '/gsqlserver/gsql/drop-all')],
  ['a call that clears the block list', (conn) => conn.service('DELETE', '/gsql/v1/tokens?clear=true')],
  ['a token with a blank', read, { apiToken: 'a b' }],
  ['4.x: a secret with a blank', list, { ...V4, ...NO_LOGIN, secret: 'a b' }],
  ['a token of other servers', read, { apiToken: new BoundCredential(new Sensitive('hidden'), OTHER_PAIR) }],
  [
    'a token that the server does not know',
    (conn) => conn.deleteToken('', { token: TOKEN }),
    {},
    '{"error":true,"code":"REST-3300","message":"The token does not exist."}',
  ],
  [
    'an unknown alias',
    (conn) => conn.dropSecret(['ci', 'cd'], { ignoreErrors: false }),
    {},
    "Using graph 'demo'",
    "Using graph 'demo'\nSuccessfully dropped secrets: [ci].\n",
    "Using graph 'demo'\nFailed to drop secrets: [cd].\n",
    "Using graph 'demo'\n",
  ],
  ['a server that does not tell its version', version, AUTO, [404, PAGE], [200, 'ada, no version here']],
  ['a REST server in place of the GSQL server', version, AUTO, [403, '{"code":"REST-10016"}'], [404, '']],
  ['no version behind a page with 401', version, AUTO, [401, PAGE], [403, PAGE]],
  ['a version that is not supported', version, AUTO, 'GSQL version: 5.0.0'],
  ['no version of a server that is starting', version, AUTO, [503, 'it is starting']],
  ['no version behind a redirect', version, AUTO, [302, '']],
  ['a redirect', read, {}, [307, '']],
  ['a proxy that wants a login', read, {}, [407, '']],
  ['too many requests', read, {}, [429, '']],
  ['a TLS port', read, {}, [400, 'The plain HTTP request was sent to HTTPS port']],
  ['a server that is not up', read, {}, [503, 'busy']],
  ['a gateway that lost a server', mint, {}, [502, PAGE]],
  ['a workspace that is starting', mint, {}, [502, 'it is starting']],
  ['a workspace that is suspended', read, {}, [500, 'failed to start workspace']],
  ['a mint answered by a web page', mint, {}, PAGE],
  ['a list answered by a web page', list, V4, PAGE],
  ['3.x: a list answered by a JSON text', list, {}, '{"error":false}'],
  ['3.x: a list at a path that is not there', list, {}, [404, 'nothing']],
  ['a call answered by a page with 401', read, {}, [401, PAGE]],
  ['a call answered by a text with 403', read, {}, [403, 'not you']],
  ['a mint without a token', mint, {}, '{"error":false}'],
  ['4.x: a mint without a token', mint, V4, '{"error":false}'],
  ['3.x: an empty list', list, {}, '\n'],
  ['3.x: a list that is cut off', list, {}, "Using graph 'demo'\n- Secret: abc****xyz\n- Ali"],
  ['3.x: a list that is none', list, {}, 'Hello\n'],
  ['3.x: a list of a graph that is not there', list, {}, "Graph 'demo' does not exist.\n"],
  ['3.x: a secret on a graph that is not there', create, {}, "Graph 'demo' does not exist.\n"],
  [
    '3.x: a graph that is gone when the secret is made',
    create,
    {},
    "Using graph 'demo'\n",
    "Graph 'demo' does not exist.\n",
  ],
  [
    '3.x: a secret that may have been made',
    create,
    {},
    "Using graph 'demo'\n",
    "Using graph 'demo'\nHello\n",
  ],
  ['3.x: a drop that says nothing', drop, {}, "Using graph 'demo'\n", "Using graph 'demo'\nHello\n"],
  ['4.x: no secret in the answer', create, V4, '{"error":false,"results":[]}'],
  ['4.x: a list that is none', list, V4, '{"error":false,"results":[{"alias":1}]}'],
  ['4.x: a secret at a server that lost it', create, V4, [500, '{"error":true,"message":"disk full"}']],
  ['3.0: a mint that may have been done', mint, { serverVersion: '3.2.0' }, [504, '']],
  ['3.x: a list refused without a word', list, {}, [401, '']],
  ['3.x: a statement that is not understood, without a word', list, {}, '__GSQL__RETURN__CODE__,211'],
  ['3.x: a return code below 0', list, {}, '__GSQL__RETURN__CODE__,-1'],
  ['3.x: a return code that is no number', list, {}, '__GSQL__RETURN__CODE__,abc'],
  ['a life that is too long, without a word', mint, {}, '{"error":true,"code":"REST-3101"}'],
  ['a graph that is not there, without a word', mint, {}, '{"error":true,"code":"REST-1004"}'],
  ['4.0: a server without this path', create, { serverVersion: '4.0.0' }, [404, '']],
  ['4.x: a secret that is none', create, V4, '{"error":false,"results":{"alias":"ci","value":"a b"}}'],
  ['4.x: a secret refused with 404', create, V4, [404, '{"error":true,"message":"no such user"}']],
  [
    'a lifetime of a hundred years, which is sent',
    (conn) => conn.mintToken({ lifetime: 3_153_600_000 }),
    {},
    PAGE,
  ],
  ['a refusal as long as one may be', read, {}, longRefusal(16_384)],
  ['an answer longer than a refusal may be', read, {}, longRefusal(16_385)],
  ['a request beside its address', () => sendTo('/../a', { base: 'http://db/base' })],
  ['a request with a base that is written in another way', () => sendTo('/a', { base: 'http://DB' })],
  ['a credential for a request without a pair of servers', () => sendTo('/a', { authorization: FOREIGN })],
  [
    'a code of the server that is long',
    mint,
    {},
    `{"error":true,"code":"${'LONG-'.repeat(9)}","message":"no"}`,
  ],
];

test('every error of the library says what happened, and what to do next', async () => {
  let answers: Answer[] = [];
  const { url } = await answering(() => {
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? '';
    const [status, body, headers] = typeof answer === 'string' ? ([200, answer] as const) : answer;
    return { status, body, headers };
  });
  const cases = CASES.map(([title, call, options, ...given]) => {
    const failing = () => {
      answers = given;
      return call(connectionAt(url, options));
    };
    return [title, failing] as const;
  });
  const list = (await listErrors(cases))
    .replaceAll(url, 'http://server')
    .replaceAll(new URL(url).host, 'server');
  await expect(list).toMatchFileSnapshot('core-errors-told.txt');
});
