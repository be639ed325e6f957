import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseFault } from '../../src/sandbox/args.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';
import { basic, demo, LOGIN, NOW, raw, SECRET } from './sandbox-raw.js';

const start = async (options: SandboxOptions = {}) => {
  const sandbox = await demo(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
};
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
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const stateFile = join(folder, 'state.json');
  const first = await start({ stateFile });
  await answer(first.restUrl, 'POST /requesttoken', { secret: SECRET });
  const again = await start({ stateFile, users: [{ name: 'later', password: 'pw', role: 'admin' }] });
  expect(again).toMatchObject({ username: 'later', password: 'pw' });
  const simple = (headers: object) => answer(again.gsqlUrl, 'GET /gsqlserver/gsql/simpleauth', {}, headers);
  expect((await simple(LOGIN)).error).toBe(false);
});

it('the log names the fields of a body that begins with blanks, too', async () => {
  const sandbox = await start();
  await raw(sandbox.restUrl, 'POST /requesttoken', {}, `\n {"secret":"${SECRET}","lifetime":60}`);
  expect(sandbox.requests.at(-1)?.fields).toEqual(['secret', 'lifetime']);
});
