import { describe, expect, test } from 'vitest';
import { GraphConnection } from '../../src/index.js';
import { defined } from '../helpers/defined.js';
import { hmacJwt } from '../helpers/jwt.js';
import { unknownRoutes } from '../helpers/sandbox.js';
import { connect, refusalOf, SERVERS, SERVERS_3, sandbox } from './core-support.js';

const THIRTY_DAYS = 2_592_000;
const now = () => Math.floor(Date.now() / 1000);

// holds: C12.9
test.each(['3.10.1', '4.1.2', '4.3.0'])(
  'jwtToken is a JWT for the servers that %s lets it into',
  async (serverVersion) => {
    const provider = { key: 'shared-secret' };
    const to = await sandbox({ serverVersion, provider });
    const exp = now() + 3600;
    const jwtToken = hmacJwt({ sub: 'tigergraph', exp }, provider.key);
    const conn = connect(to, { jwtToken, username: undefined, password: undefined });
    expect((await conn.rest('GET', '/echo')).status).toBe(200);
    const listing = conn.getSecrets();
    if (serverVersion === '3.10.1') expect((await refusalOf(listing)).code).toBe('USAGE');
    else expect(await listing).toEqual({});
  },
);

describe.each(SERVERS)('$serverVersion', ({ serverVersion, generation }) => {
  const start = (options = {}) => sandbox({ serverVersion, ...options });

  test('checkGraph accepts a graph that the server has, and changes nothing', async () => {
    const to = await start();
    await expect(connect(to, { graph: 'demo' }).checkGraph()).resolves.toBeUndefined();
    const { code } = await refusalOf(connect(to, { graph: 'nowhere' }).checkGraph());
    expect(code).toBe('NOT_FOUND');
    const conn = connect(to);
    expect((await conn.findVersion()).secretsNeedGraph).toBe(serverVersion.startsWith('3'));
    expect(await conn.getSecrets()).toEqual({});
  });

  test('a password may contain any letters', async () => {
    const password = 'pässwört-☃-日本';
    const to = await start({ users: [{ name: 'tigergraph', password, role: 'superuser' }] });
    expect(await connect(to, { password }).getSecrets()).toEqual({});
  });

  test('dropSecret removes one alias or several and returns a text', async () => {
    const conn = connect(await start());
    for (const alias of ['a', 'b', 'c']) await conn.createSecret(alias);
    expect(await conn.dropSecret('a')).toBe('Dropped: a.');
    expect(await conn.dropSecret(['b', 'c'])).toBe('Dropped: b, c.');
    expect(await conn.getSecrets()).toEqual({});
  });

  test('an unknown alias is no error by default, and the others are dropped', async () => {
    const conn = connect(await start());
    await conn.createSecret('a');
    expect(await conn.dropSecret(['nope', 'a'])).toBe('Dropped: a. There is no such secret: nope.');
    expect(await conn.getSecrets()).toEqual({});
    expect(await conn.dropSecret('nope', { ignoreErrors: true })).toContain('There is no such secret: nope.');
  });

  test('an unknown alias throws with ignoreErrors false, after the others were dropped', async () => {
    const conn = connect(await start());
    await conn.createSecret('a');
    const refused = await refusalOf(conn.dropSecret(['nope', 'a'], { ignoreErrors: false }));
    expect(refused.code).toBe('NOT_FOUND');
    expect(refused.message).toContain('nope');
    expect(await conn.getSecrets()).toEqual({});
  });

  test('a failed drop ends the call, and the secrets before it are dropped', async () => {
    const to = await start();
    const conn = connect(to);
    await conn.createSecret('a');
    await conn.createSecret('b');
    const route = generation === '4' ? 'DELETE /gsql/v1/secrets' : '/gsqlserver/gsql/file';
    to.addFault({ action: 'status', status: 500, route, nth: 2 });
    expect((await refusalOf(conn.dropSecret(['a', 'b', 'c']))).status).toBe(500);
    expect(Object.keys(await conn.getSecrets())).toEqual(['b']);
  });

  test('getToken makes the token the connection’s own, unless setToken is false', async () => {
    const conn = connect(await start());
    const secret = await conn.createSecret('ci');
    const [other] = await conn.getToken({ secret, setToken: false });
    expect(conn.apiToken).toBeUndefined();
    const [own] = await conn.getToken({ secret });
    expect(conn.apiToken).toBe(own);
    // On 4.x two tokens minted within one second are the same.
    expect(await conn.checkToken(other)).toEqual({ accepted: true });
  });

  test('the lifetime is 2,592,000 seconds by default, and always sent', async () => {
    const to = await start();
    const conn = connect(to);
    const secret = await conn.createSecret('ci');
    const long = await conn.mintToken({ secret });
    expect(Math.abs(long.grantedSeconds - THIRTY_DAYS)).toBeLessThanOrEqual(1);
    expect(Math.abs(long.expiresAtUnix - (now() + THIRTY_DAYS))).toBeLessThan(10);
    const sent = to.requests.at(-1);
    expect(generation === '3.0' ? sent?.query.lifetime : sent?.fields).toEqual(
      generation === '3.0' ? String(THIRTY_DAYS) : expect.arrayContaining(['lifetime']),
    );
    const short = await conn.mintToken({ secret, lifetime: 900 });
    expect(Math.abs(short.grantedSeconds - 900)).toBeLessThanOrEqual(1);
  });

  test('with REST authentication off, getToken throws and says how to turn it on', async () => {
    const conn = connect(await start({ restAuth: 'off' }));
    const secret = await conn.createSecret('ci');
    for (const call of [conn.getToken({ secret }), conn.getToken()]) {
      const refused = await refusalOf(call);
      expect(refused.code).toBe('REST_AUTH_DISABLED');
      expect(refused.hint).toContain('gadmin config set RESTPP.Factory.EnableAuth true');
    }
  });

  test('createSecret with withAlias returns alias and value, also of a generated alias', async () => {
    const conn = connect(await start());
    await conn.createSecret();
    const named = await conn.createSecret('ci', { withAlias: true });
    expect(named).toEqual({ ci: expect.stringMatching(/^[a-z0-9]{32}$/) });
    const made = await conn.createSecret('', { withAlias: true });
    const [alias = '', value = ''] = Object.entries(made)[0] ?? [];
    expect(alias).toMatch(/^AUTO_GENERATED_ALIAS_[a-z0-9]{7}$/);
    expect((await conn.getSecrets())[alias]).toBe(`${value.slice(0, 3)}****${value.slice(-3)}`);
  });

  test('deleteToken returns true, the server refuses the token from then on, and apiToken is unset', async () => {
    const conn = connect(await start());
    const secret = await conn.createSecret('ci');
    const [token] = await conn.getToken({ secret });
    expect(await conn.deleteToken(secret)).toBe(true);
    expect(conn.apiToken).toBeUndefined();
    expect(await conn.checkToken(token)).toMatchObject({ accepted: false, refusal: { code: 'AUTH_FAILED' } });
  });

  test('deleting another token does not unset the connection’s own token', async () => {
    const conn = connect(await start());
    const secret = await conn.createSecret('ci');
    const { token } = await conn.mintToken({ secret, lifetime: 700 });
    const [own] = await conn.getToken({ secret, lifetime: 800 });
    expect(await conn.deleteToken(secret, { token })).toBe(true);
    expect(conn.apiToken).toBe(own);
    expect(await conn.checkToken()).toEqual({ accepted: true });
  });

  test('an unknown token throws, or returns true with skipNA', async () => {
    const conn = connect(await start());
    const secret = await conn.createSecret('ci');
    const [token] = await conn.getToken({ secret });
    await conn.deleteToken(secret);
    expect(await conn.deleteToken(secret, { skipNA: true })).toBe(true);
    const [own] = await conn.getToken({ secret, lifetime: 700 });
    expect(await conn.deleteToken(secret, { token: '', skipNA: true })).toBe(true);
    expect((await conn.checkToken(own)).accepted).toBe(false);
    const refused = await refusalOf(conn.deleteToken(secret, { token, skipNA: false }));
    expect(refused.code).toBe('NOT_FOUND');
    expect(await conn.deleteToken(secret, { token, skipNA: true })).toBe(true);
  });

  // holds: C9.5
  test.each([
    () => {
      throw new Error('a bug of the caller');
    },
    async () => {
      throw new Error('a bug of the caller');
    },
  ])('a callback that fails does not lose a token', async (fail) => {
    const conn = connect(await start(), { onStart: fail, onRequest: fail, onVersion: fail });
    const [token] = await conn.getToken();
    expect(await conn.checkToken(token)).toEqual({ accepted: true });
  });

  test('every request is known to the server, and none has a credential in its path', async () => {
    const to = await start();
    const events: string[] = [];
    const conn = connect(to, { onRequest: (event) => events.push(JSON.stringify(event)) });
    const secret = await conn.createSecret('ci');
    const [token] = await conn.getToken({ secret });
    await conn.checkToken();
    await conn.rest('GET', `/echo/${token}`);
    await conn.deleteToken(secret);
    await conn.dropSecret('ci');
    await conn.ping();
    expect(unknownRoutes(to)).toEqual([]);
    expect(events.length).toBe(to.requests.length);
    expect(events.join('\n')).not.toMatch(new RegExp(`${secret}|${token}`));
  });
});

