import { describe, expect, test } from 'vitest';
import { masked } from '../../src/core/protocol/gsql.js';
import { BoundCredential, type ConnectionOptions, GraphConnection, Sensitive } from '../../src/index.js';
import { testSandbox } from '../helpers/sandbox.js';
import { answering, connectionAt, rawServer, refusalOf } from './core-support.js';

const SECRET = 's3cret0000000000000000000000wxyz';
const _ESC = String.fromCharCode(0x1b);
const now = () => Math.floor(Date.now() / 1000);

const at = (url: string, serverVersion: string, options: ConnectionOptions = {}) =>
  connectionAt(url, { serverVersion, ...options });

/** Starts a server that gives these answers in turn, and records method and path of each request. It has the graph demo. */
async function script(...answers: [status: number, body: string, headers?: Record<string, string>][]) {
  const asked: string[] = [];
  const { url } = await answering(({ line, body: sent }) => {
    if (sent === 'USE+GRAPH+demo') return { body: "Using graph 'demo'\n" };
    asked.push(line);
    const [status, body, headers] = answers[Math.min(asked.length, answers.length) - 1] ?? [500, ''];
    return { status, body, headers };
  });
  return { url, asked };
}

const jwt = (payload: unknown) =>
  `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.c2lnbmF0dXJl`;

describe.each(['3.2.0', '3.10.1', '4.1.2'])('a mint on %s,', (version) => {
  test.each([
    ['nothing', ''],
    ['half an object', '{"error":false,"token":"abc'],
    ['a token with a line break', '{"error":false,"token":"abc\\r\\nX-Evil: 1"}'],
    ['a token beyond measure', `{"error":false,"token":"${'a'.repeat(20_000)}"}`],
    ['an error flag of a third kind', '{"error":{"a":1},"token":"abcdefgh"}'],
  ])('if answered with %s is BAD_RESPONSE', async (_name, body) => {
    const { url, asked } = await script([200, body]);
    const refused = await refusalOf(at(url, version).getToken({ secret: SECRET }));
    expect(refused).toMatchObject({ code: 'BAD_RESPONSE', ambiguous: true });
    expect(asked.length).toBe(1);
  });

  test.each(['true', '"true"'])('if answered with "error":%s and status 200 is a refusal', async (flag) => {
    const { url } = await script([200, `{"error":${flag},"message":"No, thanks.","token":"abcdefgh"}`]);
    const refused = await refusalOf(at(url, version).getToken({ secret: SECRET }));
    expect(refused).toMatchObject({ code: 'SERVER_ERROR', serverText: 'No, thanks.', status: 200 });
  });

  test('if answered with an error status is a refusal, whatever the error flag says', async () => {
    const { url } = await script([500, '{"error":false,"token":"abcdefgh"}']);
    const refused = await refusalOf(at(url, version).getToken({ secret: SECRET }));
    expect(refused).toMatchObject({ code: 'SERVER_ERROR', status: 500 });
  });

  test.each(['false', '"false"', '""'])('if answered with "error":%s is a success', async (flag) => {
    const { url } = await script([200, `{"error":${flag},"token":"abcdefgh"}`]);
    expect((await at(url, version).getToken({ secret: SECRET }))[0]).toBe('abcdefgh');
  });

  test('finds the token under results too', async () => {
    for (const results of ['{"token":"abcdefgh"}', '[{"token":"abcdefgh"}]']) {
      const { url } = await script([200, `{"error":false,"results":${results}}`]);
      expect((await at(url, version).getToken({ secret: SECRET }))[0]).toBe('abcdefgh');
    }
  });

  test('reads JSON with raw line breaks inside texts', async () => {
    const { url } = await script([200, '{"error":false,"message":"a\nb\tc","token":"abcdefgh"}']);
    expect((await at(url, version).getToken({ secret: SECRET }))[0]).toBe('abcdefgh');
  });

  // holds: C5.1
  test('without an expiry in the answer counts the requested lifetime from the server’s time', async () => {
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    for (const expiration of ['"soon"', '-1', 'null', '1e300', '{}']) {
      const { url } = await script([
        200,
        `{"error":false,"token":"abcdefgh","expiration":${expiration}}`,
        { date },
      ]);
      const minted = await at(url, version).mintToken({ secret: SECRET, lifetime: 900 });
      expect(minted.serverTimeUnix).toBe(Date.parse(date) / 1000);
      expect(minted.expiresAtUnix).toBe(minted.serverTimeUnix + 900);
      expect(minted.grantedSeconds).toBe(900);
    }
  });

  test('a Date header that is no date is ignored, and this machine’s clock is used', async () => {
    const { url } = await script([200, '{"error":false,"token":"abcdefgh"}', { date: 'yesterday' }]);
    const minted = await at(url, version).mintToken({ secret: SECRET });
    expect(Math.abs(minted.serverTimeUnix - now())).toBeLessThan(10);
  });
});

