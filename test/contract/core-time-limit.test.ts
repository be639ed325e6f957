// Tests that the time limit covers a call of the library as a whole: the request for the version, the request itself, and the requests that follow
// it. Every answer here is late, but each one alone comes within the limit.
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type ConnectionOptions, Deadline, type GraphConnection } from '../../src/index.js';
import type { Sandbox } from '../../src/sandbox/server.js';
import { connect, connectionAt, rawServer, refusalOf, SERVERS, sandbox } from './core-support.js';

const LIMIT = 1000;
/** Two answers together take longer than the limit, one alone does not. */
const LATE = 600;

async function lateSandbox(serverVersion: string, ms = LATE): Promise<Sandbox> {
  return sandbox({ serverVersion, faults: [{ action: 'delay', ms }] });
}

/** Returns the error of a call, and fails if it came too late. Only a very busy machine takes three times the limit. */
async function lateRefusal(call: () => Promise<unknown>) {
  const started = performance.now();
  const refused = await refusalOf(call());
  expect(performance.now() - started).toBeLessThan(3 * LIMIT);
  return refused;
}

const CALLS: Record<string, (connection: GraphConnection) => Promise<unknown>> = {
  getToken: (connection) => connection.getToken(),
  mintToken: (connection) => connection.mintToken(),
  getSecrets: (connection) => connection.getSecrets(),
  createSecret: (connection) => connection.createSecret('ci'),
  dropSecret: (connection) => connection.dropSecret('ci'),
  deleteToken: (connection) => connection.deleteToken('', { token: 'a'.repeat(32) }),
  checkToken: (connection) => connection.checkToken('a'.repeat(32)),
  restAuthentication: (connection) => connection.restAuthentication(),
  rest: (connection) => connection.rest('GET', '/echo'),
  service: (connection) => connection.service('GET', '/gsql/v1/secrets'),
};

/** Runs the test for all versions at once, because it only waits for servers. */
const eachVersion = (play: (serverVersion: string) => Promise<void>) =>
  Promise.all(SERVERS.map(({ serverVersion }) => play(serverVersion)));

test('a call ends when its time is over, including the request for the version', () =>
  eachVersion(async (serverVersion) => {
    const to = await lateSandbox(serverVersion);
    const ends = Object.entries(CALLS).map(async ([name, call]) => {
      const { code, message, option } = await lateRefusal(() => call(connect(to, { timeoutMs: LIMIT })));
      // On a busy machine the first answer alone may take the whole time; then the second request is not sent.
      const isTold = / had no answer within 1 s\.| was not sent: the 1 s /.test(message);
      return [name, code, isTold, option === 'timeoutMs'];
    });
    const expected = Object.keys(CALLS).map((name) => [name, 'TIMEOUT', true, true]);
    expect(await Promise.all(ends), serverVersion).toEqual(expected);
  }));

test('each call has the full time limit, and so has the token that rest() waits for', () =>
  eachVersion(async (serverVersion) => {
    const to = await lateSandbox(serverVersion);
    const connection = connect(to, { timeoutMs: LIMIT, serverVersion });
    await connection.getToken();
    await connection.getSecrets();
    connection.tokenProvider();
    expect((await connection.rest('GET', '/echo')).status).toBe(200);
  }));

test('secrets are dropped until the time is over', async () => {
  const arrived: string[] = [];
  const url = await rawServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    arrived.push(/\bci\d\b/.exec(body)?.[0] ?? '');
    await pause(LATE);
    response.end('{"error":false,"message":"","results":{}}');
  });
  const connection = at(url, { serverVersion: '4.1.2' });
  const message = expect.stringContaining('may have carried out the request');
  const late = { code: 'TIMEOUT', ambiguous: true, message };
  await expect(connection.dropSecret(['ci1', 'ci2', 'ci3'])).rejects.toMatchObject(late);
  expect(arrived).toEqual(['ci1', 'ci2']);
});

