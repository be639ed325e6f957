import { describe, expect, it } from 'vitest';
import { defined } from '../helpers/defined.js';
import { basic, LOGIN, NOW, raw, SECRET, start } from './sandbox-raw.js';

/**
 * The request sequences of programs made for the real servers, with their method, path, query, body and login, and with their way of reading each
 * answer. Each function `read…` below reads an answer as one client does.
 */

interface TokenAnswer {
  error: boolean;
  message: string;
  code?: string;
  token?: string;
  expiration?: number | string;
  results?: { token: string };
}
const parse = (text: string) => JSON.parse(text) as TokenAnswer;

const TOKEN_3 = /^[a-z0-9]{32}$/;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const AGENT = { 'X-User-Agent': 'pyTigerGraph', Accept: '*/*', 'User-Agent': 'python-requests/2.32.3' };
const EPOCH = NOW + 2_592_000;

/** Reads a list of secrets as pyTigerGraph does: a line `- Secret`, then a line `- Alias`. */
function readSecrets(answer: string): Record<string, string> {
  const lines = answer.split('\n').filter((line) => !line.startsWith('__GSQL__'));
  const found: Record<string, string> = {};
  lines.forEach((line, i) => {
    const next = lines[i + 1] ?? '';
    if (line.includes('- Secret') && next.includes('- Alias'))
      found[defined(next.split(': ')[1])] = defined(line.split(': ')[1]);
  });
  return found;
}

/** Reads a created secret as pyTigerGraph does: from `The secret: ` to the next blank. */
function readCreated(answer: string): string {
  return defined(defined(answer.replaceAll('\n', '').split('The secret: ')[1]).split(' ')[0]);
}

/** Reads /version as pyTigerGraph does: the components are in the fourth line to the last but one. */
function readProduct(answer: string): string {
  const message = (JSON.parse(answer.replaceAll('\n', '\\n')) as { message: string }).message;
  const lines = message.split('\n');
  const components = lines.slice(3, -1).map((line) => line.split(/\s+/));
  for (const component of components) expect(component).toHaveLength(6);
  const product = defined(defined(components.find(([name]) => name === 'product'))[1]);
  return defined(/_.+_/.exec(product))[0].slice(1, -1);
}

describe('pyTigerGraph 0.9 to 1.5', () => {
  it('sends query strings if it knows that the version is below 3.5', async () => {
    const sandbox = await start({ serverVersion: '3.2.0' });
    const query = `secret=${SECRET}&lifetime=1000`;
    const got = parse((await raw(sandbox.restUrl, `GET /requesttoken?${query}`)).body);
    expect([got.error, got.expiration]).toEqual([false, NOW + 1000]);
    expect(got.token).toMatch(TOKEN_3);

    const refreshed = parse(
      (await raw(sandbox.restUrl, `PUT /requesttoken?secret=${SECRET}&token=${got.token}&lifetime=2000`))
        .body,
    );
    // The client reads this as a number of seconds from now.
    expect(refreshed).toMatchObject({ error: false, token: got.token, expiration: 2000 });

    const drop = `DELETE /requesttoken?secret=${SECRET}&token=${got.token}`;
    expect(parse((await raw(sandbox.restUrl, drop)).body).error).toBe(false);
    // The recorded refusal has no code. `skipNA` looks for one, so it has an effect only with the older assumed text.
    const again = parse((await raw(sandbox.restUrl, drop)).body);
    expect([again.error, again.code]).toEqual([true, undefined]);
    await raw(sandbox.restUrl, 'POST /__sandbox/texts', {}, '{"unknownToken3":"old"}');
    expect(parse((await raw(sandbox.restUrl, drop)).body)).toMatchObject({ error: true, code: 'REST-3300' });
  });

  it('tries POST if it does not know the version, after GET fails with readable JSON', async () => {
    const sandbox = await start({ serverVersion: '3.10.1' });
    const first = parse(
      (await raw(sandbox.restUrl, `GET /requesttoken?secret=${SECRET}&lifetime=1000`)).body,
    );
    expect(first.error).toBe(true);
    const second = parse(
      (await raw(sandbox.restUrl, 'POST /requesttoken', {}, `{"secret": "${SECRET}", "lifetime": "1000"}`))
        .body,
    );
    expect([second.error, second.expiration]).toEqual([false, NOW + 1000]);
    expect(second.token).toMatch(TOKEN_3);
  });
});

