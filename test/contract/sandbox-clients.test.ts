// The requests of programs made for the real servers that `npm run test:clients` does not run, with their method, path,
// query, body and login, and with their way of reading each answer.
import { describe, expect, it } from 'vitest';
import { defined } from '../helpers/defined.js';
import { ask, basic, LOGIN, NOW, raw, SECRET, start } from './sandbox-raw.js';

const TOKEN_3 = /^[a-z0-9]{32}$/;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const AGENT = { 'X-User-Agent': 'pyTigerGraph', Accept: '*/*', 'User-Agent': 'python-requests/2.32.3' };

describe('pyTigerGraph 0.9 to 1.5', () => {
  it('sends query strings if it knows that the version is below 3.5', async () => {
    const { restUrl } = await start({ serverVersion: '3.2.0' });
    const got = await ask(restUrl, `GET /requesttoken?secret=${SECRET}&lifetime=1000`);
    expect(got).toMatchObject({
      error: false,
      expiration: NOW + 1000,
      token: expect.stringMatching(TOKEN_3),
    });
    const query = `secret=${SECRET}&token=${got.token}`;
    // The client reads this as a number of seconds from now.
    const refreshed = { error: false, token: got.token, expiration: 2000 };
    expect(await ask(restUrl, `PUT /requesttoken?${query}&lifetime=2000`)).toMatchObject(refreshed);
    expect((await ask(restUrl, `DELETE /requesttoken?${query}`)).error).toBe(false);
    // The recorded refusal has no code, although `skipNA` looks for one.
    expect(await ask(restUrl, `DELETE /requesttoken?${query}`)).not.toHaveProperty('code');
  });

  it('tries POST if it does not know the version, after GET fails with readable JSON', async () => {
    const { restUrl } = await start({ serverVersion: '3.10.1' });
    expect((await ask(restUrl, `GET /requesttoken?secret=${SECRET}&lifetime=1000`)).error).toBe(true);
    const body = `{"secret": "${SECRET}", "lifetime": "1000"}`;
    const expected = { expiration: NOW + 1000, token: expect.stringMatching(TOKEN_3) };
    expect(await ask(restUrl, 'POST /requesttoken', {}, body)).toMatchObject(expected);
  });
});

describe('pyTigerGraph 1.7', () => {
  it('1.7.4 on 4.x uses /restpp, and deletes without a login, which needs the default account', async () => {
    const { gsqlUrl } = await start({
      ...{ serverVersion: '4.1.2', users: [], secrets: [] },
      switches: { defaultPassword: 'no-login' },
    });
    const headers = { Authorization: basic('tigergraph', 'tigergraph'), ...AGENT };
    const body = "{'graph': 'demo_graph', 'lifetime': '500'}";
    const minted = await ask(gsqlUrl, 'POST /restpp/requesttoken', headers, body);
    expect(minted.token).toMatch(JWT);
    expect(minted).not.toHaveProperty('expiration');
    const drop = { ...AGENT, 'Content-Type': 'application/json' };
    const tokens = JSON.stringify({ tokens: minted.token });
    expect((await ask(gsqlUrl, 'DELETE /gsql/v1/tokens', drop, tokens)).error).toBe(false);
  });
});

describe('Spark connector 0.2.8', () => {
  const agent = { 'Content-Type': 'application/json', 'User-Agent': 'tigergraph-spark-connector/0.2.8' };
  const LOGINS: [Record<string, string>, object][] = [
    [LOGIN, { graph: 'demo_graph' }],
    [{}, { secret: SECRET }],
  ];

  it.each(['3.9.3', '4.1.2'])('finds out whether %s wants a token', async (serverVersion) => {
    const on = await start({ serverVersion });
    expect([401, 403]).toContain((await raw(on.gsqlUrl, 'GET /restpp/version')).status);
    const off = await start({ serverVersion, restAuth: 'off' });
    expect((await raw(off.gsqlUrl, 'GET /restpp/version')).status).toBe(200);
  });

  it.each(LOGINS)(
    'on 3.x requests and refreshes a token, whose text does not change',
    async (login, fields) => {
      const { gsqlUrl } = await start({ serverVersion: '3.9.3' });
      const send = (method: string, more: object) => {
        const body = JSON.stringify({ ...fields, ...more, lifetime: '21600' });
        return ask(gsqlUrl, `${method} /restpp/requesttoken`, { ...agent, ...login }, body);
      };
      const minted = await send('POST', {});
      const token = minted.token ?? minted.results?.token;
      expect(token).toMatch(TOKEN_3);
      expect(await send('PUT', { token })).toMatchObject({ error: false, token, expiration: NOW + 21_600 });
    },
  );

  it.each(LOGINS)(
    'on 4.1 and later requests a token at /gsql/v1/tokens, in seconds',
    async (login, fields) => {
      const { gsqlUrl } = await start({ serverVersion: '4.1.2' });
      const body = JSON.stringify({ ...fields, lifetime: '21600' });
      const { token = '' } = await ask(gsqlUrl, 'POST /gsql/v1/tokens', { ...agent, ...login }, body);
      const claims = Buffer.from(defined(token.split('.')[1]), 'base64url').toString();
      expect(JSON.parse(claims)).toMatchObject({ exp: NOW + 21_600 });
    },
  );
});
