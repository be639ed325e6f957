import { createConnection } from 'node:net';
import { describe, expect, it } from 'vitest';
import { defined } from '../helpers/defined.js';
import { basic, demo, LOGIN, NOW, raw, SECRET } from './sandbox-raw.js';

const BY_SECRET = { Authorization: basic('__GSQL__secret', SECRET) };

describe('servers 3.x, point by point', () => {
  it('[D] refuses the tokens of a dropped secret, and an expired token with another code', async () => {
    let clock = NOW;
    const sandbox = await demo({ now: () => clock * 1000 });
    const mint = async () => {
      const reply = await raw(
        sandbox.restUrl,
        'POST /requesttoken',
        {},
        `{"secret":"${SECRET}","lifetime":60}`,
      );
      return (JSON.parse(reply.body) as { token: string }).token;
    };
    const use = (token: string) =>
      raw(sandbox.restUrl, 'GET /echo', { Authorization: `Bearer ${token}` }).then((reply) => [
        reply.status,
        (JSON.parse(reply.body) as { code?: string }).code,
      ]);

    const early = await mint();
    expect(await use(early)).toEqual([200, undefined]);
    clock += 60;
    expect(await use(early)).toEqual([401, 'REST-10019']);

    const late = await mint();
    expect(await use(late)).toEqual([200, undefined]);
    await raw(
      sandbox.gsqlUrl,
      'POST /gsqlserver/gsql/file',
      LOGIN,
      'USE GRAPH demo_graph\nDROP SECRET demo_alias',
    );
    expect(await use(late)).toEqual([403, 'REST-10016']);
    await sandbox.close();
  });

  it('[C] answers REST-1000 with 404 while REST authentication is off, and other paths need no token', async () => {
    const sandbox = await demo({ restAuth: 'off' });
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const reply = await raw(
        sandbox.restUrl,
        `${method} /requesttoken`,
        {},
        `{"secret":"${SECRET}","token":"x"}`,
      );
      expect(reply.status).toBe(404);
      expect(JSON.parse(reply.body)).toEqual({
        version: { edition: 'enterprise', api: 'v2', schema: 0 },
        error: true,
        message:
          'Endpoint is not found from url = /requesttoken, please use GET /endpoints to list all valid endpoints.',
        code: 'REST-1000',
      });
    }
    expect((await raw(sandbox.restUrl, 'GET /version')).status).toBe(200);
    expect((await raw(sandbox.gsqlUrl, 'GET /restpp/graph/demo_graph/vertices/Person')).status).toBe(200);
    await sandbox.close();
  });

  it('[D] accepts a secret as a login only from the version that introduced it', async () => {
    const forms = { header: { Authorization: `GSQL-Secret ${SECRET}` }, user: BY_SECRET };
    for (const [serverVersion, header, user] of [
      ['3.6.0', 401, 401],
      ['3.6.2', 401, 200],
      ['3.9.3', 401, 200],
      ['3.10.1', 200, 200],
    ] as const) {
      const sandbox = await demo({ serverVersion });
      const simple = async (login: Record<string, string>) =>
        (await raw(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', login)).status;
      expect([serverVersion, await simple(forms.header), await simple(forms.user)]).toEqual([
        serverVersion,
        header,
        user,
      ]);
      const echo = await raw(sandbox.restUrl, 'GET /echo', forms.header);
      expect(echo.status).toBe(header === 200 ? 200 : 403);
      await sandbox.close();
    }
  });

  it('[C] names the session header as the shell of each version expects it', async () => {
    for (const [serverVersion, name] of [
      ['3.1.0', 'Set-cookie'],
      ['3.2.0', 'Set-Cookie'],
      ['3.6.0', 'Set-Cookie'],
      ['3.6.2', 'Set-GSQL-Cookie'],
      ['3.9.3', 'Set-GSQL-Cookie'],
    ] as const) {
      const sandbox = await demo({ serverVersion });
      const reply = await raw(
        sandbox.gsqlUrl,
        'POST /gsqlserver/gsql/login',
        {},
        'ZGVtb191c2VyOmRlbW9fcGFzcw==',
      );
      expect(reply.rawHeaders).toContain(name);
      expect(JSON.parse(defined(reply.rawHeaders[reply.rawHeaders.indexOf(name) + 1]))).toMatchObject({
        auth: LOGIN.Authorization,
      });
      await sandbox.close();
    }
  });

  it('[D] removes expired tokens, and none if one of the names is unknown', async () => {
    let clock = NOW;
    const sandbox = await demo({ now: () => clock * 1000 });
    const remove = async (path: string, body: string) =>
      JSON.parse((await raw(sandbox.gsqlUrl, `DELETE ${path}`, LOGIN, body)).body) as { error: boolean };
    const left = async (token: string) => {
      const reply = await raw(sandbox.restUrl, 'GET /echo', { Authorization: `Bearer ${token}` });
      return (JSON.parse(reply.body) as { code?: string }).code;
    };
    const minted = await raw(
      sandbox.restUrl,
      'POST /requesttoken',
      {},
      `{"secret":"${SECRET}","lifetime":1}`,
    );
    const { token } = JSON.parse(minted.body) as { token: string };
    clock += 1;
    expect(await remove('/expiredtoken', `{"user":["nobody"],"secret":["${SECRET}"]}`)).toMatchObject({
      error: true,
    });
    expect(await remove('/expiredtoken', '{"user":["second"]}')).toMatchObject({ error: false });
    expect(await left(token)).toBe('REST-10019');
    expect(await remove('/gsqlserver/expiredtoken', `{"secret":["${SECRET}"]}`)).toMatchObject({
      error: false,
    });
    expect(await left(token)).toBe('REST-10016');
    await sandbox.close();
  });

  it('[D] removes the expired tokens of those who are named, or of everybody, and no living one', async () => {
    const ofSecond = { Authorization: basic('second', 'pass:with:colons') };
    const remaining = async (body: string) => {
      let clock = NOW;
      const sandbox = await demo({ now: () => clock * 1000 });
      const mint = async (more: object, headers: Record<string, string>) => {
        const sent = JSON.stringify({ graph: 'demo_graph', lifetime: 10, ...more });
        const reply = await raw(sandbox.restUrl, 'POST /requesttoken', headers, sent);
        const { token, results } = JSON.parse(reply.body) as { token?: string; results?: { token: string } };
        return token ?? defined(results).token;
      };
      const tokens = {
        bySecret: await mint({ secret: SECRET }, {}),
        byPassword: await mint({}, LOGIN),
        ofSecond: await mint({}, ofSecond),
        living: await mint({ secret: SECRET, lifetime: 11 }, {}),
      };
      clock += 10;
      const removed = await raw(sandbox.gsqlUrl, 'DELETE /expiredtoken', LOGIN, body);
      const left: string[] = [];
      for (const [name, token] of Object.entries(tokens)) {
        const reply = await raw(sandbox.restUrl, 'GET /echo', { Authorization: `Bearer ${token}` });
        if (!reply.body.includes('REST-10016')) left.push(name);
      }
      await sandbox.close();
      return [(JSON.parse(removed.body) as { error: boolean }).error, ...left];
    };
    expect(await remaining('{"user":["demo_user"]}')).toEqual([false, 'ofSecond', 'living']);
    expect(await remaining(`{"secret":["${SECRET}"]}`)).toEqual([false, 'byPassword', 'ofSecond', 'living']);
    expect(await remaining('')).toEqual([false, 'living']);
    expect(await remaining('[]')).toEqual([true, 'bySecret', 'byPassword', 'ofSecond', 'living']);
  });

  it('[D] lists the tokens of each secret until they end, and those of no other secret', async () => {
    let clock = NOW;
    const other = { alias: 'other', value: 'other000000000000000000000000002', graph: 'demo_graph' };
    const secrets = [
      { ...other, alias: 'one', value: SECRET, user: 'demo_user' },
      { ...other, user: 'demo_user' },
    ];
    const sandbox = await demo({ secrets, now: () => clock * 1000 });
    const mint = async (secret: string, lifetime: number) => {
      const body = JSON.stringify({ secret, lifetime });
      const reply = await raw(sandbox.restUrl, 'POST /requesttoken', {}, body);
      return (JSON.parse(reply.body) as { token: string }).token;
    };
    const listed = async () => {
      const shown = 'USE GRAPH demo_graph SHOW SECRET';
      const { body } = await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/file', LOGIN, shown);
      return body.split('\n').filter((line) => /Alias|Token/.test(line));
    };
    const [short, long] = [await mint(SECRET, 60), await mint(SECRET, 61)];
    const alone = await mint(other.value, 86_400);
    const rest = ['      - Alias: other', `      - Token: ${alone} expire at: 2023-11-15 22:13:20`];
    expect(await listed()).toEqual([
      '      - Alias: one',
      `      - Token: ${short} expire at: 2023-11-14 22:14:20`,
      `      - Token: ${long} expire at: 2023-11-14 22:14:21`,
      ...rest,
    ]);
    clock += 60;
    expect(await listed()).toEqual([
      '      - Alias: one',
      `      - Token: ${long} expire at: 2023-11-14 22:14:21`,
      ...rest,
    ]);
    await sandbox.close();
  });

  it('[C] streams GSQL text: the trailer arrives in a separate read', async () => {
    const sandbox = await demo({ serverVersion: '3.2.0' });
    const body = 'USE GRAPH demo_graph SHOW SECRET';
    const reads: string[] = [];
    await new Promise((resolve, reject) => {
      const socket = createConnection(Number(new URL(sandbox.gsqlUrl).port), '127.0.0.1');
      socket.on('data', (bytes) => reads.push(bytes.toString()));
      socket.on('error', reject);
      socket.on('close', resolve);
      const head = [
        'POST /gsqlserver/gsql/file HTTP/1.1',
        'Host: db',
        `Authorization: ${LOGIN.Authorization}`,
      ];
      const rest = ['Connection: close', `Content-Length: ${body.length}`, '', body];
      socket.write([...head, ...rest].join('\r\n'));
    });
    const trailer = reads.findIndex((read) => read.includes('__GSQL__'));
    const text = reads.slice(0, trailer).join('');
    expect(text).toMatch(/^Transfer-Encoding: chunked\r$/m);
    expect(text).toContain('- Alias: demo_alias\n');
    const plain = await raw(sandbox.restUrl, 'GET /echo');
    expect(plain.headers['content-length']).toBe(String(plain.body.length));
    expect(reads.slice(trailer).join('')).toMatch(
      /^[0-9a-f]+\r\n__GSQL__COOKIES__,.*\n__GSQL__RETURN__CODE__,0\n\r\n0/s,
    );
    await sandbox.close();
  });
});
