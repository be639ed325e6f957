import { createHmac } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseFault } from '../../src/sandbox/faults/faults.js';
import { readJwt, signJwt } from '../../src/sandbox/jwt.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { temporaryHome } from '../helpers/cli.js';
import { basic, demo, LOGIN, NOW, raw, SECRET, start } from './sandbox-raw.js';

const answer = async (base: string, request: string, body: object = {}, headers = {}) => {
  const reply = await raw(base, request, headers, JSON.stringify(body));
  return { status: reply.status, ...(JSON.parse(reply.body) as Record<string, unknown>) } as {
    status: number;
    code?: string;
    error: boolean;
    message: string;
    token: string;
  };
};
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

describe('a login that is throttled', () => {
  const wrong = { Authorization: basic('demo_user', 'wrong') };
  const tries = async (sandbox: Sandbox, times: number) => {
    for (let i = 0; i < times; i++) await raw(sandbox.gsqlUrl, 'GET /gsql/v1/secrets', wrong);
  };
  const login = (sandbox: Sandbox) => raw(sandbox.gsqlUrl, 'GET /gsql/v1/secrets', LOGIN);

  it('is told to wait for a second until the last moment, and then let in', async () => {
    let nowMs = NOW * 1000;
    const sandbox = await start({ serverVersion: '4.1.2', now: () => nowMs });
    await tries(sandbox, 5);
    nowMs += 9_500;
    expect((await login(sandbox)).body).toContain('Please re-login after 1 second');
    nowMs += 500;
    expect((await login(sandbox)).status).toBe(200);
  });

  it('waits twice as long after each two further failures', async () => {
    let nowMs = NOW * 1000;
    const sandbox = await start({ serverVersion: '4.1.2', now: () => nowMs });
    await tries(sandbox, 5);
    for (const [seconds, next] of [
      [10, 20],
      [20, 40],
    ] as const) {
      nowMs += seconds * 1000;
      await tries(sandbox, 2);
      expect((await login(sandbox)).body).toContain(`Please re-login after ${next} seconds`);
    }
    nowMs += 40_000;
    await tries(sandbox, 1);
    expect((await login(sandbox)).status).toBe(200);
  });

  it('is so after five failures in a row, and a success in between begins the count anew', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    await tries(sandbox, 4);
    expect((await login(sandbox)).status).toBe(200);
    await tries(sandbox, 4);
    expect((await login(sandbox)).status).toBe(200);
  });
});

describe('a secret of one graph', () => {
  const ONE = 'one00000000000000000000000000001';
  const OTHER = 'other000000000000000000000000002';
  const secrets = [
    { alias: 'one', value: ONE, user: 'second', graph: 'demo_graph' },
    { alias: 'other', value: OTHER, user: 'second', graph: 'other_graph' },
  ];

  it('is refused by the REST server for another graph on 3.x, and accepted on 4.x', async () => {
    const old = await start({ secrets });
    const headers = { Authorization: `GSQL-Secret ${ONE}` };
    const own = await answer(old.restUrl, 'GET /graph/demo_graph/vertices/City', {}, headers);
    expect(own.status).toBe(200);
    const foreign = await answer(old.restUrl, 'GET /graph/other_graph/vertices/City', {}, headers);
    expect(foreign).toMatchObject({ error: true, code: 'REST-10018' });
    const newer = await start({ serverVersion: '4.1.2', secrets });
    expect((await answer(newer.restUrl, 'GET /graph/other_graph/vertices/City', {}, headers)).status).toBe(
      200,
    );
  });

  it('deletes no token of another graph, and the token lives on', async () => {
    const sandbox = await start({ secrets });
    const { token } = await answer(sandbox.restUrl, 'POST /requesttoken', { secret: OTHER });
    const refused = await answer(sandbox.restUrl, 'DELETE /requesttoken', { secret: ONE, token });
    expect(refused.error).toBe(true);
    expect((await raw(sandbox.restUrl, 'GET /echo', bearer(token))).status).toBe(200);
    const done = await answer(sandbox.restUrl, 'DELETE /requesttoken', { secret: OTHER, token });
    expect(done.error).toBe(false);
  });

  it('is given no token that was made with another secret, even when an existing one will do', async () => {
    const more = { alias: 'more', value: SECRET, user: 'second', graph: 'demo_graph' };
    const sandbox = await start({ secrets: [...secrets, more] });
    const first = await answer(sandbox.restUrl, 'POST /requesttoken', { secret: ONE });
    const existing = { allowExisting: 'true' };
    const again = await answer(sandbox.restUrl, 'POST /requesttoken', { secret: ONE, ...existing });
    expect(again.token).toBe(first.token);
    const other = await answer(sandbox.restUrl, 'POST /requesttoken', { secret: SECRET, ...existing });
    expect(other.token).not.toBe(first.token);
  });
});

