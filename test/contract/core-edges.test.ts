import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { Opened } from '../../src/core/open-protocol.js';
import { serverVersion } from '../../src/core/protocol/version.js';
import { withoutCredentials } from '../../src/core/redact.js';
import { mintToken } from '../../src/core/tokens.js';
import { Sensitive } from '../../src/index.js';
import { connectionAt, rawServer, refusalOf } from './core-support.js';

const MISSING = { username: undefined, password: undefined };

describe('what is missing is named', () => {
  test('when there is no token', async () => {
    const conn = connectionAt('http://127.0.0.1:1');
    const none = { code: 'USAGE', hint: 'Give one, or get one first with getToken.' };
    expect(await refusalOf(conn.deleteToken(undefined))).toMatchObject({
      ...none,
      message: 'There is no token to delete.',
    });
    expect(await refusalOf(conn.checkToken())).toMatchObject({
      ...none,
      message: 'There is no token to check.',
    });
    expect(await refusalOf(conn.refreshToken())).toMatchObject({
      ...none,
      message: 'There is no token to refresh.',
    });
  });

  test.each([
    [
      '3.10.1',
      'This needs a secret, or a user name and password.',
      'This needs a user name and password: 3.x servers take nothing else here.',
    ],
    [
      '4.1.2',
      'This needs a secret, or a user name and password.',
      'This needs a login: user name and password, or a secret.',
    ],
  ])('when there is no login on %s', async (serverVersion, forToken, forSecrets) => {
    const conn = connectionAt('http://127.0.0.1:1', { ...MISSING, serverVersion });
    const refused = { code: 'USAGE', hint: 'Give a user name and a password.', option: 'password' };
    expect(await refusalOf(conn.getToken())).toMatchObject({ ...refused, message: forToken });
    expect(await refusalOf(conn.getSecrets())).toMatchObject({ ...refused, message: forSecrets });
  });

  test.each([
    ['4.0.0', false],
    ['4.0.2', false],
    ['4.1.1', false],
    ['4.1.2', true],
    ['4.2.0', true],
    ['4', true],
  ])(
    'unless a token logs in by itself, which it does from 4.1.2 on: %s, %j',
    async (serverVersion, logsIn) => {
      const logins: unknown[] = [];
      const url = await rawServer((request, response) => {
        logins.push(request.headers.authorization);
        response.end('{"error":false,"message":"","results":[]}');
      });
      const apiToken = `e30.${Buffer.from('{"exp":4000000000}').toString('base64url')}.x`;
      const listing = connectionAt(url, { ...MISSING, serverVersion, apiToken }).getSecrets();
      if (logsIn) expect(await listing).toEqual({});
      else expect(await refusalOf(listing)).toMatchObject({ code: 'USAGE', option: 'password' });
      expect(logins).toEqual(logsIn ? [`Bearer ${apiToken}`] : []);
    },
  );

  test('when there is no graph on 3.x', async () => {
    const conn = connectionAt('http://127.0.0.1:1', { graph: undefined });
    const refused = { code: 'USAGE', hint: 'Name one.', option: 'graph' };
    expect(await refusalOf(conn.getToken())).toMatchObject({
      ...refused,
      message: 'On a 3.x server a token by user name and password needs a graph.',
    });
    expect(await refusalOf(conn.getSecrets())).toMatchObject({
      ...refused,
      message: 'On a 3.x server every secret command needs a graph.',
    });
  });
});

test('only the first answer of a call may show another version, since after it something has changed', async () => {
  const asked: string[] = [];
  const url = await rawServer(async (request, response) => {
    const body = await text(request);
    asked.push(`${request.method} ${request.url} ${body}`);
    if (request.url?.endsWith('/version')) response.end('GSQL version: 3.10.1\n');
    else if (body.includes('one')) response.end('{"error":false,"message":"","results":{}}');
    else response.writeHead(405).end('<html>no</html>');
  });
  const conn = connectionAt(url, { serverVersion: 'auto', knownVersion: '4.1.2' });
  const { dropped, failed } = await conn.dropSecrets(['one', 'two']);
  expect(dropped).toEqual(['one']);
  expect(failed).toMatchObject({ alias: 'two', error: { code: 'BAD_RESPONSE', status: 405 } });
  expect(asked.map((line) => line.split(' ')[1])).toEqual(['/gsql/v1/secrets', '/gsql/v1/secrets']);
});

