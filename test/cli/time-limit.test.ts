// --timeout holds for a command as a whole, as far as nobody waits for a person, a command or a sleeping server, and
// nothing has to be brought to an end. What one call of the library does: test/contract/core-time-limit.test.ts.
import { expect, test } from 'vitest';
import { bench } from '../helpers/cli.js';

const LIMIT = 1000;
const SHORT = { GRAPHCRED_TIMEOUT: '1' };
const DAY_MS = 86_400_000;

/** A secret is saved, a token is held, and every answer from now on takes so many milliseconds. */
async function late(serverVersion: string, ms: number) {
  const at = await bench({ serverVersion });
  expect((await at.run('secret create ci --save')).status).toBe(0);
  expect((await at.run('token get')).status).toBe(0);
  at.requests();
  at.sandbox.addFault({ action: 'delay', ms });
  return at;
}

const LINES = [
  'token get --store none',
  'token get --fresh',
  'token check',
  'token delete',
  'secret list',
  'secret create ci2',
  'api /echo',
  'api --service /gsql/v1/secrets',
  'status',
  'doctor',
  'logout --revoke',
  'exec --store none -- true',
];

/** All that these tests do is wait for their servers, so the three versions do it side by side. */
const eachVersion = (play: (serverVersion: string) => Promise<void>) =>
  Promise.all(['3.2.0', '3.10.1', '4.1.2'].map(play));

test('a command ends when the time is over, though each answer comes in time', () =>
  eachVersion(async (serverVersion) => {
    const all: [string, Awaited<ReturnType<typeof late>>][] = [];
    for (const line of LINES) all.push([line, await late(serverVersion, 0.6 * LIMIT)]);
    const wait = async ([line, at]: (typeof all)[number]) => {
      // The version is remembered for a day; then it is asked again.
      const now = () => Date.now() + 2 * DAY_MS;
      const started = performance.now();
      const { status, stdout, stderr } = await at.run(line, { env: SHORT, now });
      expect(performance.now() - started, `${serverVersion}: ${line}`).toBeLessThan(3 * LIMIT);
      const said = `${serverVersion}: ${line}: ${stdout}${stderr}`;
      expect(said).toMatch(/had no answer within 1 s|was not sent: the 1 s/);
      // What may have been done comes before the advice to allow more time.
      expect(said).toMatch(/--timeout|secret drop|graphcred logout/);
      return [line, status];
    };
    expect(await Promise.all(all.map(wait)), serverVersion).toEqual(
      LINES.map((line) => [line, line.startsWith('exec') ? 125 : 7]),
    );
  }));

test('secret rotate goes on to its end: each of its steps has the whole time', () =>
  eachVersion(async (serverVersion) => {
    const at = await late(serverVersion, 0.3 * LIMIT);
    const done = await at.run('secret rotate ci', { env: SHORT });
    expect({ serverVersion, ...done }).toMatchObject({ status: 0 });
    expect(at.requests().length, serverVersion).toBeGreaterThan(5);
    const after = await at.run('token get --fresh', { env: { GRAPHCRED_PASSWORD: '' } });
    expect({ serverVersion, ...after }).toMatchObject({ status: 0 });
  }));

test('exec: the command takes its time, and the token is revoked in a time of its own', () =>
  eachVersion(async (serverVersion) => {
    // Getting it and giving it back together take more than the limit; 4.x looks at a token before it deletes it.
    const at = await late(serverVersion, serverVersion.startsWith('4') ? 800 : 1200);
    const argv = ['exec', '--revoke', '--', 'sleep', '2.5'];
    const done = await at.run(argv, { env: { GRAPHCRED_TIMEOUT: '2' } });
    expect({ serverVersion, ...done }).toMatchObject({ status: 0 });
    expect(done.stderr, serverVersion).not.toContain('could not be revoked');
    expect(at.requests().at(-1), serverVersion).toMatch(/^DELETE /);
  }));

test('--wait waits for longer, and the command has the whole time after it', () =>
  eachVersion(async (serverVersion) => {
    const at = await late(serverVersion, 0.4 * LIMIT);
    at.sandbox.addFault({ action: 'starting', route: '/api/ping', nth: 1, times: 2 });
    const started = performance.now();
    const done = await at.run('token get --store none --wait 3m', { env: SHORT });
    expect({ serverVersion, ...done }).toMatchObject({ status: 0 });
    // It is up at the third question: the three minutes are for servers that are not.
    expect(performance.now() - started, serverVersion).toBeLessThan(60_000);
    const pings = at.requests().filter((line) => line === 'GET /api/ping');
    expect(pings, serverVersion).toHaveLength(3);
  }));
