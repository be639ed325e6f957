// Who may do what on the sandbox’s servers, by which method and from which version on, as far as no transcript shows it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.js';
import { temporaryHome } from '../helpers/cli.js';
import { basic, demo, LOGIN, NOW, READER, raw, SECRET, start } from './sandbox-raw.js';

interface Answer {
  readonly status: number;
  readonly error: boolean;
  readonly code?: string;
  readonly message: string;
  readonly token?: string;
  readonly results?: unknown;
}
const ask = async (base: string, request: string, headers: object = {}, body: object | string = '') => {
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  const reply = await raw(base, request, headers as Record<string, string>, sent);
  return { status: reply.status, ...(JSON.parse(reply.body) as object) } as Answer;
};
const bearer = (token = '') => ({ Authorization: `Bearer ${token}` });
const SECOND = { Authorization: basic('second', 'pass:with:colons') };
const OTHER = 'other000000000000000000000000002';
const SECRETS = [
  { alias: 'demo_alias', value: SECRET, user: 'demo_user', graph: 'demo_graph' },
  { alias: 'demo_alias', value: OTHER, user: 'second', graph: 'other_graph' },
];

it.each([
  ['3.10.1', 'rest', ['PUT /echo', 'POST /version', 'POST /echo/demo_graph', 'POST /version/demo_graph']],
  ['3.10.1', 'rest', ['POST /graph/demo_graph/vertices/City', 'GET /graph/demo_graph/vertices']],
  ['3.10.1', 'gsql', ['POST /api/ping', 'GET /expiredtoken', 'GET /gsqlserver/expiredtoken', 'GET /other']],
  ['3.6.0', 'gsql', ['DELETE /expiredtoken', 'DELETE /gsqlserver/expiredtoken']],
  ['4.1.2', 'gsql', ['PUT /gsql/v1/statements', 'POST /gsql/v1/version', 'GET /gsql/v1/tokens/check']],
  ['4.1.2', 'gsql', ['POST /gsql/v1/auth/simple', 'POST /gsql/v1/statements/1', 'GET /gsql/v1/nothing']],
] as const)('%s does not imitate other methods and paths (%s)', async (serverVersion, port, requests) => {
  const sandbox = await start({ serverVersion, restAuth: port === 'rest' ? 'off' : 'on' });
  const base = port === 'rest' ? sandbox.restUrl : sandbox.gsqlUrl;
  for (const request of requests)
    expect([request, (await raw(base, request, LOGIN)).status]).toEqual([request, 501]);
});

it('the REST server has no endpoint of the GSQL server, and a 4.0 like 3.11 no other than its own', async () => {
  const sandbox = await start();
  for (const path of ['/v1/tokens', '/gsql/v1/tokens', '/requesttokens'])
    expect(await ask(sandbox.restUrl, `GET ${path}`, LOGIN)).toMatchObject({
      status: 404,
      code: 'REST-1000',
    });
  const old = await start({ serverVersion: '4.0.0', switches: { tokensOn40: 'as-3.11' } });
  const status = async (path: string) => (await raw(old.gsqlUrl, `GET /gsql/v1/${path}`, LOGIN)).status;
  expect([await status('version'), await status('versions'), await status('tokens')]).toEqual([
    200, 404, 404,
  ]);
});

it('the last hundred calls that were not imitated are listed', async () => {
  const sandbox = await start();
  for (let i = 0; i <= 100; i++) await raw(sandbox.gsqlUrl, `GET /nothing/${i}`);
  expect(sandbox.unknownRoutes).toHaveLength(100);
  expect(sandbox.unknownRoutes[0]).toBe('GET /nothing/1');
});