describe('tokens of 4.x', () => {
  const mint = (sandbox: Sandbox, more: object = {}, headers = {}) =>
    answer(sandbox.gsqlUrl, 'POST /gsql/v1/tokens', more, headers);
  const drop = (sandbox: Sandbox, tokens: string | string[], headers: object = LOGIN) =>
    answer(sandbox.gsqlUrl, 'DELETE /gsql/v1/tokens', { tokens }, headers);

  it('live no longer than the server allows, in its own unit, also when no lifetime is asked for', async () => {
    const switches = { maxLifetime: 100 };
    const seconds = await start({ serverVersion: '4.1.2', switches });
    expect((await mint(seconds, { secret: SECRET })).status).toBe(400);
    expect((await mint(seconds, { secret: SECRET, lifetime: 100 })).status).toBe(200);
    const thousandths = await start({ serverVersion: '4.1.2', switches, lifetimeUnit: 'ms' });
    expect((await mint(thousandths, { secret: SECRET, lifetime: 100_000 })).status).toBe(200);
    expect((await mint(thousandths, { secret: SECRET, lifetime: 101_000 })).status).toBe(400);
  });

  it('leave the block list when they have ended, and make room for others', async () => {
    let clock = NOW;
    const switches = { blockListLimit: 1 };
    const sandbox = await start({ serverVersion: '4.1.2', switches, now: () => clock * 1000 });
    const of = async (lifetime: number) => (await mint(sandbox, { secret: SECRET, lifetime })).token;
    const [short, long] = [await of(60), await of(600)];
    expect((await drop(sandbox, short)).status).toBe(200);
    expect((await drop(sandbox, long)).status).toBe(400);
    clock += 60;
    expect((await drop(sandbox, long)).status).toBe(200);
  });

  it('are dropped all or none: one of another user spares the others', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    const own = (await mint(sandbox, { secret: SECRET })).token;
    const foreign = (await mint(sandbox, {}, { Authorization: basic('second', 'pass:with:colons') })).token;
    expect((await drop(sandbox, [own, foreign])).error).toBe(true);
    expect((await raw(sandbox.restUrl, 'GET /echo', bearer(own))).status).toBe(200);
  });

  it('by password make one secret with a generated name, not one each', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    await mint(sandbox, { lifetime: 100 }, LOGIN);
    await mint(sandbox, { lifetime: 101 }, LOGIN);
    const { body } = await raw(sandbox.gsqlUrl, 'GET /gsql/v1/secrets', LOGIN);
    expect(body.match(/AUTO_GENERATED_ALIAS_/g)).toHaveLength(1);
  });

  it('are not deleted with a wrong password, where they would be without any', async () => {
    const sandbox = await startSandbox({ serverVersion: '4.1.2', gsqlPort: 0 });
    onTestFinished(() => sandbox.close());
    const { token } = await mint(sandbox, {}, { Authorization: basic('tigergraph', 'tigergraph') });
    const refused = await drop(sandbox, token, { Authorization: basic('tigergraph', 'wrong') });
    expect(refused.error).toBe(true);
    expect((await drop(sandbox, token, {})).error).toBe(false);
  });
});

it('a fault names its method in any case', async () => {
  const faults = [parseFault('route=get /echo,action=status,status=503')];
  const sandbox = await start({ faults, restAuth: 'off' });
  expect((await raw(sandbox.restUrl, 'GET /echo')).status).toBe(503);
  expect((await raw(sandbox.restUrl, 'POST /echo')).status).toBe(200);
});