describe('the expiry of a token', () => {
  // holds: C5.1
  test('on 3.x a small number counts from now, and a large one is Unix time', async () => {
    for (const [expiration, end] of [
      ['900', 900],
      [String(now() + 700), 700],
    ] as const) {
      const { url } = await script([200, `{"error":false,"token":"abcdefgh","expiration":${expiration}}`]);
      const minted = await at(url, '3.10.1').mintToken({ secret: SECRET });
      expect(Math.abs(minted.expiresAtUnix - now() - end)).toBeLessThan(10);
    }
  });

  // holds: C5.1
  test('on 4.x it is the JWT’s exp, and the granted life counts from its time of issue', async () => {
    const token = jwt({ iat: now() - 5, exp: now() + 900 });
    const { url } = await script([
      200,
      JSON.stringify({ error: false, token, expiration: 'Fri Dec 20 09:07:39 UTC 2024' }),
    ]);
    const minted = await at(url, '4.1.2').mintToken({ secret: SECRET });
    expect(minted).toMatchObject({ grantedSeconds: 900, serverText: 'Fri Dec 20 09:07:39 UTC 2024' });
  });

  test.each([
    ['text', { exp: 'soon' }],
    ['milliseconds', { exp: 1_900_000_000_000 }],
    ['missing', { iat: 1 }],
    ['no object', 7],
  ])('on 4.x an exp that is %s is ignored', async (_name, payload) => {
    const { url } = await script([200, JSON.stringify({ error: false, token: jwt(payload) })]);
    const minted = await at(url, '4.1.2').mintToken({ secret: SECRET, lifetime: 900 });
    expect(minted.expiresAtUnix).toBe(minted.serverTimeUnix + 900);
  });
});

describe('refusals by code and message', () => {
  test.each([
    [429, '7', 7],
    [503, '0', 0],
    [503, 'soon', undefined],
  ])('HTTP %i with Retry-After: %s says when to come back', async (status, after, retryAfterSeconds) => {
    const { url } = await script([status, '', { 'retry-after': after }]);
    expect(await refusalOf(at(url, '4.1.2').ping())).toMatchObject({
      code: 'SERVER_UNAVAILABLE',
      retryAfterSeconds,
    });
  });

  test.each([
    ['REST-10016', 403, "Access Denied because the input token = '' is empty or too short", 'AUTH_FAILED'],
    ['REST-10016', 200, "Access Denied because the input token = 'x' is invalid.", 'AUTH_FAILED'],
    ['REST-10018', 401, 'no', 'PERMISSION_DENIED'],
    ['REST-10019', 403, 'no', 'AUTH_FAILED'],
  ])('a raw call refused with %s and HTTP %i is an error', async (code, status, message, expected) => {
    const { url } = await script([status, JSON.stringify({ error: true, code, message })]);
    const conn = at(url, '3.10.1', { apiToken: 'abcdefgh' });
    expect(await refusalOf(conn.rest('GET', '/echo'))).toMatchObject({
      code: expected,
      serverCode: code,
      status,
    });
  });

  test('a raw call with any other status returns the answer unchanged, without cookies', async () => {
    const cookie = '{"auth":"Basic Zm9vOmJhcg=="}';
    const body = `Using graph 'demo'\n__GSQL__COOKIES__,${cookie}\n__GSQL__RETURN__CODE__,0\n`;
    const { url } = await script([
      418,
      body,
      { 'x-a': 'b', 'set-cookie': cookie, 'set-gsql-cookie': cookie },
    ]);
    for (const server of ['rest', 'service'] as const) {
      const reply = await at(url, '3.10.1', { apiToken: 'abcdefgh' })[server]('POST', '/x', { body: '{}' });
      expect(reply).toMatchObject({ status: 418, headers: { 'x-a': 'b' } });
      expect(JSON.stringify(reply)).not.toContain('Zm9v');
      expect(reply.body).toContain('__GSQL__RETURN__CODE__,0');
    }
  });
});

describe('lists of secrets on 4.x', () => {
  // holds: C6.2
  test('are masked, whatever the length of the values', async () => {
    const results = [
      { alias: 'long', value: SECRET },
      { alias: 'short', value: 'abcdefghijk' },
      { alias: 'masked', value: 's00****001' },
      { alias: '__proto__', value: SECRET },
    ];
    const { url } = await script([200, JSON.stringify({ error: false, results })]);
    const secrets = await at(url, '4.1.2').getSecrets();
    expect(Object.entries(secrets)).toEqual([
      ['long', 's3c****xyz'],
      ['short', '****'],
      ['masked', 's00****001'],
      ['__proto__', 's3c****xyz'],
    ]);
  });

  test.each([
    '[{"alias":1,"value":"x"}]',
    '[null]',
    '"x"',
    '[{"alias":"a"}]',
    '[{"alias":"a","value":"b c"}]',
  ])('with results %s are BAD_RESPONSE', async (results) => {
    const { url } = await script([200, `{"error":false,"results":${results}}`]);
    expect((await refusalOf(at(url, '4.1.2').getSecrets())).code).toBe('BAD_RESPONSE');
  });
});