describe.each(SERVERS_3)('$serverVersion', ({ serverVersion, generation }) => {
  const start = (options = {}) => sandbox({ serverVersion, ...options });

  // holds: C9.3
  test('getToken returns token, Unix time and ISO 8601', async () => {
    const conn = connect(await start());
    const tuple = await conn.getToken({ secret: await conn.createSecret('ci'), lifetime: 900 });
    expect(tuple).toEqual([
      expect.stringMatching(/^[a-z0-9]{32}$/),
      expect.any(Number),
      expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    ]);
    const [, unix, iso] = tuple as [string, number, string];
    expect(Date.parse(iso)).toBe(unix * 1000);
    expect(Math.abs(unix - (now() + 900))).toBeLessThan(10);
  });

  // holds: C10.5
  test('a token goes into no URL because of a version that was only given', async () => {
    const to = await start();
    const conn = connect(to, { serverVersion: '3.1' });
    const token = defined((await connect(to).getToken({ secret: await conn.createSecret('ci') }))[0]);
    const ended = await Promise.allSettled([
      conn.refreshToken({ token }),
      conn.deleteToken(undefined, { token }),
    ]);
    const sent = to.requests.filter(({ query }) => query.token !== undefined);
    expect(sent).toHaveLength(generation === '3.0' ? 2 : 0);
    if (generation === '3.0') return;
    const refused = {
      code: 'USAGE',
      message: `Nothing was sent: the version is set to 3.1, but ${to.gsqlUrl} is 3.10.1.`,
    };
    expect(ended).toMatchObject([{ reason: refused }, { reason: refused }]);
  });

  test('the token paths and methods are those of 3.x', async () => {
    const to = await start();
    const conn = connect(to);
    const secret = await conn.createSecret('ci');
    await conn.getToken({ secret });
    await conn.refreshToken({ secret });
    await conn.deleteToken(secret);
    const calls = to.requests.filter(({ path }) => path === '/requesttoken');
    expect(calls.map(({ method }) => method)).toEqual(['POST', 'PUT', 'DELETE']);
    // A mint has its secret in the body on every version.
    expect(calls[0]?.query).toEqual(generation === '3.0' ? { lifetime: String(THIRTY_DAYS) } : {});
  });

  test('a refreshed token expires a lifetime from now, not from its old expiry', async () => {
    const to = await start();
    const conn = connect(to);
    const secret = await conn.createSecret('ci');
    const [token] = await conn.getToken({ secret, lifetime: 5000 });
    const [same, unix, iso] = await conn.refreshToken({ secret, lifetime: 900 });
    expect(same).toBe(token);
    expect(Math.abs(unix - (now() + 900))).toBeLessThan(10);
    expect(Date.parse(iso)).toBe(unix * 1000);
    to.addFault({ action: 'clock', seconds: 901 });
    expect(await conn.checkToken(token)).toMatchObject({ accepted: false });
  });

  test('refreshToken uses the connection’s own token, or the one that is given', async () => {
    const conn = connect(await start());
    const secret = await conn.createSecret('ci');
    const { token: other } = await conn.mintToken({ secret });
    const [own] = await conn.getToken({ secret });
    expect((await conn.refreshToken({ secret }))[0]).toBe(own);
    expect((await conn.refreshToken({ secret, token: other, setToken: false }))[0]).toBe(other);
    expect(conn.apiToken).toBe(own);
    await conn.refreshToken({ secret, token: other });
    expect(conn.apiToken).toBe(other);
  });

  test('refreshToken sends the default lifetime', async () => {
    const conn = connect(await start());
    const secret = await conn.createSecret('ci');
    await conn.getToken({ secret, lifetime: 60 });
    const renewed = await conn.renewToken({ secret });
    expect(Math.abs(renewed.grantedSeconds - THIRTY_DAYS)).toBeLessThanOrEqual(1);
  });

  test('a secret is bound to one graph, which the list names', async () => {
    const to = await start({ graphs: ['demo', 'other'] });
    await connect(to).createSecret('ci');
    expect(await connect(to).listSecrets()).toEqual([
      { alias: 'ci', masked: expect.stringContaining('****'), graph: 'demo' },
    ]);
    expect(await connect(to, { graph: 'other' }).listSecrets()).toEqual([]);
  });

  // holds: C3.9
  test('secret commands and mints by password require a graph, and mints from a secret do not send one', async () => {
    const to = await start();
    const secret = await connect(to).createSecret('ci');
    const asked = to.requests.length;
    const conn = connect(to, { graph: undefined, serverVersion });
    for (const call of [conn.getSecrets(), conn.createSecret('x'), conn.dropSecret('x'), conn.getToken()]) {
      const refused = await refusalOf(call);
      expect(refused).toMatchObject({ code: 'USAGE', option: 'graph' });
    }
    expect(to.requests.length).toBe(asked);
    await connect(to, { graph: 'nowhere' }).getToken({ secret });
    expect(to.requests.at(-1)?.fields).not.toContain('graph');
    expect(to.requests.at(-1)?.query).not.toHaveProperty('graph');
  });
});