describe('pyTigerDriver, under pyTigerGraph up to 1.4', () => {
  const COMMIT = 'e9d3c5d98e7229118309f6d4bbc9446bad7c4c3d';
  const headers = {
    'Content-Language': 'en-US',
    Pragma: 'no-cache',
    'Cache-Control': 'no-cache',
    'Content-Type': 'application/x-www-form-urlencoded',
    'User-Agent': 'Java/1.8.0',
  };

  it('logs in with URL-encoded base64, then sends each line as a command', async () => {
    const sandbox = await start({ serverVersion: '3.2.0' });
    const encoded = encodeURIComponent(LOGIN.Authorization.slice('Basic '.length));
    const login = await raw(
      sandbox.gsqlUrl,
      'POST /gsqlserver/gsql/login',
      { ...headers, Cookie: `{"clientCommit": "${COMMIT}"}` },
      encoded,
    );
    expect(JSON.parse(login.body)).toMatchObject({ error: false, isClientCompatible: true });
    const session = String(login.headers['set-cookie']?.[0]);

    const command = (line: string, cookie: unknown) =>
      raw(
        sandbox.gsqlUrl,
        'POST /gsqlserver/gsql/command',
        { ...headers, ...LOGIN, Cookie: JSON.stringify(cookie) },
        encodeURIComponent(line).replaceAll('%20', '+'),
      );
    const used = await command('USE GRAPH demo_graph', { fromGsqlClient: true, sessionId: session });
    const cookie = defined(defined(/^__GSQL__COOKIES__,(.*)$/m.exec(used.body))[1]);
    const { graph, sessionId } = JSON.parse(cookie) as { graph: string; sessionId: string };
    const created = await command('CREATE SECRET ci', { fromGsqlClient: true, sessionId, graph });
    expect(created.body.trim().split(' ')[2]).toMatch(TOKEN_3);
  });

  it('reads the tokens below each secret', async () => {
    const sandbox = await start({ serverVersion: '3.9.3' });
    const minted = parse(
      (await raw(sandbox.restUrl, 'POST /requesttoken', {}, `{"secret":"${SECRET}","lifetime":"3600"}`)).body,
    );
    const shown = await raw(
      sandbox.gsqlUrl,
      'POST /gsqlserver/gsql/file',
      LOGIN,
      'USE GRAPH demo_graph\nSHOW SECRET',
    );
    const [, token, end] = defined(/- Token: ([^ ]+) expire at: (.+)/.exec(shown.body));
    expect([token, end]).toEqual([minted.token, '2023-11-14 23:13:20']);
    expect(readSecrets(shown.body)).toEqual({ demo_alias: 's00****001' });
  });

  it('recognizes a wrong password by the message of the login', async () => {
    const sandbox = await start({ serverVersion: '3.2.0' });
    const reply = await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/login', headers, 'ZGVtb191c2VyOndyb25n');
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.body)).toMatchObject({ error: true, isClientCompatible: true });
    expect(reply.body).toContain('Wrong password!');
  });
});