test('on 4.x an alias that is still listed after a refusal is not reported as missing', async () => {
  const { url } = await script(
    [404, '{"error":true,"message":"Failed to drop secrets: [ci]."}'],
    [200, JSON.stringify({ error: false, results: [{ alias: 'ci', value: SECRET }] })],
  );
  expect((await refusalOf(at(url, '4.1.2').dropSecret('ci'))).code).toBe('SERVER_ERROR');
});

describe('statements on 3.x', () => {
  const LISTED =
    '    - Secret: s00****001\n      - Alias: my-alias\n    - Secret: s00****002\n      - Alias: a;b\n';

  test('name an alias that is no identifier only if it is listed exactly so', async () => {
    const listed = await script([200, LISTED], [200, 'Successfully dropped secrets: [my-alias].\n']);
    expect(await at(listed.url, '3.10.1').dropSecret('my-alias')).toBe('Dropped: my-alias.');
    for (const alias of ['my-alias2', 'ci; DROP ALL', 'ci\nDROP ALL', "'ci'"]) {
      const unlisted = await script([200, LISTED]);
      expect(await at(unlisted.url, '3.10.1').dropSecret(alias)).toContain('no such secret');
      expect(unlisted.asked.length).toBe(1);
    }
  });

  test('do not report an alias as missing that is still listed after a refusal', async () => {
    const { url } = await script(
      [200, 'Failed to drop secrets: [ci].\n'],
      [200, '    - Secret: s00****001\n      - Alias: ci\n'],
    );
    expect((await refusalOf(at(url, '3.10.1').dropSecret('ci'))).code).toBe('SERVER_ERROR');
  });
});

test('an alias that no server accepts is refused before anything is sent', async () => {
  const { url, asked } = await script([200, '']);
  expect((await refusalOf(at(url, 'auto').createSecret('a-b'))).code).toBe('USAGE');
  expect((await refusalOf(at(url, 'auto').dropSecret(['a', '']))).code).toBe('USAGE');
  expect(asked).toEqual([]);
});

describe('the search for the version', () => {
  const answers = (lines: string[]) =>
    script(...lines.map((line) => [Number(line.slice(0, 3)), line.slice(4)] as [number, string]));

  test.each([
    ['4.x by number', '4', '4.2.2', '200 GSQL version: 4.2.2\nGSQL commit number: x\n'],
    ['4.x without a colon', '4', '4.2.5', '200 GSQL version 4.2.5\n'],
    ['4.x that wants a login', '4', '4', '401'],
    ['4.x that wants a login, by 403', '4', '4', '403 {"error":true}'],
    ['4.x by name', '4', '4', '200 GSQL version: GLE-7162\n'],
    ['3.x by a web page first', '3.0', '3.4.0', '200 <html></html>', '200 GSQL version: 3.4.0\n'],
    ['4.0 at the old path', '4', '4.0.0', '404', '200 GSQL version: 4.0.0\n'],
  ])('%s', async (_name, generation, version, ...lines) => {
    const { url } = await answers(lines);
    expect(await at(url, 'auto').findVersion()).toMatchObject({ generation, version });
  });

  test.each([
    ['404', '404'],
    ['404', '401'],
    ['200 <html>GSQL version: 4.2.2</html>', '200 <html>GSQL version: 3.9.3</html>'],
    ['404', '200 GSQL version: 2.6.0'],
  ])('%j and %j are UNSUPPORTED and lead to --server-version', async (...lines) => {
    const { url, asked } = await answers(lines);
    const refused = await refusalOf(at(url, 'auto').findVersion());
    expect(refused).toMatchObject({ code: 'UNSUPPORTED', option: 'serverVersion' });
    expect(asked.length).toBe(lines.length);
  });

  test('does not treat a server that is starting as unknown, and asks again', async () => {
    const { url } = await script(
      [502, '<html><title>Starting workspace</title></html>'],
      [200, 'GSQL version: 4.1.2'],
    );
    const conn = at(url, 'auto');
    expect((await refusalOf(conn.getSecrets())).code).toBe('SERVER_UNAVAILABLE');
    expect((await conn.findVersion()).version).toBe('4.1.2');
  });

  // holds: C3.10, C10.4
  test('sends no credential, and none is sent after it failed', async () => {
    const logins: unknown[] = [];
    const url = await rawServer((request, response) => {
      logins.push(request.headers.authorization, request.headers.cookie);
      response.writeHead(404).end();
    });
    await refusalOf(at(url, 'auto').getToken({ secret: SECRET }));
    expect(logins).toEqual([undefined, undefined, undefined, undefined]);
  });

  test('sends nothing if the version is set or known', async () => {
    const { url, asked } = await script([500, '']);
    expect(await at(url, '3').findVersion()).toMatchObject({ generation: '3.5', version: '3' });
    expect(await at(url, 'auto', { knownVersion: '3.10.1' }).findVersion()).toMatchObject({
      generation: '3.5',
      version: '3.10.1',
    });
    expect(await at(url, '4.2', { knownVersion: '3.2.0' }).findVersion()).toMatchObject({
      generation: '4',
      version: '4.2',
    });
    expect(() => at(url, 'new')).toThrow(expect.objectContaining({ code: 'USAGE' }));
    expect(asked).toEqual([]);
  });

  // holds: C10.5
  test('asks a server again that was one of those that take a token in the URL', async () => {
    const sandbox = await testSandbox({ serverVersion: '3.10.1' });
    const { gsqlUrl, restUrl } = sandbox;
    const conn = new GraphConnection({ gsqlUrl, restUrl, knownVersion: '3.4.0', secret: SECRET });
    await refusalOf(conn.renewToken({ token: 't0ken' }));
    expect(sandbox.requests.map(({ query }) => query)).toEqual([{}, {}, {}]);
  });
});