it('the user that is named now is shown first, before those of the state file', async () => {
  const folder = temporaryHome();
  const stateFile = join(folder, 'state.json');
  const first = await start({ stateFile });
  await answer(first.restUrl, 'POST /requesttoken', { secret: SECRET });
  const again = await start({ stateFile, users: [{ name: 'later', password: 'pw', role: 'admin' }] });
  expect(again).toMatchObject({ username: 'later', password: 'pw' });
  const simple = (headers: object) => answer(again.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', {}, headers);
  expect((await simple(LOGIN)).error).toBe(false);
});

it('the state file has no expired token any more once they were removed', async () => {
  let clock = NOW;
  const { stateFile } = stateFileOf();
  const sandbox = await start({ stateFile, now: () => clock * 1000 });
  await answer(sandbox.restUrl, 'POST /requesttoken', { secret: SECRET, lifetime: 1 });
  clock += 1;
  await answer(sandbox.gsqlUrl, 'DELETE /expiredtoken', {}, LOGIN);
  expect(JSON.parse(readFileSync(stateFile, 'utf8'))).toMatchObject({ tokens: [] });
});

describe('a JWT', () => {
  const KEY = 'key';
  const CLAIMS = { sub: 'demo_user', iat: NOW, exp: NOW + 60, iss: 'TigerGraph' };
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = (header: unknown, claims: unknown, more = '') => {
    const unsigned = `${encoded(header)}.${encoded(claims)}`;
    const signature = createHmac('sha256', KEY).update(unsigned).digest('base64url');
    return `${unsigned}.${signature}${more}`;
  };
  const HS256 = { alg: 'HS256' };

  it('is read when it is whole and of this server', () => {
    expect(readJwt(signed(HS256, CLAIMS), KEY)).toEqual(CLAIMS);
    expect(readJwt(signJwt(CLAIMS, KEY), KEY)).toEqual(CLAIMS);
  });

  it.each([
    ['of four parts', signed(HS256, CLAIMS, '.more'), 'malformed'],
    ['of two parts', signed(HS256, CLAIMS).replace(/\.[^.]*$/, ''), 'malformed'],
    ['without a signature', signed(HS256, CLAIMS).replace(/[^.]*$/, ''), 'signature'],
    ['of another algorithm', signed({ alg: 'none' }, CLAIMS), 'signature'],
    ['whose head is null', signed(null, CLAIMS), 'malformed'],
    ['whose claims are null', signed(HS256, null), 'malformed'],
    ['without an end', signed(HS256, { ...CLAIMS, exp: undefined }), 'malformed'],
    ['whose user is a number', signed(HS256, { ...CLAIMS, sub: 7 }), 'malformed'],
    ['with a longer signature', signed(HS256, CLAIMS, 'xxxx'), 'signature'],
    ['with a shorter signature', signed(HS256, CLAIMS).slice(0, -4), 'signature'],
    ['of another key', signJwt(CLAIMS, 'other'), 'signature'],
  ])('%s is refused for that reason', (_what, token, reason) => {
    expect(readJwt(token, KEY)).toBe(reason);
  });
});

it('the log hides what may be a credential, and shows what is none', async () => {
  const sandbox = await start({ serverVersion: '4.1.2' });
  const logged = async (request: string, headers: Record<string, string> = {}, body = '') => {
    await raw(sandbox.gsqlUrl, request, headers, body);
    return sandbox.requests.at(-1);
  };
  const generated = 'AUTO_GENERATED_ALIAS_abc1234';
  for (const [given, shown] of [
    ['x'.repeat(24), '****'],
    ['ab-_'.repeat(6), '****'],
    ['x'.repeat(23), 'x'.repeat(23)],
    [generated, generated],
  ]) {
    expect((await logged(`GET /gsql/v1/secrets/${given}`))?.path).toBe(`/gsql/v1/secrets/${shown}`);
    expect((await logged(`GET /api/ping?alias=${given}&${given}=1`))?.query).toEqual({
      alias: shown,
      [String(shown)]: '****',
    });
  }
  for (const [Authorization, login] of [
    ['Digest abc', 'other'],
    ['bEaReR abc', 'bearer'],
    ['GSQL-Secret abc', 'gsql-secret'],
    [' ', 'none'],
  ] as const)
    expect((await logged('GET /api/ping', { Authorization }))?.login).toBe(login);
  const large = JSON.stringify({ secret: 'x'.repeat(70_000) });
  expect((await logged('POST /gsql/v1/tokens', {}, large))?.fields).toEqual([]);
  for (const [path, body, statements] of [
    ['statements', 'create secret a; Show\nSecret', ['CREATE SECRET', 'SHOW SECRET']],
    ['statements', 'DROP%0ASECRET+a%20DROP%20SECRET b', ['DROP SECRET', 'DROP SECRET']],
    ['statements', 'SHOW SECRETS_TABLE SHOW SECRET_x', []],
    ['tokens', 'DROP SECRET a', []],
  ] as const)
    expect((await logged(`POST /gsql/v1/${path}`, {}, body))?.statements).toEqual(statements);
  expect((await logged('POST /gsqlserver/gsql/command', {}, 'SHOW SECRET'))?.statements).toHaveLength(1);
});

it('the log names the fields of a body that begins with blanks, too', async () => {
  const sandbox = await start();
  await raw(sandbox.restUrl, 'POST /requesttoken', {}, `\n {"secret":"${SECRET}","lifetime":60}`);
  expect(sandbox.requests.at(-1)?.fields).toEqual(['secret', 'lifetime']);
});

const stateFileOf = () => {
  const folder = temporaryHome();
  return { folder, stateFile: join(folder, 'state.json') };
};

describe('a login', () => {
  it.each([
    ['without a scheme', 'ZGVtb191c2VyOmRlbW9fcGFzcw=='],
    ['of another scheme', 'Digest ZGVtb191c2VyOmRlbW9fcGFzcw=='],
  ])('%s is refused like a wrong one', async (_what, Authorization) => {
    const sandbox = await start();
    const reply = await raw(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', { Authorization });
    expect(reply.status).toBe(401);
  });

  it('whose name and password are not apart is refused, although its letters are those of both', async () => {
    const sandbox = await start({ users: [{ name: 'ab', password: 'abc', role: 'admin' }], secrets: [] });
    const Authorization = `Basic ${Buffer.from('abc').toString('base64')}`;
    expect((await raw(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', { Authorization })).status).toBe(
      401,
    );
  });

  it('may have blanks around and in it', async () => {
    const sandbox = await start();
    const login = { Authorization: `  basic   ${LOGIN.Authorization.slice('Basic '.length)} ` };
    expect((await raw(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', login)).status).toBe(200);
  });

  it('that is throttled gets no token on 3.x either, and the shell is told the same', async () => {
    const sandbox = await start();
    const wrong = { Authorization: basic('demo_user', 'wrong') };
    for (let i = 0; i < 5; i++) await raw(sandbox.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', wrong);
    const message = 'Too many failed logins. Please re-login after 10 seconds.';
    expect(await answer(sandbox.restUrl, 'POST /requesttoken', {}, LOGIN)).toMatchObject({
      error: true,
      message,
    });
    const shell = await raw(sandbox.gsqlUrl, 'POST /gsqlserver/gsql/login', {}, LOGIN.Authorization.slice(6));
    expect(shell.body).toContain('10 seconds');
  });
});

it('listens on the ports of a real server unless others are given', async ({ skip }) => {
  if (process.platform !== 'linux') skip('only Linux has a loopback address of its own for this test');
  const sandbox = await startSandbox({ host: '127.91.3.7' });
  onTestFinished(() => sandbox.close());
  expect([sandbox.restUrl, sandbox.gsqlUrl]).toEqual(['http://127.91.3.7:9000', 'http://127.91.3.7:14240']);
});

describe('a token of 4.x that the server made', () => {
  it('is refused with its reason when its user or its graph has gone, or another server made it', async () => {
    const { stateFile } = stateFileOf();
    const before = await start({ serverVersion: '4.1.2', stateFile });
    const second = { Authorization: basic('second', 'pass:with:colons') };
    const mint = async (body: object, headers: object) =>
      (await answer(before.gsqlUrl, 'POST /gsql/v1/tokens', body, headers)).token;
    const ofSecond = await mint({}, second);
    const ofGraph = await mint({ graph: 'other_graph' }, LOGIN);
    await before.close();
    const state = JSON.parse(readFileSync(stateFile, 'utf8')) as {
      users: { name: string }[];
      graphs: string[];
      jwtKey: string;
    };
    state.users = state.users.filter(({ name }) => name !== 'second');
    state.graphs = ['demo_graph'];
    writeFileSync(stateFile, JSON.stringify(state));
    const claims = { sub: 'demo_user', iat: NOW, exp: NOW + 60, iss: 'another' };
    const foreign = signJwt(claims, state.jwtKey);
    const own = signJwt({ ...claims, iss: 'TigerGraph' }, state.jwtKey);

    const after = await start({ serverVersion: '4.1.2', stateFile, users: [], graphs: [], secrets: [] });
    const used = async (token: string) => {
      const { status, message } = await answer(after.restUrl, 'GET /echo', {}, bearer(token));
      const checked = await answer(after.gsqlUrl, 'POST /gsql/v1/tokens/check', { token });
      return { status, message: message.replace(/.*' /, ''), checked: checked.message };
    };
    expect(await used(ofSecond)).toMatchObject({
      status: 403,
      message: 'belongs to a user that does not exist',
      checked: expect.stringContaining('the user does not exist'),
    });
    expect(await used(ofGraph)).toMatchObject({
      status: 403,
      message: 'is for a graph that does not exist',
      checked: expect.stringContaining('the graph does not exist'),
    });
    expect(await used(foreign)).toMatchObject({
      status: 403,
      message: 'has an unknown issuer',
      checked: expect.stringContaining('the issuer does not match'),
    });
    expect((await used(own)).status).toBe(200);
  });
});

describe('secrets of 4.x', () => {
  const secrets = (sandbox: Sandbox, request: string, body: object = {}) =>
    answer(sandbox.gsqlUrl, request, body, LOGIN);

  it('of a user who does not exist are an error for a superuser', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    const refused = await secrets(sandbox, 'GET /gsql/v1/secrets?userName=nobody');
    expect(refused).toMatchObject({ error: true, message: expect.stringContaining('nobody') });
  });

  it('are shown to a user who names himself, and are those of no other user', async () => {
    const sandbox = await start({
      serverVersion: '4.1.2',
      users: [{ name: 'ann', password: 'ann-pw', role: 'reader' }],
      secrets: [],
    });
    const of = (name: string) =>
      answer(
        sandbox.gsqlUrl,
        `GET /gsql/v1/secrets?userName=${name}`,
        {},
        { Authorization: basic('ann', 'ann-pw') },
      );
    expect(await of('ann')).toMatchObject({ error: false, results: [] });
    expect(await of('demo_user')).toMatchObject({ error: true });
  });

  it('may be named twice when they are dropped', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    const names = { secrets: ['demo_alias', SECRET] };
    expect((await secrets(sandbox, 'DELETE /gsql/v1/secrets', names)).error).toBe(false);
    expect(await secrets(sandbox, 'GET /gsql/v1/secrets')).toMatchObject({ results: [] });
  });

  it('have no other methods', async () => {
    const sandbox = await start({ serverVersion: '4.1.2' });
    for (const request of ['PUT /gsql/v1/secrets', 'POST /gsql/v1/secrets/ci'])
      expect((await secrets(sandbox, request)).status).toBe(501);
  });
});

describe('a call that the sandbox cannot answer', () => {
  it('is too large', async () => {
    const sandbox = await start();
    const most = 16 * 1024 * 1024;
    expect((await raw(sandbox.gsqlUrl, 'POST /api/ping', {}, 'x'.repeat(most))).status).toBe(501);
    const client = createConnection(Number(new URL(sandbox.gsqlUrl).port), '127.0.0.1');
    client.write(`POST /api/ping HTTP/1.1\r\nHost: h\r\nContent-Length: ${most + 1}\r\n\r\n`);
    client.write('x'.repeat(most + 1));
    let received = '';
    for await (const part of client) received += part;
    // The sandbox has not read all that the client sent, so the connection ends.
    expect(received).toMatch(/^HTTP\/1\.1 413 .*^Connection: close\r$/ms);
    expect(sandbox.requests).toHaveLength(1);
  });

  it('changes a state that cannot be written: it is 500, and the person who runs the sandbox is told', async () => {
    const { folder, stateFile } = stateFileOf();
    const warnings: string[] = [];
    const sandbox = await start({ stateFile, warn: (line) => warnings.push(line) });
    rmSync(folder, { recursive: true });
    const reply = await raw(sandbox.restUrl, 'POST /requesttoken', {}, `{"secret":"${SECRET}"}`);
    expect({ status: reply.status, body: reply.body }).toEqual({ status: 500, body: '' });
    expect(warnings).toEqual([expect.stringMatching(/^The sandbox failed on POST \(ENOENT/)]);
    expect((await raw(sandbox.gsqlUrl, 'GET /api/ping')).status).toBe(200);
  });
});

it('a client that leaves in the middle of its call is no failure of the sandbox', async () => {
  const warnings: string[] = [];
  const sandbox = await demo({ warn: (line) => warnings.push(line) });
  const client = createConnection(Number(new URL(sandbox.gsqlUrl).port), '127.0.0.1');
  await new Promise<void>((resolve) =>
    client.write('POST /api/ping HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf', () => resolve()),
  );
  client.resetAndDestroy();
  await raw(sandbox.gsqlUrl, 'GET /api/ping');
  await sandbox.close();
  expect(warnings).toEqual([]);
});

it('the results of the last hundred requests without waiting are there, and no older ones', async () => {
  const sandbox = await start({ serverVersion: '4.1.2' });
  const ids: string[] = [];
  for (let i = 0; i <= 100; i++) {
    const { body } = await raw(sandbox.gsqlUrl, 'POST /gsql/v1/statements?async=true', LOGIN, 'SHOW USER');
    ids.push((JSON.parse(body) as { results: { requestId: string } }).results.requestId);
  }
  const result = (id = '', login: object = LOGIN) =>
    answer(sandbox.gsqlUrl, `GET /gsql/v1/statements/${id}`, {}, login);
  expect((await result(ids[0])).error).toBe(true);
  expect((await result(ids[1])).error).toBe(false);
  expect((await result(ids[100])).error).toBe(false);
  const second = { Authorization: basic('second', 'pass:with:colons') };
  expect((await result(ids[100], second)).error).toBe(true);
});

describe('3.x', () => {
  it('before 3.5 knows no other method of requesttoken', async () => {
    const sandbox = await start({ serverVersion: '3.2.0' });
    const reply = await answer(sandbox.restUrl, 'PATCH /requesttoken');
    expect(reply).toMatchObject({ error: true, message: expect.stringContaining('PATCH') });
  });

  it('gives no token for a graph that does not exist, on the path of old JDBC drivers', async () => {
    const sandbox = await start({ serverVersion: '3.2.0' });
    const ask = (query: string) =>
      answer(sandbox.gsqlUrl, `GET /gsqlserver/gsql/authtoken${query}`, {}, LOGIN);
    expect(await ask('?graph=nowhere')).toMatchObject({ error: true });
    expect(await ask('')).toMatchObject({ error: true });
    expect(await ask('?graph=demo_graph')).toMatchObject({ error: false });
  });

  it('takes a session that is not JSON for none, and warns the shell of the default password alone', async () => {
    const users = (password: string) => [
      { name: 'tigergraph', password, role: 'superuser' as const },
      { name: 'second', password: 'tigergraph', role: 'admin' as const },
    ];
    const sandbox = await start({ users: users('tigergraph'), secrets: [] });
    const changed = await start({ users: users('changed'), secrets: [] });
    const login = async ({ gsqlUrl }: Sandbox, user: string, cookie: string) => {
      const headers = { 'GSQL-Cookie': cookie };
      const body = Buffer.from(user).toString('base64');
      const reply = await raw(gsqlUrl, 'POST /gsqlserver/gsql/login', headers, body);
      const { error, securityRecommendations } = JSON.parse(reply.body) as Record<string, unknown>;
      return { error, securityRecommendations };
    };
    const first = await login(sandbox, 'tigergraph:tigergraph', 'nonsense');
    expect(first).toEqual({ error: false, securityRecommendations: 1 });
    const own = { error: false, securityRecommendations: 0 };
    expect(await login(sandbox, 'second:tigergraph', 'null')).toEqual(own);
    expect(await login(changed, 'tigergraph:changed', '"text"')).toEqual(own);
    expect((await login(sandbox, 'second:tigergraph', '{"graph":"nowhere"}')).error).toBe(true);
  });
});