describe('pyTigerGraph 1.6', () => {
  it('reads a token by password from results, after sending single-quoted pseudo-JSON', async () => {
    const sandbox = await start({ serverVersion: '3.9.3' });
    const reply = await raw(
      sandbox.restUrl,
      'POST /requesttoken',
      { ...LOGIN, ...AGENT },
      "{'graph': 'demo_graph'}",
    );
    expect(reply.status).toBe(200);
    const answer = parse(reply.body);
    expect(answer.error).toBe(false);
    expect(defined(answer.results).token).toMatch(TOKEN_3);
  });

  it('refreshes with POST (up to 1.6.2: a new token), then with PUT, and deletes in JSON', async () => {
    const sandbox = await start({ serverVersion: '3.9.3' });
    const call = async (method: string, body: string) =>
      parse((await raw(sandbox.restUrl, `${method} /requesttoken`, {}, body)).body);
    const { token } = await call('POST', `{"secret": "${SECRET}"}`);
    const again = await call('POST', `{"secret": "${SECRET}", "token": "${token}", "lifetime": "900"}`);
    expect([again.error, again.expiration]).toEqual([false, NOW + 900]);
    expect(again.token).not.toBe(token);
    const refreshed = await call('PUT', `{"secret": "${SECRET}", "token": "${token}", "lifetime": "900"}`);
    expect(refreshed).toMatchObject({ error: false, token, expiration: NOW + 900 });
    const drop = `{"secret": "${SECRET}", "token": "${token}"}`;
    expect((await call('DELETE', drop)).error).toBe(false);
    expect(await call('DELETE', drop)).toMatchObject({ error: true });
  });

  it('manages secrets in GSQL, with several statements in one text', async () => {
    const sandbox = await start({ serverVersion: '3.9.3' });
    const gsql = async (text: string) =>
      (
        await raw(
          sandbox.gsqlUrl,
          'POST /gsqlserver/gsql/file',
          { ...LOGIN, ...AGENT },
          encodeURIComponent(text).replaceAll('%20', '+'),
        )
      ).body;
    const created = await gsql('\n            USE GRAPH demo_graph\n            CREATE SECRET ci ');
    const secret = readCreated(created);
    expect(secret).toMatch(TOKEN_3);
    const unnamed = readCreated(
      await gsql('\n            USE GRAPH demo_graph\n            CREATE SECRET  '),
    );
    const listed = readSecrets(await gsql('\n            USE GRAPH demo_graph\n            SHOW SECRET'));
    const masked = (value: string) => `${value.slice(0, 3)}****${value.slice(-3)}`;
    expect(listed.ci).toBe(masked(secret));
    const [alias] = defined(Object.entries(listed).find(([, value]) => value === masked(unnamed)));
    expect(alias).toMatch(/^AUTO_GENERATED_ALIAS_[a-z0-9]{7}$/);

    expect(await gsql('\n  USE GRAPH demo_graph\n  CREATE SECRET ci ')).toContain('already exists');
    const drop = await gsql(`\n   USE GRAPH demo_graph\n   DROP SECRET ci\n   DROP SECRET ${alias}`);
    expect(drop).toContain('Successfully dropped secrets');
    expect(drop).not.toContain('Failed to drop secrets');
    expect(await gsql('\n   USE GRAPH demo_graph\n   DROP SECRET ci')).toContain('Failed to drop secrets');
  });
});

describe('pyTigerGraph 1.7', () => {
  it('1.7.0 on 4.x gets a token with one request', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    const reply = await raw(
      sandbox.gsqlUrl,
      'POST /gsql/v1/tokens',
      AGENT,
      `{"secret": "${SECRET}", "graph": "demo_graph", "lifetime": "1000"}`,
    );
    expect(reply.status).toBe(200);
    expect(parse(reply.body).token).toMatch(JWT);
    const wrong = await raw(
      sandbox.gsqlUrl,
      'POST /gsql/v1/tokens',
      AGENT,
      `{"secret": "${SECRET}", "graph": "nowhere"}`,
    );
    // With 400 the client would report a wrong graph name. After the recorded 404 it tries the old path.
    expect(wrong.status).toBe(404);
  });

  it('1.7.0 on 3.x gets a 404, and then uses the old path', async () => {
    const old = await start({ serverVersion: '3.2.0' });
    const asked = `{"secret": "${SECRET}", "graph": "demo_graph"}`;
    expect((await raw(old.gsqlUrl, 'POST /gsql/v1/tokens', AGENT, asked)).status).toBe(404);
    const bySecret = parse((await raw(old.restUrl, `GET /requesttoken?secret=${SECRET}`, AGENT)).body);
    expect([bySecret.error, bySecret.expiration]).toEqual([false, EPOCH]);
    expect(bySecret.token).toMatch(TOKEN_3);

    const newer = await start({ serverVersion: '3.10.1' });
    const headers = { ...LOGIN, ...AGENT };
    expect(
      (await raw(newer.gsqlUrl, 'POST /gsql/v1/tokens', headers, '{"graph": "demo_graph"}')).status,
    ).toBe(404);
    const byPassword = parse(
      (await raw(newer.restUrl, 'POST /requesttoken', headers, "{'graph': 'demo_graph'}")).body,
    );
    expect(defined(byPassword.results).token).toMatch(TOKEN_3);
  });

  it('1.7.4 on 4.x finds port 9000 closed, uses /restpp, and deletes without a login', async () => {
    const users = [{ name: 'tigergraph', password: 'tigergraph', role: 'superuser' as const }];
    const sandbox = await start({ serverVersion: '4.1.2', users, secrets: [] });
    const closed = await start({ serverVersion: '4.1.2' });
    const port = closed.gsqlUrl;
    await closed.close();
    await expect(raw(port, 'POST /requesttoken', AGENT)).rejects.toThrow('ECONNREFUSED');

    const headers = { Authorization: basic('tigergraph', 'tigergraph'), ...AGENT };
    const minted = await raw(
      sandbox.gsqlUrl,
      'POST /restpp/requesttoken',
      headers,
      "{'graph': 'demo_graph', 'lifetime': '500'}",
    );
    expect(minted.status).toBe(200);
    const { token, expiration } = parse(minted.body);
    expect(token).toMatch(JWT);
    expect(expiration).toBeUndefined();
    const dropped = await raw(
      sandbox.gsqlUrl,
      'DELETE /gsql/v1/tokens',
      { ...AGENT, 'Content-Type': 'application/json' },
      JSON.stringify({ tokens: token }),
    );
    expect([dropped.status, parse(dropped.body).error]).toEqual([200, false]);
  });

  it('sends GSQL to /gsql/v1/statements, and after a 404 to /gsqlserver/gsql/file', async () => {
    for (const serverVersion of ['3.10.1', '4.1.2']) {
      const sandbox = await start({ serverVersion });
      const text = '\n   USE GRAPH demo_graph\n   CREATE SECRET ci ';
      let reply = await raw(
        sandbox.gsqlUrl,
        'POST /gsql/v1/statements',
        { ...LOGIN, ...AGENT, 'Content-Type': 'text/plain' },
        text,
      );
      if (reply.status === 404) {
        const body = encodeURIComponent(text).replaceAll('%20', '+');
        reply = await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/file', { ...LOGIN, ...AGENT }, body);
      }
      expect(reply.status).toBe(200);
      expect(readCreated(reply.body)).toMatch(TOKEN_3);
    }
  });
});