test('the value of a created secret is returned even if there was no time to find its alias', async () => {
  const arrived: string[] = [];
  const value = 's3cret0000000000000000000000wxyz';
  const url = await rawServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const made = body.includes('CREATE');
    arrived.push(made ? 'create' : 'list');
    await pause(LIMIT * 0.4);
    response.end(made ? `The secret: ${value} has been created for user "ada".\n` : "Using graph 'demo'\n");
  });
  const connection = at(url, { serverVersion: '3.10.1' });
  expect(Object.values(await connection.createSecret('', { withAlias: true }))).toEqual([value]);
  // If the first request for a list fails, a second one is sent, but only if there is time left.
  expect(arrived).toEqual(['list', 'create', 'list']);
});

describe('a deadline, shared by several connections', () => {
  const shared = (to: Sandbox, deadline: Deadline) => connect(to, { deadline, serverVersion: '3.10.1' });

  test('is used up by their requests together', async () => {
    const to = await lateSandbox('3.10.1');
    const deadline = new Deadline(LIMIT);
    expect(deadline.limitMs).toBe(LIMIT);
    await shared(to, deadline).getToken();
    expect(deadline.forRequestMs).toBeLessThanOrEqual(LIMIT - LATE + 5);
    const refused = await lateRefusal(() => shared(to, deadline).getToken());
    expect(refused).toMatchObject({ code: 'TIMEOUT', ambiguous: true });
    expect(refused.message).toContain('may have carried out the request');
    expect(deadline.forRequestMs).toBeLessThan(5);
  });

  test('counts requests at the same time once, and no time between requests', async () => {
    let passed = 0;
    const clock = vi.spyOn(process, 'uptime').mockImplementation(() => passed);
    onTestFinished(() => clock.mockRestore());
    const deadline = new Deadline(10_000);
    const ends: (() => void)[] = [];
    const request = () => deadline.count(() => new Promise<void>((resolve) => ends.push(resolve)));
    const both = [request()];
    passed = 1;
    both.push(request());
    passed = 3;
    ends[0]?.();
    await both[0];
    passed = 4;
    expect(deadline.forRequestMs).toBe(6000);
    ends[1]?.();
    await both[1];
    passed = 100;
    expect(deadline.forRequestMs).toBe(6000);
    expect(() => deadline.check()).not.toThrow();
  });

  test.each([0, -1, 0.5])('with %d ms left nothing is sent', async (ms) => {
    let arrived = 0;
    const url = await rawServer((_request, response) => {
      arrived++;
      response.end('{}');
    });
    const told: unknown[] = [];
    const connection = at(url, {
      serverVersion: '3.10.1',
      deadline: new Deadline(ms),
      onStart: () => told.push('start'),
      onRequest: (event) => told.push(event),
    });
    const refused = await refusalOf(connection.createSecret('ci'));
    expect(refused).toMatchObject({ code: 'TIMEOUT', ambiguous: false });
    expect(refused.message).toMatch(/was not sent/);
    expect({ arrived, told }).toEqual({ arrived: 0, told: [] });
    expect(() => new Deadline(ms).check()).toThrow('the whole call is over');
  });

  test('that does not cut requests is counted, and leaves each request its own limit', async () => {
    const to = await lateSandbox('3.10.1');
    const deadline = new Deadline(LIMIT, false);
    for (let calls = 0; calls < 2; calls++) await shared(to, deadline).getToken();
    expect(() => deadline.check()).toThrow('the whole call is over');
  });
});

function at(url: string, options: ConnectionOptions): GraphConnection {
  const to = { restUrl: url, gsqlUrl: url } as Sandbox;
  return connect(to, { username: 'ada', password: 'correct-horse', timeoutMs: LIMIT, ...options });
}

test.each([
  ['a signal', () => ({ signal: AbortSignal.timeout(100) }), / had no answer in time\./],
  ['a shared deadline', () => ({ deadline: new Deadline(100) }), / had no answer within 0\.1 s\./],
])('%s whose time is over is TIMEOUT, and no other limit is named', async (_what, limit, message) => {
  const url = await rawServer(() => {});
  const refused = await lateRefusal(() => connectionAt(url, limit()).rest('GET', '/echo'));
  expect(refused).toMatchObject({ code: 'TIMEOUT', message: expect.stringMatching(message) });
});