test('a connection shows no credential when printed', async () => {
  const { inspect } = await import('node:util');
  const conn = at('http://127.0.0.1:1', '4.1.2', { apiToken: 'tok-visible', secret: SECRET });
  const shown =
    inspect(conn, { depth: 9, showHidden: true, getters: false }) + JSON.stringify(conn) + String(conn);
  expect(shown).not.toMatch(/tok-visible|correct-horse|s3cret/);
  expect(conn.apiToken).toBe('tok-visible');
});

test('a credential is printed as [redacted] in a text, in JSON and by inspect', async () => {
  const { inspect } = await import('node:util');
  const plain = new Sensitive('canary-canary');
  const bound = new BoundCredential(plain, { restUrl: 'http://a', gsqlUrl: 'http://b' });
  for (const one of [plain, bound]) {
    expect(`${one}`).toBe('[redacted]');
    expect(one.toJSON()).toBe('[redacted]');
    expect(JSON.stringify({ one })).toBe('{"one":"[redacted]"}');
    expect(inspect(one)).toBe('[redacted]');
    const deep = { one, error: new Error('x', { cause: one }), entries: Object.entries(one) };
    expect(inspect({ deep }, { depth: 9, showHidden: true })).not.toContain('canary');
  }
});

test('REST authentication is off only if the echo endpoint itself answers without a token', async () => {
  for (const [status, body, expected] of [
    [200, '<html><body>Welcome</body></html>', 'unknown'],
    [200, '{"hello":"there","error":true}', 'unknown'],
    [200, '{"error":false,"message":"Hello GSQL"}', 'off'],
    [200, '{"error":true,"code":"REST-10016","message":"no"}', 'on'],
    [403, '', 'on'],
  ] as const) {
    const { url } = await script([status, body]);
    expect(await at(url, '3.10.1').restAuthentication()).toBe(expected);
  }
});

describe('a text of the server', () => {
  test('is shown without credentials of the connection that were not sent', async () => {
    const { url } = await script([
      401,
      '{"error":true,"code":"REST-10016","message":"ada has correct-horse"}',
    ]);
    const refused = await refusalOf(at(url, '3.10.1', { apiToken: 'abcd1234abcd1234' }).rest('GET', '/echo'));
    expect(refused.serverText).toBe('ada has [redacted]');
  });

  test('is shown without the session cookie, which contains the login', async () => {
    const cookie = '__GSQL__COOKIES__,{"clientCommit":"canary"}';
    for (const [text, shown] of [
      [`${cookie}\nhello\n`, 'hello\n'],
      [`hello\r\n${cookie}\r\n${cookie}\r\nworld`, 'hello\r\nworld'],
      [`hello\n${cookie}`, 'hello\n'],
    ] as const) {
      const { url } = await script([200, text]);
      expect((await at(url, '3.10.1').service('GET', '/x')).body).toBe(shown);
    }
  });
});

test('a mask from the server is used only if it shows at most four characters at each end', () => {
  for (const mask of ['abc****xyz', '****', 'abcd****wxyz']) expect(masked(mask)).toBe(mask);
  expect(masked('abcdefghijklmno*')).toBe('abc****no*');
  expect(masked('abcdefgh****ijklmnop')).toBe('abc****nop');
});