test('a check of a token whose answer is lost has done no harm', async () => {
  const url = await rawServer((request) => request.socket.destroy());
  for (const serverVersion of ['3.10.1', '4.1.2'])
    expect(await refusalOf(connectionAt(url, { serverVersion }).checkToken('t'.repeat(32)))).toMatchObject({
      code: 'NETWORK',
      ambiguous: false,
    });
});

test('a server that is not up when its version is asked for says why, and what would help', async () => {
  const url = await rawServer((_request, response) => response.writeHead(503).end('down for now'));
  const refused = await refusalOf(connectionAt(url, { serverVersion: 'auto' }).getSecrets());
  expect(refused).toMatchObject({
    code: 'SERVER_UNAVAILABLE',
    status: 503,
    serverText: 'down for now',
    hint: 'Try again in a minute, or wait for it. If you know its version, give it.',
    remedies: ['wait', 'give-version'],
  });
});

test('a question for the version whose answer is lost has changed nothing', async () => {
  const url = await rawServer((request, response) => {
    if (request.method === 'GET') response.writeHead(404).end();
    else request.socket.destroy();
  });
  const refused = await refusalOf(connectionAt(url, { serverVersion: 'auto' }).findVersion());
  expect(refused).toMatchObject({ code: 'NETWORK', ambiguous: false });
  expect(refused.message).not.toContain('taken effect');
});

test('a server that does not speak TLS is not understood better by its version', async () => {
  const url = await rawServer(() => {});
  const conn = connectionAt(url.replace('http:', 'https:'), { serverVersion: 'auto' });
  const refused = await refusalOf(conn.getSecrets());
  expect(refused).toMatchObject({ code: 'TLS', remedies: [] });
  expect(refused.hint).not.toContain('version');
});

test('a redirect in place of the version says to give it, and not to examine the server', async () => {
  const url = await rawServer((_request, response) => response.writeHead(302, { location: '/login' }).end());
  const refused = await refusalOf(connectionAt(url, { serverVersion: 'auto' }).getSecrets());
  expect(refused).toMatchObject({ code: 'BAD_RESPONSE', remedies: ['give-version'] });
});

test('a call that is cancelled while the version is asked for says nothing of the version', async () => {
  const controller = new AbortController();
  const url = await rawServer(() => controller.abort());
  const conn = connectionAt(url, { serverVersion: 'auto', signal: controller.signal });
  const refused = await refusalOf(conn.getSecrets());
  expect(refused).toMatchObject({ code: 'CANCELLED', remedies: [] });
  expect(refused.hint ?? '').not.toContain('version');
});

test('a token without an end has no text of the server about it', async () => {
  const url = await rawServer((_request, response) =>
    response.end(JSON.stringify({ error: false, token: 't'.repeat(32) })),
  );
  expect((await connectionAt(url).mintToken()).serverText).toBe('');
});

test('the name of the graph does not decide what an answer means', async () => {
  const url = await rawServer((_request, response) =>
    response.writeHead(400).end(JSON.stringify({ error: true, message: 'permission denied is unknown' })),
  );
  const codeOn = async (graph: string) =>
    (await refusalOf(connectionAt(url, { graph, serverVersion: '4.1.2' }).getSecrets())).code;
  expect(await codeOn('social')).toBe('PERMISSION_DENIED');
  expect(await codeOn('denied')).not.toBe('PERMISSION_DENIED');
});

test.each(['', '\n', ' \r\n'])('the answer %j to a statement is not an empty list', async (answer) => {
  const url = await rawServer((_request, response) => response.end(answer));
  expect(await refusalOf(connectionAt(url).getSecrets())).toMatchObject({
    code: 'BAD_RESPONSE',
    message: expect.stringContaining('the answer is empty'),
  });
});