describe('the REST server of 3.x', () => {
  it('takes a token of less than twelve characters for none', async () => {
    const sandbox = await start();
    await raw(sandbox.gsqlUrl, 'POST /__sandbox/texts', {}, '{"missingToken":{"message":"none"}}');
    const message = async (token: string) => (await ask(sandbox.restUrl, 'GET /echo', bearer(token))).message;
    expect(await message('x'.repeat(11))).toBe('none');
    expect(await message('x'.repeat(12))).not.toBe('none');
  });

  it('refuses the token of a user who has gone', async () => {
    const stateFile = join(temporaryHome(), 'state.json');
    const before = await demo({ stateFile, secrets: SECRETS });
    const { token } = await ask(before.restUrl, 'POST /requesttoken', {}, { secret: OTHER });
    await before.close();
    const state = JSON.parse(readFileSync(stateFile, 'utf8')) as { users: { name: string }[] };
    state.users = state.users.filter(({ name }) => name !== 'second');
    writeFileSync(stateFile, JSON.stringify(state));
    const after = await start({ stateFile, users: [], secrets: [] });
    expect((await ask(after.restUrl, 'GET /echo', bearer(token))).code).toBe('REST-10016');
    // The secret of such a user is none either.
    expect((await ask(after.restUrl, 'POST /requesttoken', {}, { secret: OTHER })).error).toBe(true);
  });

  it('decodes the names in a path, and a limit is a whole number', async () => {
    const sandbox = await start({ restAuth: 'off' });
    const get = (path: string) => ask(sandbox.restUrl, `GET ${path}`);
    expect((await get('/echo/demo%5Fgraph')).error).toBe(false);
    expect((await get('/graph/demo%5Fgraph/vertices/Ci%74y')).results).toHaveLength(3);
    expect((await get('/graph/demo_graph/vertices/City/?limit=2')).results).toHaveLength(2);
    expect((await get('/graph/demo_graph/vertices/City?limit=0')).results).toHaveLength(0);
    for (const limit of ['a1', '1a', '-1', ''])
      expect((await get(`/graph/demo_graph/vertices/City?limit=${limit}`)).error).toBe(true);
  });
});

describe('requesttoken of 3.x', () => {
  const mint = (sandbox: Sandbox, body: object, headers: object = {}, query = '') =>
    ask(sandbox.restUrl, `POST /requesttoken${query}`, headers, body);
  const tokenOf = ({ token, results }: Answer) => token ?? (results as { token: string }).token;

  it('has a content type from 3.6.3 on', async () => {
    for (const [serverVersion, type] of [
      ['3.6.2', undefined],
      ['3.6.3', 'application/json'],
    ] as const) {
      const sandbox = await start({ serverVersion });
      const reply = await raw(sandbox.restUrl, 'POST /requesttoken', {}, `{"secret":"${SECRET}"}`);
      expect([serverVersion, reply.headers['content-type']]).toEqual([serverVersion, type]);
    }
  });

  it('gives an existing token from 3.9.3 on, of the same user and graph, with a day left', async () => {
    const old = await start({ serverVersion: '3.9.2' });
    const allowed = { secret: SECRET, allowExisting: true };
    expect((await mint(old, allowed)).token).not.toBe((await mint(old, allowed)).token);

    let clock = NOW;
    const sandbox = await start({ serverVersion: '3.9.3', now: () => clock * 1000, secrets: SECRETS });
    const first = await mint(sandbox, { secret: SECRET, lifetime: 100_000 });
    expect((await mint(sandbox, { secret: SECRET }, {}, '?allowExisting=true')).token).toBe(first.token);
    await mint(sandbox, { ...allowed, lifetime: 100_000 });
    clock += 100_000 - 86_400;
    const again = await mint(sandbox, { ...allowed, lifetime: 86_400 });
    expect(again.token).toBe(first.token);
    clock += 1;
    expect((await mint(sandbox, allowed)).token).not.toBe(first.token);

    const byPassword = (graph: string, headers: object) =>
      mint(sandbox, { graph, allowExisting: true }, headers).then(tokenOf);
    const own = await byPassword('demo_graph', LOGIN);
    expect(await byPassword('demo_graph', LOGIN)).toBe(own);
    expect(await byPassword('other_graph', LOGIN)).not.toBe(own);
    expect(await byPassword('demo_graph', SECOND)).not.toBe(own);
  });

  it('makes a token for the graph of its secret, whatever graph is named', async () => {
    const sandbox = await start();
    const { token } = await mint(sandbox, { secret: SECRET, graph: 'other_graph' });
    const code = async (graph: string) =>
      (await ask(sandbox.restUrl, `GET /graph/${graph}/vertices/City`, bearer(token))).code;
    expect([await code('demo_graph'), await code('other_graph')]).toEqual([undefined, 'REST-10018']);
  });

  it('lets a user change tokens of every graph by password, and those of nobody else', async () => {
    const sandbox = await start({ secrets: SECRETS });
    const { token } = await mint(sandbox, { secret: OTHER });
    const foreign = (await mint(sandbox, { secret: SECRET })).token;
    const refresh = (more: object, headers: object = {}) =>
      ask(sandbox.restUrl, 'PUT /requesttoken', headers, more);
    expect((await refresh({ token }, SECOND)).error).toBe(false);
    expect((await refresh({ token: foreign }, SECOND)).error).toBe(true);
    expect((await refresh({ token: foreign, secret: OTHER })).error).toBe(true);
    await raw(sandbox.gsqlUrl, 'POST /__sandbox/texts', {}, '{"missingToken3":{"message":"missing"}}');
    expect(await refresh({}, SECOND)).toMatchObject({ error: true, message: 'missing' });
  });

  it('refuses a lifetime above the limit of the server, and tells no login from a wrong one', async () => {
    const sandbox = await start({ switches: { maxLifetime: 100 } });
    expect((await mint(sandbox, { secret: SECRET, lifetime: 100 })).error).toBe(false);
    expect((await mint(sandbox, { secret: SECRET, lifetime: 101 })).error).toBe(true);
    await raw(
      sandbox.gsqlUrl,
      'POST /__sandbox/texts',
      {},
      '{"noLogin3":{"message":"none"},"badLogin3":{"message":"bad"}}',
    );
    const graph = { graph: 'demo_graph', lifetime: 1 };
    expect((await mint(sandbox, graph)).message).toBe('none');
    expect((await mint(sandbox, graph, { Authorization: basic('demo_user', 'wrong') })).message).toBe('bad');
  });
});

