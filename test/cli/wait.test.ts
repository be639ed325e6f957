import { createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { findVersion, learn } from '../../src/run/server.js';
import type { Fault } from '../../src/sandbox/faults.js';
import { bench, cli, interruptedAt, quietRun, temporaryHome } from '../helpers/cli.js';
import { listening } from '../helpers/ports.js';

const WAITS = 'the server is not up yet; waiting';

test('--wait goes on while nothing listens at the port', async () => {
  const { run, sandbox } = await bench();
  await sandbox.close();
  expect((await run('token get -v --wait 1')).stderr).toContain(WAITS);
  expect((await run('token get -v')).stderr).not.toContain(WAITS);
});

// holds: C3.20
test('--wait waits for the REST server too, which starts last, where tokens are made there or api sends to it', async () => {
  const { run, sandbox, requests } = await bench();
  sandbox.addFault({ action: 'status', status: 503, route: 'GET /echo', nth: 1, times: 2 });
  const { status, stderr } = await run('token get -v --wait 1m');
  expect(status).toBe(0);
  expect(stderr.match(new RegExp(WAITS, 'g'))).toHaveLength(2);
  const echo = 'GET /echo';
  expect(requests().slice(-4)).toEqual([echo, echo, echo, 'POST /requesttoken']);
  sandbox.addFault({ action: 'status', status: 503, route: 'GET /echo', nth: 1 });
  expect(await run('api /echo --wait 1m')).toMatchObject({ status: 0 });
});

/** Finds the version by a clock that goes on by `pass` seconds at each line that says that it waits. */
async function waiting(flags: { wait: string; timeout: string }, fault: Fault, pass: number) {
  const { sandbox, home, env, requests } = await bench();
  sandbox.addFault({ route: '/api/ping', nth: 1, times: 1, ...fault });
  let passed = 0;
  const clock = vi.spyOn(process, 'uptime').mockImplementation(() => passed);
  const start = globalThis.setTimeout;
  const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    // This is the time limit of a request, which takes a second.
    if (ms > 15_000) passed += 1;
    return start(work, ms);
  }) as typeof setTimeout);
  onTestFinished(() => void vi.restoreAllMocks());
  const detail = (text: string) => {
    if (text === WAITS) passed += pass;
  };
  const run = await quietRun(home, env, { flags, detail });
  await findVersion(run);
  clock.mockRestore();
  return { run, asked: requests(), pauses: timers.mock.calls.map(([, ms]) => ms) };
}

test('--wait has its own time limit, of which --timeout does not take anything', async () => {
  // Between two requests to the server more time passes than the time limit allows.
  const { asked, run } = await waiting({ wait: '10m', timeout: '20' }, { action: 'starting' }, 30);
  expect(asked).toEqual([
    'GET /api/ping',
    'GET /api/ping',
    'GET /gsql/v1/version',
    'POST /gsqlserver/gsql/version',
  ]);
  expect(run.time.deadline.forRequestMs).toBe(18_000);
});

// holds: C3.20
test.each([
  [429, 'Retry-After: 1', 1000, 0.5],
  [503, 'Retry-After: 3600', 700, 1.3],
  [503, 'Retry-After: Fri, 31 Dec 2100 23:59:59 GMT', 700, 1.3],
  [503, 'Retry-After: soon', 500, 0.5],
])('--wait obeys a %d with %s as far as its own time goes', async (status, header, pause, pass) => {
  const fault = { action: 'status', status, header } as const;
  const { asked, pauses } = await waiting({ wait: '2', timeout: '20' }, fault, pass);
  expect(asked.slice(0, 2)).toEqual(['GET /api/ping', 'GET /api/ping']);
  // The first request may take as long as the wait.
  expect(pauses.map((ms) => Math.round(ms ?? 0))).toEqual(expect.arrayContaining([2000, pause]));
});

test('doctor and login wait for the server once', async () => {
  const { run, requests, env } = await bench({ serverVersion: '4.1.2' });
  const { stdout } = await run('secret create ci');
  const pings = () => requests().filter((line) => line === 'GET /api/ping').length;
  await run('doctor --wait 1');
  // The second request is for the server's clock.
  expect(pings()).toBe(2);
  const given = { ...env, GRAPHCRED_PASSWORD: '' };
  expect(await run('login --secret-stdin --wait 1', { stdin: stdout, env: given })).toMatchObject({
    status: 0,
  });
  expect(pings()).toBe(1);
});

test('a version found long ago counts while the server does not answer in time', async () => {
  const { sandbox, home, env } = await bench();
  sandbox.addFault({ action: 'delay', ms: 100 });
  const run = await quietRun(home, env);
  vi.spyOn(run.time, 'limitMs', 'get').mockReturnValue(10);
  const longAgo = { ...run.ports, now: () => Date.now() - 2 * 86_400_000 };
  learn({ ...run, ports: longAgo }, 'version', '3.9.3');
  expect(await findVersion(run)).toMatchObject({ version: '3.9.3' });
});

test('--wait with --timeout takes no longer than both together', async () => {
  const env = { GRAPHCRED_GSQL_URL: await listening(createServer(() => {})), GRAPHCRED_STORE: 'none' };
  const more = { GRAPHCRED_USERNAME: 'x', GRAPHCRED_PASSWORD: 'y', GRAPHCRED_GRAPH: 'demo' };
  const ends = async (line: string) => {
    const began = performance.now();
    const argv = `--wait 2 --timeout 2 ${line}`.split(' ');
    const { status } = await cli(temporaryHome(), argv, { env: { ...env, ...more } });
    expect({ line, status }).toEqual({ line, status: line.startsWith('exec') ? 125 : 7 });
    // If the command waited twice for both servers, it would take 8 s.
    expect(performance.now() - began, line).toBeLessThan(6500);
  };
  await Promise.all(['token get', 'exec -- true'].map(ends));
});

test('Ctrl-C ends --wait at once', async () => {
  const { run, sandbox } = await interruptedAt('/api/ping', { serverVersion: '4.1.2' });
  sandbox.addFault({ action: 'status', status: 503, route: 'GET /api/ping' });
  const { status, stderr } = await run('token get --wait 10m');
  expect([status, stderr]).toEqual([130, expect.stringContaining('Interrupted; nothing was changed.')]);
});