describe('4.1.2', () => {
  const start = (options = {}) => sandbox({ serverVersion: '4.1.2', ...options });

  // holds: C9.3
  test('getToken returns the token and its expiry as the server wrote it', async () => {
    const zone = { name: 'HKT', offsetMinutes: 480 };
    const conn = connect(await start({ switches: { zone } }));
    const tuple = await conn.getToken({ secret: await conn.createSecret('ci') });
    expect(tuple).toEqual([
      expect.stringMatching(/^eyJ/),
      expect.stringMatching(/^\w{3} \w{3} \d\d \d\d:\d\d:\d\d HKT \d{4}$/),
    ]);
  });

  test('refreshToken throws and sends nothing', async () => {
    const to = await start();
    const conn = connect(to, { apiToken: 'x.y.z', serverVersion: '4.1.2' });
    for (const call of [conn.refreshToken(), conn.refreshToken({ secret: '0'.repeat(32), token: 'x.y.z' })]) {
      const refused = await refusalOf(call);
      expect(refused.code).toBe('UNSUPPORTED');
      expect(refused.fix).toContainEqual({ command: 'token get --fresh' });
    }
    expect(to.requests).toEqual([]);
    await refusalOf(connect(to).refreshToken({ token: 'x.y.z' }));
    expect(to.requests.map(({ path }) => path)).toEqual(['/gsql/v1/version']);
  });

  // holds: C3.9
  test('the graph is sent with a mint only when set', async () => {
    const to = await start();
    const secret = await connect(to, { graph: undefined }).createSecret('ci');
    const minted = connect(to, { graph: undefined });
    await minted.getToken({ secret });
    expect(to.requests.at(-1)?.fields).toEqual(['secret', 'lifetime']);
    await connect(to).getToken({ secret });
    expect(to.requests.at(-1)?.fields).toEqual(['secret', 'graph', 'lifetime']);
  });

  test('a secret logs in if no password is given', async () => {
    const to = await start();
    const secret = await connect(to).createSecret('ci');
    const conn = connect(to, { username: undefined, password: undefined, secret });
    expect(Object.keys(await conn.getSecrets())).toEqual(['ci']);
    const [token] = await conn.getToken();
    expect(to.requests.at(-1)).toMatchObject({ login: 'none', fields: expect.arrayContaining(['secret']) });
    expect(await conn.deleteToken(secret)).toBe(true);
    expect(to.requests.at(-1)).toMatchObject({ login: 'gsql-secret' });
    expect(await conn.checkToken(token)).toMatchObject({ accepted: false });
  });

  test('a token can be deleted without other credentials, because it logs in by itself', async () => {
    const to = await start();
    const { token } = await connect(to).mintToken();
    const conn = connect(to, { username: undefined, password: undefined, apiToken: token });
    expect(await conn.deleteToken(undefined)).toBe(true);
    expect(to.requests.at(-1)).toMatchObject({ login: 'bearer' });
  });

  test('a full block list is a refusal, not a missing token', async () => {
    const conn = connect(await start({ switches: { blockListLimit: 1 } }));
    const { token: first } = await conn.mintToken({ lifetime: 600 });
    const { token: second } = await conn.mintToken({ lifetime: 700 });
    await conn.deleteToken('', { token: first });
    const refused = await refusalOf(conn.deleteToken('', { token: second, skipNA: true }));
    expect(refused.code).toBe('SERVER_ERROR');
    expect(refused.message).toContain('limit');
  });
});

