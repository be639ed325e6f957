// Tests that --timeout limits a command as a whole. It does not count the time for a prompt, for a program that prints a credential, for a sleeping
// server, or for work that must be finished. Single calls of the library are tested in test/contract/core-time-limit.test.ts.
import fs from 'node:fs';
import { expect, test } from 'vitest';
import { bench, cli } from '../helpers/cli.js';
import { configOf, put } from '../helpers/home.js';

const LIMIT = 1000;
const SHORT = { GRAPHCRED_TIMEOUT: '1' };
const DAY_MS = 86_400_000;

/** Creates a saved secret and a cached token. From now on every answer takes this many milliseconds. */
async function late(serverVersion: string, ms: number) {
  const at = await bench({ serverVersion });
  expect((await at.run('secret create ci --save')).status).toBe(0);
  expect((await at.run('token get')).status).toBe(0);
  at.requests();
  at.sandbox.addFault({ action: 'delay', ms });
  return at;
}

const LINES = [
  'token get --fresh',
  'token check',
  'token delete',
  'secret list',
  'secret create ci2',
  'api --service /gsql/v1/secrets',
  'doctor',
  'logout --revoke',
  'exec --store none -- true',
];

/** Runs the test for the three versions at once, because it only waits for servers. */
const eachVersion = (play: (serverVersion: string) => Promise<void>) =>
  Promise.all(['3.2.0', '3.10.1', '4.1.2'].map(play));

test('a command ends when its time is over, even if each answer alone comes in time', () =>
  eachVersion(async (serverVersion) => {
    const all: [string, Awaited<ReturnType<typeof late>>][] = [];
    for (const line of LINES) all.push([line, await late(serverVersion, 0.6 * LIMIT)]);
    const wait = async ([line, at]: (typeof all)[number]) => {
      // The clock is set two days ahead, because the version is stored for a day only.
      const now = () => Date.now() + 2 * DAY_MS;
      const started = performance.now();
      const { status, stdout, stderr } = await at.run(line, { env: SHORT, now });
      expect(performance.now() - started, `${serverVersion}: ${line}`).toBeLessThan(3 * LIMIT);
      const said = `${serverVersion}: ${line}: ${stdout}${stderr}`;
      expect(said).toMatch(/had no answer within 1 s|was not sent: the time limit of 1 s/);
      // The message says what may have been done before it advises to allow more time.
      expect(said).toMatch(/GRAPHCRED_TIMEOUT|secret drop|graphcred logout/);
      return [line, status];
    };
    expect(await Promise.all(all.map(wait)), serverVersion).toEqual(
      LINES.map((line) => [line, line.startsWith('exec') ? 125 : line.startsWith('logout') ? 10 : 7]),
    );
  }));

/** secret rotate ends between two steps when its time is over. The saved secret works meanwhile, and the next runs finish it. */
const rotation = () =>
  eachVersion(async (serverVersion) => {
    const at = await late(serverVersion, 0.3 * LIMIT);
    const runs = [];
    do {
      // Each run does at least one of the steps.
      expect(runs.length).toBeLessThan(8);
      runs.push(await at.run('secret rotate ci', { env: SHORT }));
      const token = await at.run('token get --fresh', { env: { GRAPHCRED_PASSWORD: '' } });
      expect({ serverVersion, ...token }).toMatchObject({ status: 0 });
    } while (runs.at(-1)?.status === 7);
    const [first] = runs;
    expect({ serverVersion, ...first }).toMatchObject({
      status: 7,
      stderr: expect.stringMatching(
        /^graphcred: The rotation of "ci" is not finished: The time limit of 1 s for the whole call is over\. Already done: .*\.\nhint: to finish it: /m,
      ),
    });
    expect({ serverVersion, ...runs.at(-1) }).toMatchObject({ status: 0 });
    expect((await at.run('secret list')).stdout).toMatch(/^ci\s(?!.*ci_next)/ms);
  });