it.each([
  ['3.9.3', 'not in correct format'],
  ['3.10.1', 'is invalid'],
])(
  'the REST server of %s refuses the JWT of a provider that is not set up: %s',
  async (serverVersion, why) => {
    const sandbox = await start({ serverVersion });
    const jwt = ['{"alg":"RS256"}', '{"sub":"demo_user"}', 'x'].map((part) =>
      Buffer.from(part).toString('base64url'),
    );
    const reply = await ask(sandbox.restUrl, 'GET /echo', bearer(jwt.join('.')));
    expect(reply.message).toContain(why);
  },
);

it.each([
  ['3.10.1', '/gsqlserver/gsql/schema?graph=', '&'],
  ['4.2.0', '/gsql/v1/schema/graphs/', '?'],
])(
  'the GSQL server of %s shows the schema of a graph, and one type of it',
  async (serverVersion, path, next) => {
    const sandbox = await start({ serverVersion });
    const get = (what: string, headers: object = LOGIN) =>
      ask(sandbox.gsqlUrl, `GET ${path}${what}`, headers);
    expect(await get('demo_graph')).toMatchObject({
      results: { GraphName: 'demo_graph', EdgeTypes: [{ Name: 'lives_in' }] },
    });
    expect(await get(`demo_graph${next}type=City`)).toMatchObject({ results: { Name: 'City' } });
    expect((await get(`demo_graph${next}type=None`)).error).toBe(true);
    expect((await get('none')).error).toBe(true);
    expect((await get('demo_graph', {})).status).toBe(401);
  },
);