test.each([
  'REST authentication is disabled',
  'RESTPP authentication is not enabled.',
  'rest authentication is off',
])('the sentence "%s" means that no token is needed', async (message) => {
  const url = await rawServer((_request, response) =>
    response.writeHead(400).end(JSON.stringify({ error: true, message })),
  );
  expect((await refusalOf(connectionAt(url).getToken())).code).toBe('REST_AUTH_DISABLED');
});

describe('a credential with characters between its letters that nobody sees', () => {
  const SECRET = 'correcthorsebattery';
  const shown = (between: number) =>
    withoutCredentials([...SECRET].join(String.fromCodePoint(between)), [new Sensitive(SECRET)]);
  const range = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index);

  test('is hidden', () => {
    const gaps = [
      ...range(0, 0x20),
      ...range(0x7f, 0xa0),
      0xad,
      0x1680,
      0x180e,
      ...range(0x2000, 0x200f),
      ...range(0x2028, 0x202f),
      ...range(0x205f, 0x206f),
      0x3000,
      0xfeff,
    ];
    const visible = gaps.filter((gap) => shown(gap) !== '[redacted]');
    expect(visible.map((gap) => gap.toString(16))).toEqual([]);
  });

  test('is another text when they can be seen', () => {
    for (const sign of [0x21, 0x7e, 0xa1, 0xae, 0x2010, 0x2030, 0x2070, 0x3001, 0xff01])
      expect(shown(sign), sign.toString(16)).not.toContain('[redacted]');
  });
});

test.each([
  ['License expired.', 'SERVER_ERROR'],
  ['Too many failed logins. Please re-login after 10 seconds.', 'AUTH_FAILED'],
  ['REST authentication is not enabled.', 'REST_AUTH_DISABLED'],
  ['Client certificate verification failed', 'TLS'],
])('a check on 4.x that the server refuses with "%s" says nothing about the token', async (message, code) => {
  const url = await rawServer((_request, response) =>
    response.writeHead(400).end(JSON.stringify({ error: true, message })),
  );
  const conn = connectionAt(url, { serverVersion: '4.1.2' });
  expect((await refusalOf(conn.checkToken('t'.repeat(32)))).code).toBe(code);
});

test('two credentials side by side are hidden as two', () => {
  expect(withoutCredentials('x hidden-1hidden-1 y', [new Sensitive('hidden-1')])).toBe(
    'x [redacted][redacted] y',
  );
});

describe('a 4.x server that may count a lifetime in milliseconds', () => {
  async function mint(lifetime: number, ...lives: number[]) {
    const asked: string[] = [];
    const deleted: string[] = [];
    const opened = {
      version: serverVersion('4', '4.1.2'),
      secretOr: () => undefined,
      protocol: {
        mintToken: async ({ lifetimeUnit }: { lifetimeUnit: string }) => {
          asked.push(lifetimeUnit);
          const grantedSeconds = lives.shift() ?? expect.fail('minted once too often');
          return { token: new Sensitive(`t${grantedSeconds}`), grantedSeconds };
        },
        deleteToken: async ({ value }: { value: Sensitive }) => deleted.push(value.reveal()),
      },
    } as unknown as Opened;
    const { token } = await mintToken(opened, { lifetime });
    return { token: token.reveal(), asked: asked.join(' '), deleted };
  }

  test.each([
    [86_400, 78, 77],
    [86_400, 95, 96],
    [20, 2, 3],
    [10_000, 12, 13],
    [8, 2, 3],
    [8, 1, 4],
  ])('is asked again when %i s became %i s, and not for %i s', async (asked, near, far) => {
    expect(await mint(asked, near, asked)).toEqual({ token: `t${asked}`, asked: 's ms', deleted: [] });
    expect(await mint(asked, far)).toEqual({ token: `t${far}`, asked: 's', deleted: [] });
  });

  test('is not asked again for a life that is too short to tell', async () => {
    expect(await mint(7, 2)).toEqual({ token: 't2', asked: 's', deleted: [] });
  });

  test('may double the life of the second token, and not more', async () => {
    expect(await mint(3600, 3, 7200)).toEqual({ token: 't7200', asked: 's ms', deleted: [] });
    expect(await mint(3600, 3, 7201)).toEqual({ token: 't3', asked: 's ms', deleted: ['t7201'] });
  });
});