/** Several secrets are dropped with a limit for each. */
const steps = () =>
  eachVersion(async (serverVersion) => {
    const at = await late(serverVersion, 0.3 * LIMIT);
    const done = await at.run('secret drop ci nobody none --ignore-missing --yes', { env: SHORT });
    expect({ serverVersion, ...done }).toMatchObject({ status: 0 });
  });

/** login ends before it writes anything. */
const login = () =>
  eachVersion(async (serverVersion) => {
    const at = await late(serverVersion, 0.6 * LIMIT);
    const done = await at.run('login -p new --server-version auto', {
      env: SHORT,
      now: () => Date.now() + 2 * DAY_MS,
    });
    expect({ serverVersion, ...done }).toMatchObject({ status: 7, stderr: expect.stringContaining('1 s') });
    expect(fs.existsSync(configOf(at.home))).toBe(false);
    expect(at.requests().some((line) => line.includes('token'))).toBe(false);
  });

/** A slow server takes no time from the other profiles. */
const profiles = async () => {
  const [slow, quick] = [await bench(), await bench()];
  slow.sandbox.addFault({ action: 'delay', ms: 2 * LIMIT });
  const at = (to: typeof slow) => ({ restUrl: to.sandbox.restUrl, gsqlUrl: to.sandbox.gsqlUrl });
  const all = { a: at(slow), b: at(slow), c: at(slow), d: at(slow), quick: at(quick) };
  const file = put(quick.home, 'profiles.json', { profiles: all });
  const started = performance.now();
  const env = { ...SHORT, GRAPHCRED_CONFIG: file, GRAPHCRED_STORE: 'file' };
  const { stdout } = await cli(quick.home, ['status', '--all-profiles', '-o', 'json'], { env });
  expect(performance.now() - started).toBeLessThan(3 * LIMIT);
  const auth = JSON.parse(stdout).profiles.map((one: { restAuth: string }) => one.restAuth);
  expect(auth).toEqual(['unknown', 'unknown', 'unknown', 'unknown', 'on']);
};

/** exec does not limit the command’s time, and revokes the token with a new time limit. */
const command = () =>
  eachVersion(async (serverVersion) => {
    // Minting and revoking the token together take more than the limit. 4.x checks a token before it deletes it, and a
    // server that takes tokens in the URL is asked for its version before each.
    const ms: Record<string, number> = { '3.2.0': 600, '3.10.1': 1200, '4.1.2': 800 };
    const at = await late(serverVersion, ms[serverVersion] as number);
    const argv = ['exec', '--revoke', '--', 'sleep', '2.5'];
    const done = await at.run(argv, { env: { GRAPHCRED_TIMEOUT: '2' } });
    expect({ serverVersion, ...done }).toMatchObject({ status: 0 });
    expect(done.stderr, serverVersion).not.toContain('could not be revoked');
    expect(at.requests().at(-1), serverVersion).toMatch(/^DELETE /);
  });

/** --wait waits longer than the limit, and then the command has the full time limit. */
const waiting = () =>
  eachVersion(async (serverVersion) => {
    const at = await late(serverVersion, 0.2 * LIMIT);
    at.sandbox.addFault({ action: 'starting', route: '/api/ping', nth: 1, times: 2 });
    const started = performance.now();
    const done = await at.run('token get --store none --wait 3m', { env: SHORT });
    expect({ serverVersion, ...done }).toMatchObject({ status: 0 });
    // The server is up at the third request. The wait of three minutes is only for servers that stay asleep.
    expect(performance.now() - started, serverVersion).toBeLessThan(60_000);
    const pings = at.requests().filter((line) => line === 'GET /api/ping');
    expect(pings, serverVersion).toHaveLength(3);
  });

test('dropping several secrets, the command of exec and --wait each take longer than the limit of one request', () =>
  Promise.all([steps(), command(), waiting()]));

// holds: C3.21
test('a rotation, a login and the status of all profiles end when their time is over, and lose nothing', () =>
  Promise.all([rotation(), login(), profiles()]));