it('a 4.x server lists its graphs, its REST server its endpoints, and other paths for a token are 404', async () => {
  const sandbox = await start({ serverVersion: '4.2.0' });
  const graphs = await raw(sandbox.gsqlUrl, 'GET /gsql/v1/schema/graphs', LOGIN);
  expect(JSON.parse(graphs.body).graphs).toContainEqual({ GraphName: 'demo_graph' });
  expect((await raw(sandbox.gsqlUrl, 'GET /gsql/v1/schema/graphs')).status).toBe(401);
  expect((await raw(sandbox.gsqlUrl, 'POST /gsql/v1/auth/token', LOGIN)).status).toBe(404);
  const { token } = await ask(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', {}, { secret: SECRET });
  const endpoints = async (query: string) =>
    JSON.parse((await raw(sandbox.restUrl, `GET /endpoints${query}`, bearer(token))).body) as object;
  expect(await endpoints('')).toHaveProperty('GET /echo');
  expect(await endpoints('/demo_graph?dynamic=true')).toEqual({});
});

describe('the shell of 3.x', () => {
  const shell = async (sandbox: Sandbox, path: string, headers: object, body: string) => {
    const reply = await raw(
      sandbox.gsqlUrl,
      `POST /gsqlserver/gsql/${path}`,
      headers as Record<string, string>,
      body,
    );
    const cookie =
      /^__GSQL__COOKIES__,(.*)$/m.exec(reply.body)?.[1] ?? String(reply.headers['set-gsql-cookie']);
    return { body: reply.body, cookie: JSON.parse(cookie) as Record<string, unknown> };
  };

  it('keeps its session, under both names of the header, and a graph that has gone is none', async () => {
    const sandbox = await start();
    const sent = { sessionId: 's1', graph: 'demo_graph', fromGsqlClient: true, terminalWidth: 120 };
    for (const name of ['GSQL-Cookie', 'Cookie']) {
      const headers = { ...LOGIN, [name]: JSON.stringify(sent) };
      const { body, cookie } = await shell(sandbox, 'file', headers, 'SHOW SECRET');
      expect(cookie).toMatchObject(sent);
      expect(body).toContain('- Alias: demo_alias');
    }
    const gone = { ...LOGIN, 'GSQL-Cookie': JSON.stringify({ ...sent, graph: 'gone' }) };
    expect((await shell(sandbox, 'file', gone, 'SHOW SECRET')).cookie).not.toHaveProperty('graph');
    const odd = {
      ...LOGIN,
      'GSQL-Cookie': '{"sessionId":1,"terminalWidth":"9","fromGsqlClient":"yes","graph":1}',
    };
    const { cookie } = await shell(sandbox, 'file', odd, 'SHOW SECRET');
    expect(cookie).toMatchObject({ terminalWidth: 80, fromGsqlClient: false });
    expect(cookie.sessionId).toMatch(/^00000000[a-z0-9]{3}$/);
  });

  it('is given what it sent as its login, and by a secret the graph of that and no other', async () => {
    const graphs = ['demo_graph', 'other_graph'];
    const sandbox = await start({ graphs });
    const Authorization = basic('__GSQL__secret', SECRET);
    const sent = { ...LOGIN, Authorization };
    const { body, cookie } = await shell(sandbox, 'file', sent, 'SHOW SECRET\nUSE GRAPH other_graph');
    expect(cookie).toMatchObject({ auth: Authorization, graph: 'demo_graph' });
    expect(body).toMatch(/- Alias: demo_alias\n.*\nGraph 'other_graph' does not exist\.\n/);
    const encoded = Authorization.slice('Basic '.length);
    const graph = 'demo_graph';
    expect((await shell(sandbox, 'login', {}, encoded)).cookie).toMatchObject({ auth: Authorization, graph });
    const other = { 'GSQL-Cookie': '{"graph":"other_graph"}' };
    const refused = await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/login', other, encoded);
    expect(refused.body).toContain('does not exist');
    expect(refused.headers).not.toHaveProperty('set-gsql-cookie');
    const mint = (body: object) => ask(sandbox.restUrl, 'POST /requesttoken', { Authorization }, body);
    const { results } = await mint({});
    expect(results).toMatchObject({ token: expect.any(String) });
    expect(await mint({ graph: 'other_graph' })).toMatchObject({ error: true });
  });

  it('logs in with a body that is URL-encoded and ends with a line end', async () => {
    const sandbox = await start();
    const encoded = encodeURIComponent(LOGIN.Authorization.slice('Basic '.length));
    const { cookie } = await shell(sandbox, 'login', {}, `${encoded}\n`);
    expect(cookie.auth).toBe(LOGIN.Authorization);
  });

  it('shows the failed logins of its user, and roles by kind', async () => {
    const sandbox = await start();
    await raw(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', {
      Authorization: basic('watcher', 'wrong'),
    });
    const wrong = { Authorization: basic('demo_user', 'wrong') };
    for (let i = 0; i < 2; i++) await raw(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', wrong);
    // Only a login by password ends the count.
    const { body } = await shell(sandbox, 'file', { Authorization: `GSQL-Secret ${SECRET}` }, 'SHOW USER');
    expect(body).toContain('- FailedAttempts: 2\n');
    const reader = await shell(sandbox, 'file', READER, 'SHOW USER');
    expect(reader.body).toContain("- Global Roles: \n    - Graph 'demo_graph' Roles: queryreader\n");
    const admin = await ask(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', SECOND);
    expect(admin).toMatchObject({ isSuperUser: false });
    expect(await ask(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', LOGIN)).toMatchObject({
      isSuperUser: true,
    });
  });

  it('ends with the code of a failed statement, although the next one succeeds', async () => {
    const sandbox = await start();
    const text = 'USE GRAPH demo_graph; DROP SECRET nobody; SHOW SECRET; USE GRAPH demo_graph';
    expect((await shell(sandbox, 'file', LOGIN, text)).body).toMatch(/__GSQL__RETURN__CODE__,212\n$/);
    for (const wrong of ['USE GRAPH ;', 'DROP SECRET ;', 'DROP SECRET ,', 'DROP SECRET a, ;'])
      expect((await shell(sandbox, 'file', LOGIN, wrong)).body).toMatch(/Encountered "[;,]"/);
  });

  it('has no token of the old JDBC path while REST authentication is off', async () => {
    const sandbox = await start({ serverVersion: '3.2.0', restAuth: 'off' });
    const reply = await ask(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/authtoken?graph=demo_graph', LOGIN);
    expect(reply.error).toBe(true);
  });
});

describe('4.x', () => {
  const V4 = { serverVersion: '4.1.2', secrets: SECRETS };
  const mint = (sandbox: Sandbox, body: object, headers: object = {}) =>
    ask(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', headers, body);
  const create = (sandbox: Sandbox, query: string, headers: object = LOGIN) =>
    ask(sandbox.gsqlUrl, `POST /gsql/v1/secrets?${query}`, headers);
  const expiry = ({ token = '' }: Answer) =>
    (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { exp: number }).exp;

  it('takes a value of up to 256 printable characters without a comma, which no other secret has', async () => {
    const sandbox = await start(V4);
    expect((await create(sandbox, `alias=a&value=${'v'.repeat(256)}`)).error).toBe(false);
    for (const value of ['w'.repeat(257), 'a,b', 'a%20b', '%C3%A4', OTHER])
      expect([value, (await create(sandbox, `alias=b&value=${value}`)).error]).toEqual([value, true]);
  });

  it('has aliases for each user, and decodes one in a path', async () => {
    const sandbox = await start(V4);
    expect((await create(sandbox, 'alias=mine', SECOND)).error).toBe(false);
    expect((await create(sandbox, 'alias=mine')).error).toBe(false);
    const one = (name: string, headers: object) =>
      ask(sandbox.gsqlUrl, `GET /gsql/v1/secrets/${name}`, headers);
    expect((await one('demo%5Falias', SECOND)).results).toMatchObject({ value: OTHER });
    await create(sandbox, 'alias=alone', SECOND);
    expect((await one('alone', LOGIN)).error).toBe(true);
    const own = await ask(sandbox.gsqlUrl, 'GET /gsql/v1/secrets?userName=second', SECOND);
    expect(own.results).toHaveLength(3);
  });

  it('gives the holder of a token for one graph no secrets, and tokens for that graph alone', async () => {
    const sandbox = await start(V4);
    const { token } = await mint(sandbox, { secret: SECRET, graph: 'demo_graph' });
    const refused = await ask(sandbox.gsqlUrl, 'GET /gsql/v1/secrets', bearer(token));
    expect(refused).toMatchObject({ error: true, message: expect.stringContaining('global') });
    expect((await mint(sandbox, { graph: 'demo_graph' }, bearer(token))).error).toBe(false);
    const other = await mint(sandbox, { graph: 'other_graph' }, bearer(token));
    expect(other).toMatchObject({ error: true, message: expect.stringContaining('other_graph') });
    const forAll = (await mint(sandbox, { secret: SECRET })).token;
    expect((await ask(sandbox.gsqlUrl, 'GET /gsql/v1/secrets', bearer(forAll))).error).toBe(false);
  });

  it('counts a part of a second as none, and refuses a lifetime whose end is no date', async () => {
    const sandbox = await start({ ...V4, lifetimeUnit: 'ms' });
    expect(expiry(await mint(sandbox, { secret: SECRET, lifetime: 1999 }))).toBe(NOW + 1);
    const seconds = await start(V4);
    expect((await mint(seconds, { secret: SECRET, lifetime: 100_000_000_000 })).error).toBe(false);
    expect((await mint(seconds, { secret: SECRET, lifetime: 100_000_000_001 })).error).toBe(true);
  });

  it('makes a secret for a token by password alone, for each user who may have one', async () => {
    const sandbox = await start(V4);
    const aliases = async (user: string) => {
      const { results } = await ask(sandbox.gsqlUrl, `GET /gsql/v1/secrets?userName=${user}`, LOGIN);
      return (results as { alias: string }[]).filter(({ alias }) => alias.startsWith('AUTO')).length;
    };
    const { token } = await mint(sandbox, { secret: SECRET });
    await mint(sandbox, {}, bearer(token));
    expect(await aliases('demo_user')).toBe(0);
    await mint(sandbox, {}, LOGIN);
    await mint(sandbox, {}, SECOND);
    await mint(sandbox, {}, READER);
    expect([await aliases('demo_user'), await aliases('second'), await aliases('watcher')]).toEqual([
      1, 1, 0,
    ]);
  });

  it('drops no token of which one is none, and counts a token that is named twice once', async () => {
    let clock = NOW;
    const sandbox = await start({ ...V4, switches: { blockListLimit: 2 }, now: () => clock * 1000 });
    const drop = (...tokens: (string | undefined)[]) =>
      ask(sandbox.gsqlUrl, 'DELETE /gsql/v1/tokens', LOGIN, { tokens });
    const made = async (lifetime: number) => (await mint(sandbox, { secret: SECRET, lifetime })).token;
    const [one, two, three, short] = [await made(60), await made(61), await made(62), await made(10)];
    expect((await drop(one, 'nonsense')).error).toBe(true);
    clock += 10;
    expect((await drop(one, one, two, short)).error).toBe(false);
    expect((await drop(two)).error).toBe(false);
    expect((await drop(three)).error).toBe(true);
  });

  it('asks for a login to delete tokens once the default account has another password', async () => {
    const users = [{ name: 'tigergraph', password: 'changed', role: 'superuser' as const }];
    const sandbox = await start({ serverVersion: '4.1.2', users, secrets: [] });
    const { token } = await mint(sandbox, {}, { Authorization: basic('tigergraph', 'changed') });
    expect((await ask(sandbox.gsqlUrl, 'DELETE /gsql/v1/tokens', {}, { tokens: token })).status).toBe(401);
  });

  it('says of a request without waiting whether it failed', async () => {
    const sandbox = await start(V4);
    const outcome = async (text: string) => {
      const queued = await ask(sandbox.gsqlUrl, 'POST /gsql/v1/statements?async=true', LOGIN, text);
      const { requestId } = queued.results as { requestId: string };
      return ask(sandbox.gsqlUrl, `GET /gsql/v1/statements/${requestId}`, LOGIN);
    };
    expect(await outcome('SHOW SECRET')).toMatchObject({
      error: false,
      message: expect.stringContaining('SUCCESS'),
    });
    expect(await outcome('DROP SECRET x')).toMatchObject({
      error: true,
      message: expect.stringContaining('FAILED'),
    });
  });

  it('prefers an alias to a value of the same letters', async () => {
    const secrets = [
      { alias: 'first', value: 'twin', user: 'demo_user', graph: 'demo_graph' },
      { alias: 'twin', value: 'second', user: 'demo_user', graph: 'demo_graph' },
    ];
    const sandbox = await start({ serverVersion: '4.1.2', secrets });
    await ask(sandbox.gsqlUrl, 'DELETE /gsql/v1/secrets/twin', LOGIN);
    const left = await ask(sandbox.gsqlUrl, 'GET /gsql/v1/secrets', LOGIN);
    expect(left.results).toEqual([{ alias: 'first', value: 'twin' }]);
  });

  it('shows nothing of a short text that was sent as a token', async () => {
    const sandbox = await start(V4);
    const reply = await raw(sandbox.restUrl, 'GET /echo', { Authorization: 'GSQL-Secret elevenchars' });
    expect(reply.body).toContain('****');
    expect(reply.body).not.toMatch(/elev|hars/);
  });
});

it('a secret that is given again replaces the one of the same alias, user and graph, and no other', async () => {
  const folder = temporaryHome();
  const stateFile = join(folder, 'state.json');
  const one = { alias: 'one', value: 'first', user: 'demo_user', graph: 'demo_graph' };
  const others = [
    { ...one, alias: 'two', value: 'a' },
    { ...one, user: 'second', value: 'b' },
    { ...one, graph: 'other_graph', value: 'c' },
  ];
  const before = await demo({ stateFile, secrets: [one, ...others] });
  await before.close();
  const after = await demo({ stateFile, secrets: [{ ...one, value: 'new' }] });
  await after.close();
  const state = JSON.parse(readFileSync(stateFile, 'utf8')) as {
    secrets: { value: string }[];
    users: object[];
  };
  expect(state.secrets.map(({ value }) => value)).toEqual(['a', 'b', 'c', 'new']);
  expect(state.users).toHaveLength(3);
});
