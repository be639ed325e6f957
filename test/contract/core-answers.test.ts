import { describe, expect, test } from 'vitest';
import type { ConnectionOptions } from '../../src/index.js';
import { answering, connectionAt, rawServer, refusalOf } from './core-support.js';

const SECRET = 's3cret0000000000000000000000wxyz';
const now = () => Math.floor(Date.now() / 1000);

/** Starts one server for both base URLs of a connection. Returns the connection and the requests. */
async function serving(answer: Parameters<typeof answering>[0], options: ConnectionOptions = {}) {
  const { url, asked } = await answering(answer);
  return { conn: connectionAt(url, options), asked };
}

const jwt = (claims: object) =>
  `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
const V4 = { serverVersion: '4.1.2' } as const;

test('a code of the server is shown in one line and without credentials', async () => {
  const token = jwt({ sub: 'ada', exp: 4_000_000_000 });
  for (const [code, shown] of [
    ['REST-1\u001b[31m\n2', 'REST-1 2'],
    [`REST ${token}`, 'REST [redacted]'],
  ]) {
    const { conn } = await serving(() => ({ status: 500, body: { error: true, code, message: 'no' } }), V4);
    expect((await refusalOf(conn.getSecrets())).serverCode).toBe(shown);
  }
});

describe('a token is checked', () => {
  test.each([{}, V4])(
    'an answer of a gateway before the servers says nothing about the token: %j',
    async (options) => {
      for (const status of [401, 403, 404]) {
        const { conn } = await serving(
          () => ({ status, body: { message: 'Missing Authentication Token' } }),
          options,
        );
        await expect(conn.checkToken('a-token')).rejects.toMatchObject({ status });
      }
    },
  );

  test.each([
    ['SERVER_ERROR', 500, 'disk full', V4],
    ['SERVER_ERROR', 404, 'no such endpoint', V4],
    ['SERVER_ERROR', 200, 'The service is restarting, try again later', V4],
    ['PERMISSION_DENIED', 403, 'Permission denied', {}],
  ])(
    'a refusal of something else says nothing about the token: %s (%i) %s',
    async (code, status, message, options) => {
      const { conn } = await serving(() => ({ status, body: { error: true, message } }), options);
      expect(await refusalOf(conn.checkToken('a-token'))).toMatchObject({ code, status });
    },
  );

  test('a token of another graph is a token that a 3.x server accepts', async () => {
    const message =
      'Access Denied: The input token belongs to graph sales, but it is attempting operations on global';
    const { conn } = await serving(() => ({ status: 403, body: { error: true, message } }));
    expect(await conn.checkToken('a-token')).toEqual({ accepted: true });
  });

  test.each([
    [{ code: 'REST-10018' }, { accepted: true }],
    [
      { code: 'REST-10019' },
      { accepted: false, refusal: { message: expect.stringContaining('it has expired.') } },
    ],
  ])('a refusal of a 3.x server with %j says of the token: %j', async (body, found) => {
    const { conn } = await serving(() => ({ status: 403, body: { error: true, ...body } }));
    expect(await conn.checkToken('a-token')).toMatchObject(found);
  });

  test('a 4.x server that refuses the login and one that refuses the token are told apart by their words', async () => {
    const refusing = async (message: string) =>
      (await serving(() => ({ status: 401, body: { error: true, message } }), V4)).conn.checkToken('a-token');
    expect(await refusing('Token is revoked.')).toMatchObject({
      accepted: false,
      refusal: { code: 'AUTH_FAILED', serverText: 'Token is revoked.' },
    });
    expect(await refusalOf(refusing('Who are you?'))).toMatchObject({ code: 'AUTH_FAILED' });
    const denied = refusing('You do not have permission to check this token.');
    expect(await refusalOf(denied)).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  test('a token refused without a word is refused all the same', async () => {
    const { conn } = await serving(() => ({ status: 401, body: { error: true, code: 'REST-10016' } }));
    const { accepted, refusal } = await conn.checkToken('a-token');
    expect(accepted).toBe(false);
    expect(refusal?.message).toMatch(/^http:\/\/127\.0\.0\.1:\d+ refused the token\.$/);
  });
});

test.each([
  ['4.1.2', 'permission denied', 'SERVER_ERROR'],
  ['4.1.2', 'ci', 'PERMISSION_DENIED'],
])(
  'the name of a secret is no part of the reason why it is not dropped on %s: %s',
  async (serverVersion, alias, code) => {
    const message = 'Permission denied, or not: permission denied'.slice(alias === 'ci' ? 0 : 26);
    const results = [{ alias, value: SECRET }];
    const { conn } = await serving(
      ({ line }) => ({
        body: line.startsWith('GET') ? { error: false, results } : { error: true, message },
      }),
      { serverVersion },
    );
    await expect(conn.dropSecret(alias)).rejects.toMatchObject({ code });
  },
);

test.each([
  ['at noon, correct-horse', 'at noon, [redacted]'],
  ['Fri  Dec 20 09:07:39.123456789 UTC 2024', 'Fri  Dec 20 09:07:39.123456789 UTC 2024'],
  [1_700_000_000, '1700000000'],
  [undefined, ''],
])('an expiry of 4.x that is %j is told as %j', async (expiration, told) => {
  const { conn } = await serving(() => ({ body: { error: false, token: 'a-token', expiration } }), V4);
  expect(await conn.getToken()).toEqual(['a-token', told]);
});

test.each([
  ['3.10.1', () => ({ token: 't'.repeat(32), expiration: now() - 60 })],
  ['4.1.2', () => ({ token: jwt({ exp: now() - 60, iat: now() }) })],
])('a token of %s that has ended when it comes has no life left', async (serverVersion, body) => {
  const { conn } = await serving(() => ({ body: { error: false, ...body() } }), { serverVersion });
  const { expiresAtUnix, grantedSeconds } = await conn.mintToken({ lifetime: 60 });
  expect(grantedSeconds).toBe(0);
  expect(expiresAtUnix).toBeLessThan(now());
});

test('a token that could not be deleted does not cost the one that is right', async () => {
  const { conn, asked } = await serving(({ line, body }) => {
    if (line !== 'POST /gsql/v1/tokens') return { status: 500, body: { error: true, message: 'disk full' } };
    const seconds = body.includes('"100000"') ? 100 : 100_000_000;
    return { body: { error: false, token: jwt({ iat: now() - 5, exp: now() + seconds }) } };
  }, V4);
  const { grantedSeconds } = await conn.mintToken({ lifetime: 100_000 });
  expect(Math.abs(grantedSeconds - 100)).toBeLessThan(5);
  expect(asked.map(({ line }) => line)).toContain('POST /gsql/v1/tokens/check');
});

test('a token that somebody else has deleted between check and deletion on 4.x is missing', async () => {
  const token = jwt({ iat: 1, exp: 9_999_999_999 });
  const body = { error: true, message: `The token '${token}' is invalid, please provide a valid one.` };
  const { conn } = await serving(
    ({ line }) => (line.startsWith('POST') ? { body: { error: false } } : { status: 400, body }),
    V4,
  );
  expect(await refusalOf(conn.deleteToken('', { token }))).toMatchObject({
    code: 'NOT_FOUND',
    option: 'skipNA',
  });
});

describe('what becomes of a secret', () => {
  test('an alias named twice is dropped once, and not missing', async () => {
    const { conn, asked } = await serving(({ body }) => ({
      body: body.includes('DROP')
        ? "Using graph 'demo'\nSuccessfully dropped secrets: [ci].\n"
        : "Using graph 'demo'\n__GSQL__RETURN__CODE__,0\n",
    }));
    expect(await conn.dropSecret(['ci', 'ci'])).toBe('Dropped: ci.');
    expect(asked.filter(({ body }) => body.includes('DROP'))).toHaveLength(1);
  });

  test('an internal error of a 4.x server is no drop, even if the alias is not in the list', async () => {
    const { conn } = await serving(
      ({ line }) =>
        line.startsWith('DELETE')
          ? { status: 500, body: { error: true, message: 'disk full' } }
          : { body: { error: false, results: [] } },
      V4,
    );
    expect(await refusalOf(conn.dropSecret('ci'))).toMatchObject({ code: 'SERVER_ERROR', status: 500 });
  });

  test('of two aliases with the mask of the new secret neither is named', async () => {
    const masked = 's3c****xyz';
    const { conn } = await serving(({ body }) => {
      if (body.includes('CREATE')) return { body: `Using graph 'demo'\nThe secret: ${SECRET}\n` };
      if (!body.includes('SHOW')) return { body: "Using graph 'demo'\n__GSQL__RETURN__CODE__,0\n" };
      const both = ['a', 'b'].map((alias) => `- Secret: ${masked}\n- Alias: ${alias}\n`).join('');
      return { body: `Using graph 'demo'\n${both}__GSQL__RETURN__CODE__,0\n` };
    });
    expect(await conn.createSecret('', { withAlias: true })).toEqual({ '': SECRET });
  });

  test('a graph that no answer has confirmed is tried alone before something is written', async () => {
    const { conn, asked } = await serving(({ body }) => {
      if (body.includes('CREATE')) return { body: `Using graph 'demo'\nThe secret: ${SECRET}\n` };
      if (!body.includes('SHOW')) return { body: "Using graph 'demo'\n" };
      return { body: '- Secret: abc****xyz\n- Alias: a\n__GSQL__RETURN__CODE__,0\n' };
    });
    await conn.getSecrets();
    await conn.createSecret('ci');
    expect(asked.map(({ body }) => body)[1]).toBe('USE+GRAPH+demo');
  });
});

describe('an answer that is not of the database', () => {
  test('a page with status 404 means that nothing was done, one with status 200 or 500 does not', async () => {
    for (const [status, ambiguous] of [
      [404, false],
      [200, true],
      [500, true],
    ] as const) {
      const { conn } = await serving(() => ({ status, body: '<html>nginx</html>' }));
      expect(await refusalOf(conn.getToken())).toMatchObject({ code: 'BAD_RESPONSE', ambiguous });
    }
  });

  test('an error page with status 500 is no sign of another version', async () => {
    const { conn, asked } = await serving(() => ({ status: 500, body: '<html>oops</html>' }), {
      serverVersion: 'auto',
      knownVersion: '3.10.1',
    });
    await refusalOf(conn.getSecrets());
    expect(asked.filter(({ line }) => line.includes('version'))).toEqual([]);
  });

  test('a mint whose answer was lost is not repeated, although the server has another version now', async () => {
    const { conn, asked } = await serving(
      ({ line }) => (line.includes('version') ? { body: 'GSQL version: 4.1.2\n' } : undefined),
      { serverVersion: 'auto', knownVersion: '3.10.1' },
    );
    expect(await refusalOf(conn.getToken())).toMatchObject({ code: 'NETWORK', ambiguous: true });
    expect(asked.map(({ line }) => line)).toEqual(['POST /requesttoken']);
  });
});

test('a call of one’s own is sent with the content type that it names', async () => {
  const types: unknown[] = [];
  const url = await rawServer((request, response) => {
    types.push(request.headers['content-type']);
    response.end('{}');
  });
  const conn = connectionAt(url);
  await conn.rest('POST', '/ddl', { body: 'a,b', headers: { 'Content-Type': 'text/csv' } });
  await conn.rest('POST', '/graph', { body: '{}' });
  await conn.rest('POST', '/graph');
  expect(types).toEqual(['text/csv', 'application/json', undefined]);
});

describe('options of a connection', () => {
  test('a time limit may be as long as timers can count', async () => {
    const { conn } = await serving(() => ({ body: '{}' }), { timeoutMs: 2 ** 31 - 1 });
    expect((await conn.rest('GET', '/a')).status).toBe(200);
  });

  test('an empty graph and an empty user name count as none', async () => {
    const token = { error: false, token: jwt({ iat: now() - 5, exp: now() + 3600 }) };
    const { conn, asked } = await serving(() => ({ body: token }), { ...V4, graph: '' });
    await conn.mintToken({ lifetime: 3600 });
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ lifetime: '3600' });
    const nobody = await serving(() => ({ body: token }), { username: '' });
    expect(await refusalOf(nobody.conn.getToken())).toMatchObject({ code: 'USAGE', option: 'username' });
    expect(nobody.asked).toEqual([]);
  });
});

test('a check of a token whose answer is lost has done no harm', async () => {
  const url = await rawServer((request) => request.socket.destroy());
  for (const serverVersion of ['3.10.1', '4.1.2'])
    expect(await refusalOf(connectionAt(url, { serverVersion }).checkToken('t'.repeat(32)))).toMatchObject({
      code: 'NETWORK',
      ambiguous: false,
    });
});

test('a token without an end has no text of the server about it', async () => {
  const url = await rawServer((_request, response) =>
    response.end(JSON.stringify({ error: false, token: 't'.repeat(32) })),
  );
  expect((await connectionAt(url).mintToken()).serverText).toBe('');
});

test.each([
  [{ message: 'License expired.' }, 'SERVER_ERROR'],
  [{ message: 'The token store is being loaded, try again later.' }, 'SERVER_ERROR'],
  [{ message: 'Too many failed logins. Please re-login after 10 seconds.' }, 'AUTH_FAILED'],
  [{ message: 'Endpoint is not found from url = /gsql/v1/tokens', code: 'REST-1000' }, 'REST_AUTH_DISABLED'],
  [{ message: 'Client certificate verification failed' }, 'TLS'],
])('a check on 4.x that the server refuses with "%j" says nothing about the token', async (fields, code) => {
  const url = await rawServer((_request, response) =>
    response.writeHead(400).end(JSON.stringify({ error: true, ...fields })),
  );
  const conn = connectionAt(url, { serverVersion: '4.1.2' });
  expect((await refusalOf(conn.checkToken('t'.repeat(32)))).code).toBe(code);
});