describe('pyTigerGraph 1.8 to 2.0', () => {
  const request = `{"secret": "${SECRET}", "lifetime": "1000"}`;

  it('requests a token at /requesttoken on 3.x, and reads the expiry as a number', async () => {
    for (const serverVersion of ['3.5.0', '3.9.3', '3.10.1', '3.11.0']) {
      const sandbox = await start({ serverVersion });
      const bySecret = parse((await raw(sandbox.restUrl, 'POST /requesttoken', AGENT, request)).body);
      expect((bySecret.results ?? bySecret).token).toMatch(TOKEN_3);
      expect(Number(bySecret.expiration)).toBe(NOW + 1000);
      const byPassword = parse(
        (await raw(sandbox.restUrl, 'POST /requesttoken', { ...LOGIN, ...AGENT }, '{"graph": "demo_graph"}'))
          .body,
      );
      expect((byPassword.results ?? byPassword).token).toMatch(TOKEN_3);
      expect(Number(byPassword.expiration)).toBe(EPOCH);
    }
  });

  it('requests a token on 4.x, whether or not the old path exists', async () => {
    const served = await start({ serverVersion: '4.1.2' });
    const first = parse((await raw(served.gsqlUrl, 'POST /restpp/requesttoken', AGENT, request)).body);
    expect((first.results ?? first).token).toMatch(JWT);
    // The client calls float(expiration), which would fail on a date text.
    expect(first.expiration).toBeUndefined();

    const gone = await start({ serverVersion: '4.1.2', switches: { requestTokenOn4: 'gone' } });
    expect((await raw(gone.gsqlUrl, 'POST /restpp/requesttoken', AGENT, request)).status).toBe(404);
    const second = parse(
      (
        await raw(
          gone.gsqlUrl,
          'POST /gsql/v1/tokens',
          { ...AGENT, 'Content-Type': 'application/json' },
          request,
        )
      ).body,
    );
    expect((second.results ?? second).token).toMatch(JWT);
  });

  it('gets the expected error if authentication is off', async () => {
    const sandbox = await start({ restAuth: 'off' });
    const reply = await raw(sandbox.restUrl, 'POST /requesttoken', AGENT, request);
    expect(parse(reply.body).message).toContain('Endpoint is not found from url = /requesttoken');
  });

  it('refreshes with PUT, and deletes with either path', async () => {
    const old = await start({ serverVersion: '3.10.1' });
    const { token } = parse((await raw(old.restUrl, 'POST /requesttoken', AGENT, request)).body);
    const body = `{"secret": "${SECRET}", "token": "${token}"}`;
    expect(parse((await raw(old.restUrl, 'PUT /requesttoken', AGENT, body)).body)).toMatchObject({
      error: false,
      token,
      expiration: EPOCH,
    });
    expect(parse((await raw(old.restUrl, 'DELETE /requesttoken', AGENT, body)).body).error).toBe(false);

    const newer = await start({ serverVersion: '4.2.0' });
    const jwt = defined(parse((await raw(newer.gsqlUrl, 'POST /gsql/v1/tokens', AGENT, request)).body).token);
    const bearer = { ...AGENT, Authorization: `Bearer ${jwt}` };
    const both = JSON.stringify({ tokens: jwt, secret: SECRET });
    expect((await raw(newer.gsqlUrl, 'DELETE /restpp/requesttoken', bearer, both)).status).toBe(404);
    const dropped = await raw(newer.gsqlUrl, 'DELETE /gsql/v1/tokens', bearer, both);
    expect([dropped.status, parse(dropped.body).error]).toEqual([200, false]);
  });

  it('checks a token with a form-encoded body and a JSON content type', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    const jwt = defined(
      parse((await raw(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', AGENT, request)).body).token,
    );
    const reply = await raw(
      sandbox.gsqlUrl,
      'POST /gsql/v1/tokens/check',
      { ...LOGIN, ...AGENT, 'Content-Type': 'application/json' },
      new URLSearchParams({ token: jwt }).toString(),
    );
    expect(parse(reply.body)).toEqual({
      error: false,
      message: `The token ${jwt} verification succeed.`,
    });
  });

  it('2.0 manages secrets over REST on 4.x', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    const headers = { ...LOGIN, ...AGENT, 'Content-Type': 'application/json' };
    const call = async (line: string, body = '') => {
      const reply = await raw(sandbox.gsqlUrl, line, headers, body);
      return { status: reply.status, ...(JSON.parse(reply.body) as { error: boolean; results: unknown }) };
    };
    const created = await call('POST /gsql/v1/secrets?userName=&alias=ci');
    expect(created).toMatchObject({ status: 200, error: false, results: { alias: 'ci' } });
    const listed = await call('GET /gsql/v1/secrets');
    expect(Array.isArray(listed.results)).toBe(true);
    expect((listed.results as { alias: string }[]).map(({ alias }) => alias)).toEqual(['demo_alias', 'ci']);
    // The client creates the missing secret only after an error without an HTTP status.
    expect(await call('GET /gsql/v1/secrets/nobody')).toMatchObject({ status: 200, error: true });
    expect(await call('DELETE /gsql/v1/secrets/ci')).toMatchObject({ status: 200, error: false });
    const unknown = await call('DELETE /gsql/v1/secrets/ci');
    expect(unknown.status >= 400 || unknown.error).toBe(true);
    expect(await call('DELETE /gsql/v1/secrets', '{"secrets": ["demo_alias"]}')).toMatchObject({
      error: false,
    });
  });

  it('2.0 uses GSQL on 3.x, after reading the version from /version', async () => {
    for (const serverVersion of ['3.2.0', '3.9.3', '3.10.1']) {
      const sandbox = await start({ serverVersion });
      const headers = { ...LOGIN, ...AGENT };
      for (const line of ['GET /gsql/v1/secrets', 'POST /gsql/v1/secrets?userName=&alias=ci']) {
        expect((await raw(sandbox.gsqlUrl, line, headers)).status).toBe(404);
      }
      const list = await raw(
        sandbox.gsqlUrl,
        'POST /gsqlserver/gsql/file',
        headers,
        '%0AUSE+GRAPH+demo_graph%0ASHOW+SECRET',
      );
      expect(readSecrets(list.body)).toEqual({ demo_alias: 's00****001' });

      const asked = serverVersion === '3.2.0' ? `GET /requesttoken?secret=${SECRET}` : 'POST /requesttoken';
      const token = parse((await raw(sandbox.restUrl, asked, AGENT, request)).body).token;
      const bearer = { ...AGENT, Authorization: `Bearer ${token}` };
      expect(readProduct((await raw(sandbox.restUrl, 'GET /version', bearer)).body)).toBe(serverVersion);
    }
  });

  it('tests a given JWT with /version and a request for the user’s own data', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    const jwt = parse((await raw(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', AGENT, request)).body).token;
    const bearer = { ...AGENT, Authorization: `Bearer ${jwt}` };
    expect(readProduct((await raw(sandbox.gsqlUrl, 'GET /restpp/version', bearer)).body)).toBe('4.1.2');
    const who = await raw(sandbox.gsqlUrl, 'GET /gsql/v1/auth/simple', bearer);
    expect(JSON.parse(who.body)).toMatchObject({ error: false, results: { privileges: {} } });
    const fake = { Authorization: 'Bearer invalid.JWT.Token' };
    expect((await raw(sandbox.gsqlUrl, 'GET /restpp/version', fake)).status).toBeGreaterThanOrEqual(400);
  });

  it('2.0.4 requests a token at /gsql/v1/tokens, and after a 404 at /restpp/requesttoken', async () => {
    for (const serverVersion of ['3.10.1', '4.2.0']) {
      const sandbox = await start({ serverVersion });
      const headers = { ...LOGIN, ...AGENT, 'Content-Type': 'application/json' };
      let reply = await raw(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', headers, '{"graph": "demo_graph"}');
      if (reply.status === 404) {
        reply = await raw(sandbox.gsqlUrl, 'POST /restpp/requesttoken', headers, '{"graph": "demo_graph"}');
      }
      const answer = parse(reply.body);
      expect((answer.results ?? answer).token).toMatch(serverVersion === '4.2.0' ? JWT : TOKEN_3);
    }
  });
});

describe('JDBC 1.3.20', () => {
  const headers = {
    ...LOGIN,
    Accept: 'application/json; charset=UTF-8',
    'User-Agent': 'tigergraph-jdbc-driver/1.3.20',
  };
  /** The client ignores the status. It reads the token at the top level, else in `results`, which may be one object or a list. */
  const read = (body: string): string | undefined => {
    const answer = JSON.parse(body) as TokenAnswer;
    expect(typeof answer.error).toBe('boolean');
    return answer.token ?? [answer.results ?? { token: undefined }].flat().find((item) => item.token)?.token;
  };

  it('uses authtoken before 3.5', async () => {
    const sandbox = await start({ serverVersion: '3.2.0' });
    for (const method of ['POST', 'GET']) {
      const line = `${method} /gsqlserver/gsql/authtoken?graph=demo_graph`;
      expect(read((await raw(sandbox.gsqlUrl, line, headers)).body)).toMatch(TOKEN_3);
    }
  });

  it('uses /restpp/requesttoken from 3.5 on and on 4.x, with a password or a secret', async () => {
    const json = { 'Content-Type': 'application/json' };
    for (const [serverVersion, form] of [
      ['3.10.1', TOKEN_3],
      ['4.1.2', JWT],
    ] as const) {
      const sandbox = await start({ serverVersion });
      for (const Authorization of [LOGIN.Authorization, basic('__GSQL__secret', SECRET)]) {
        const reply = await raw(
          sandbox.gsqlUrl,
          'POST /restpp/requesttoken',
          { ...headers, ...json, Authorization },
          '{"graph":"demo_graph"}',
        );
        const token = defined(read(reply.body));
        expect(token).toMatch(form);
        const people = await raw(sandbox.gsqlUrl, 'GET /restpp/graph/demo_graph/vertices/Person?limit=2', {
          Authorization: `Bearer ${token}`,
        });
        expect((JSON.parse(people.body) as { results: unknown[] }).results).toHaveLength(2);
      }
    }
  });

  it('continues without a token after REST-1000', async () => {
    const sandbox = await start({ restAuth: 'off' });
    const reply = await raw(sandbox.gsqlUrl, 'POST /restpp/requesttoken', headers, '{"graph":"demo_graph"}');
    expect(JSON.parse(reply.body)).toMatchObject({ error: true, code: 'REST-1000' });
    expect((await raw(sandbox.gsqlUrl, 'GET /restpp/graph/demo_graph/vertices/Person')).status).toBe(200);
  });
});

describe('Spark connector 0.2.8', () => {
  const json = { 'Content-Type': 'application/json', 'User-Agent': 'tigergraph-spark-connector/0.2.8' };
  const read = (body: string) => parse(body).token ?? parse(body).results?.token;

  it('finds out whether a token is needed', async () => {
    for (const serverVersion of ['3.9.3', '4.1.2']) {
      const on = await start({ serverVersion });
      expect([401, 403]).toContain((await raw(on.gsqlUrl, 'GET /restpp/version')).status);
      const off = await start({ serverVersion, restAuth: 'off' });
      expect((await raw(off.gsqlUrl, 'GET /restpp/version')).status).toBe(200);
    }
  });

  it('on 3.x requests and refreshes a token, whose text does not change', async () => {
    const sandbox = await start({ serverVersion: '3.9.3' });
    for (const [login, ask, again] of [
      [
        LOGIN,
        '{"graph": "demo_graph", "lifetime": "21600"}',
        (t: string) => `{"token": "${t}", "lifetime": "21600"}`,
      ],
      [
        {},
        `{"secret": "${SECRET}", "lifetime": "21600"}`,
        (t: string) => `{"secret": "${SECRET}", "token": "${t}", "lifetime": "21600"}`,
      ],
    ] as const) {
      const minted = await raw(sandbox.gsqlUrl, 'POST /restpp/requesttoken', { ...json, ...login }, ask);
      const token = defined(read(minted.body));
      expect(token).toMatch(TOKEN_3);
      const refreshed = parse(
        (await raw(sandbox.gsqlUrl, 'PUT /restpp/requesttoken', { ...json, ...login }, again(token))).body,
      );
      expect(refreshed).toMatchObject({ error: false, token, expiration: NOW + 21_600 });
    }
  });

  it('on 4.1 and later requests a token at /gsql/v1/tokens, in seconds', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    for (const [login, ask] of [
      [LOGIN, '{"graph": "demo_graph", "lifetime": "21600"}'],
      [{}, `{"secret": "${SECRET}", "lifetime": "21600"}`],
    ] as const) {
      const token = defined(
        read((await raw(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', { ...json, ...login }, ask)).body),
      );
      const { exp } = JSON.parse(Buffer.from(defined(token.split('.')[1]), 'base64url').toString()) as {
        exp: number;
      };
      expect(exp).toBe(NOW + 21_600);
    }
  });
});

describe('the Java GSQL client', () => {
  const HEADERS = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Language': 'en-US' };
  const cookie = (commit: string, graph?: string) =>
    JSON.stringify({
      terminalWidth: 80,
      fromGsqlClient: true,
      ...(graph ? { graph } : {}),
      clientCommit: commit,
    });

  it('3.9.3 logs in, sends a statement with the session, and logs out', async () => {
    const sandbox = await start({ serverVersion: '3.9.3' });
    const first = cookie('359f6bd4a4651e035d6ac5fe435cd992c7b863f3', 'demo_graph');
    const login = await raw(
      sandbox.gsqlUrl,
      'POST /gsqlserver/gsql/login',
      { ...HEADERS, 'GSQL-Cookie': first },
      'ZGVtb191c2VyOmRlbW9fcGFzcw==',
    );
    const answer = JSON.parse(login.body) as Record<string, unknown>;
    expect(answer).toMatchObject({ error: false, message: '', isClientCompatible: true });
    expect(typeof answer.welcomeMessage).toBe('string');
    expect(typeof answer.shellPrompt).toBe('string');
    expect(Number.isInteger(answer.securityRecommendations)).toBe(true);
    const session = defined(login.rawHeaders[login.rawHeaders.indexOf('Set-GSQL-Cookie') + 1]);

    const run = await raw(
      sandbox.gsqlUrl,
      'POST /gsqlserver/gsql/file',
      { ...HEADERS, ...LOGIN, 'GSQL-Cookie': session },
      'CREATE+SECRET+ci%0A',
    );
    const lines = run.body.split('\n').slice(0, -1);
    expect(lines[0]).toMatch(/^The secret: [a-z0-9]{32} /);
    // The client stops reading at the line with the code, so the cookie comes before it and nothing follows it.
    expect(lines.at(-2)).toMatch(/^__GSQL__COOKIES__,\{.*"graph":"demo_graph".*\}$/);
    expect(lines.at(-1)).toBe('__GSQL__RETURN__CODE__,0');

    const farewell = await raw(
      sandbox.gsqlUrl,
      'POST /gsqlserver/gsql/abortclientsession',
      { ...HEADERS, ...LOGIN, 'GSQL-Cookie': session },
      'abortclientsession',
    );
    expect(farewell.status).toBe(200);
    expect(sandbox.unknownRoutes).toEqual([]);
  });

  it('is accepted whatever its commit, and gets version and help without a login', async () => {
    const sandbox = await start({ serverVersion: '3.6.2' });
    for (const commit of ['31716aa9', '2ad59787', 'not a commit']) {
      const reply = await raw(
        sandbox.gsqlUrl,
        'POST /gsqlserver/gsql/login',
        { ...HEADERS, 'GSQL-Cookie': cookie(commit) },
        'ZGVtb191c2VyOmRlbW9fcGFzcw==',
      );
      expect(JSON.parse(reply.body)).toMatchObject({ error: false, isClientCompatible: true });
    }
    expect((await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/version', HEADERS, 'version')).body).toBe(
      'GSQL version: 3.6.2\n',
    );
    for (const path of ['help', 'getinfo']) {
      expect((await raw(sandbox.gsqlUrl, `POST /gsqlserver/gsql/${path}`, HEADERS, path)).status).toBe(200);
    }
  });

  it('logs in with a secret, and with a URL-encoded user name', async () => {
    const sandbox = await start({
      serverVersion: '3.9.3',
      users: [
        { name: 'demo_user', password: 'demo_pass', role: 'superuser' },
        { name: 'ann@example.com', password: 'p+q %41', role: 'admin' },
      ],
    });
    for (const plain of [
      `__GSQL__secret:${SECRET}`,
      'ann%40example.com:p+q %41',
      'ann@example.com:p+q %41',
    ]) {
      const encoded = Buffer.from(plain).toString('base64');
      const login = await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/login', HEADERS, encoded);
      expect(JSON.parse(login.body)).toMatchObject({ error: false });
      const run = await raw(
        sandbox.gsqlUrl,
        'POST /gsqlserver/gsql/file',
        { ...HEADERS, Authorization: `Basic ${encoded}` },
        'USE+GRAPH+demo_graph',
      );
      expect(run.status).toBe(200);
    }
  });

  it('gets the messages that its version expects for a wrong password and for a missing graph', async () => {
    for (const [serverVersion, words] of [
      ['3.6.2', 'Wrong password!'],
      ['3.9.3', 'Invalid username or password!'],
    ] as const) {
      const sandbox = await start({ serverVersion });
      const login = (body: string, graph?: string) =>
        raw(
          sandbox.gsqlUrl,
          'POST /gsqlserver/gsql/login',
          { ...HEADERS, 'GSQL-Cookie': cookie('x', graph) },
          body,
        );
      const wrong = await login('ZGVtb191c2VyOndyb25n');
      expect(wrong.status).toBe(200);
      expect(parse(wrong.body)).toMatchObject({ error: true, isClientCompatible: true });
      expect(parse(wrong.body).message).toContain(words);
      expect(parse((await login('ZGVtb191c2VyOmRlbW9fcGFzcw==', 'nowhere')).body).error).toBe(true);
    }
  });

  it('has to wait after five wrong passwords, and longer after two more', async () => {
    let clock = NOW;
    const sandbox = await start({ serverVersion: '3.9.3', now: () => clock * 1000 });
    const login = async (password: string) => {
      const body = Buffer.from(`demo_user:${password}`).toString('base64');
      return parse((await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/login', HEADERS, body)).body).message;
    };
    for (let i = 0; i < 5; i++) expect(await login('wrong')).toContain('Invalid username or password!');
    expect(await login('demo_pass')).toContain('Please re-login after 10 seconds');
    clock += 10;
    for (let i = 0; i < 2; i++) expect(await login('wrong')).toContain('Invalid username or password!');
    expect(await login('demo_pass')).toContain('Please re-login after 20 seconds');
    clock += 20;
    expect(await login('demo_pass')).toBe('');
    expect(await login('wrong')).toContain('Invalid username or password!');
    expect(await login('demo_pass')).toBe('');
  });
});

describe('others', () => {
  it('tgCli sends the login twice and raw GSQL, and reads Set-Cookie as JSON', async () => {
    const sandbox = await start({ serverVersion: '3.2.0' });
    const login = await raw(
      sandbox.gsqlUrl,
      'POST /gsqlserver/gsql/login',
      LOGIN,
      'ZGVtb191c2VyOmRlbW9fcGFzcw==',
    );
    expect(JSON.parse(String(login.headers['set-cookie']?.[0]))).toMatchObject({ sessionAborted: false });
    const run = await raw(
      sandbox.gsqlUrl,
      'POST /gsqlserver/gsql/file',
      { ...LOGIN, 'Content-Type': 'application/octet-stream' },
      'USE GRAPH demo_graph\nDROP SECRET "demo_alias"',
    );
    expect(run.body).toContain('Success');
  });

  it('Tigergraph.js and the axios handler read results.token', async () => {
    const sandbox = await start({ serverVersion: '3.9.3' });
    for (const body of ['{"graph":"demo_graph"}', '{"graph":"demo_graph","lifetime":86400}']) {
      const reply = await raw(
        sandbox.restUrl,
        'POST /requesttoken',
        { ...LOGIN, 'Content-Type': 'application/x-www-form-urlencoded' },
        body,
      );
      expect(defined(parse(reply.body).results).token).toMatch(TOKEN_3);
    }
  });

  it('tigergraphx uses ping, and statements with the user __GSQL__secret', async () => {
    const sandbox = await start({ serverVersion: '4.2.0' });
    expect((await raw(sandbox.gsqlUrl, 'GET /api/ping')).body).toContain('pong');
    const run = await raw(
      sandbox.gsqlUrl,
      'POST /gsql/v1/statements',
      { Authorization: basic('__GSQL__secret', SECRET), 'Content-Type': 'text/plain' },
      'SHOW SECRET',
    );
    expect(readSecrets(run.body)).toEqual({ demo_alias: 's00****001' });
  });
});