test('the same program finds the version of the server by itself, with one request', async () => {
  for (const { serverVersion, generation } of SERVERS) {
    const to = await sandbox({ serverVersion });
    const conn = connect(to);
    expect(await conn.findVersion()).toMatchObject({
      generation,
      version: serverVersion,
      canRefresh: generation !== '4',
    });
    await Promise.all([conn.findVersion(), conn.getSecrets(), conn.getSecrets()]);
    const probes = to.requests.filter(({ path }) => path.endsWith('/version'));
    expect(probes.length).toBe(generation === '4' ? 1 : 2);
    expect(probes.map(({ login }) => login)).not.toContain('basic');
  }
});

test('an error keeps its message in JSON', async () => {
  const refused = await refusalOf(new GraphConnection().dropSecret([]));
  expect(JSON.parse(JSON.stringify(refused))).toMatchObject({
    code: 'USAGE',
    message: 'Name at least one secret to drop; an alias must not be empty.',
  });
});

// holds: C9.4
test.each(['3.10.1', '4.1.3'])(
  'null, which callers without types pass, counts as not given (%s)',
  async (serverVersion) => {
    const to = await sandbox({ serverVersion });
    const none = { host: null, tls: { ca: null }, proxy: null, onVersion: null, signal: null } as never;
    const conn = connect(to, none) as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>;
    conn.apiToken = null as never;
    await conn.getToken?.(null);
    await conn.getToken?.({ secret: null, lifetime: null, signal: null });
    await conn.createSecret?.(null, null);
    await conn.checkToken?.(null);
    expect(await conn.rest?.('GET', '/echo', { body: null, headers: null })).toMatchObject({ status: 200 });
    await conn.deleteToken?.(null, null);
  },
);
