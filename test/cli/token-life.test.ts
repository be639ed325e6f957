import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { bench } from '../helpers/cli.js';
import { testSandbox } from '../helpers/sandbox.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Token {
  token: string;
  expiresAtUnix: number;
}

const HOUR = 3600;
const VERSION = { serverVersion: '4.1.2' };

/** Returns the seconds that a token which was just printed has left. */
const left = ({ expiresAtUnix }: Token) => expiresAtUnix - Date.now() / 1000;

describe('the unit in which a 4.x server counts lifetimes', () => {
  /** Starts a sandbox that can be replaced by another server at the same address. */
  const replaceable = async (options: SandboxOptions) => {
    const all = await bench({ ...VERSION, ...options });
    const replace = async (next: SandboxOptions) => {
      const gsqlPort = Number(new URL(all.sandbox.gsqlUrl).port);
      await all.sandbox.close();
      const sandbox = await testSandbox({ ...VERSION, gsqlPort, ...next });
      return () => sandbox.requests.map(({ method, path: route }) => `${method} ${route}`);
    };
    return { ...all, replace };
  };
  const MINT = 'POST /gsql/v1/tokens';

  test('is not used any more when a token lives a thousand times too long', async () => {
    const { json, replace } = await replaceable({ lifetimeUnit: 'ms' });
    expect(left(await json<Token>('token get --lifetime 15m'))).toBeCloseTo(900, -1.5);
    const requests = await replace({ lifetimeUnit: 's' });
    expect(left(await json<Token>('token get --lifetime 15m --fresh'))).toBeCloseTo(900, -1.5);
    // The token that would live for ten days is revoked before a new one is requested.
    expect(requests()).toEqual([MINT, 'POST /gsql/v1/tokens/check', 'DELETE /gsql/v1/tokens', MINT]);
    expect(left(await json<Token>('token get --lifetime 15m --fresh'))).toBeCloseTo(900, -1.5);
    expect(requests().slice(4)).toEqual([MINT]);
  });

  // holds: C5.2
  test('is requested again after a day', async () => {
    const { json, requests } = await bench({ ...VERSION, lifetimeUnit: 'ms' });
    const mints = () => requests().filter((request) => request === MINT).length;
    await json('token get --lifetime 15m');
    expect(mints()).toBe(2);
    await json('token get --lifetime 15m --fresh');
    expect(mints()).toBe(1);
    await json('token get --lifetime 15m --fresh', { now: () => Date.now() + 25 * HOUR * 1000 });
    expect(mints()).toBe(2);
    // The clock was a day ahead, so nobody knows how old the unit is.
    await json('token get --lifetime 15m --fresh');
    expect(mints()).toBe(2);
  });

  test('costs no token when the second mint fails', async () => {
    const { run, sandbox } = await bench({ ...VERSION, lifetimeUnit: 'ms' });
    sandbox.addFault({ action: 'status', status: 500, route: 'POST /gsql/v1/tokens', nth: 2 });
    const { status, stdout, stderr } = await run('token get');
    expect({ status, stderr }).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(
        /this token ends sooner than asked for, since a longer one could not be made: /,
      ),
    });
    expect((await run('token check --token-stdin', { stdin: stdout })).status).toBe(0);
    sandbox.addFault({ action: 'status', status: 500, route: 'POST /gsql/v1/tokens', nth: 2 });
    // The first token of this lifetime has ended already.
    expect((await run('token get --lifetime 15m')).status).toBe(8);
  });
});

describe('without --min-ttl', () => {
  test.each([
    ['1h', HOUR, 60],
    ['100', 100, 10],
  ])('a token of %s (%i s) is replaced if less than %i s are left', async (lifetime, seconds, least) => {
    const { json } = await bench();
    const begun = Date.now();
    const get = (passed: number) =>
      json(`token get --lifetime ${lifetime}`, { now: () => begun + passed * 1000 });
    expect(await get(0)).toMatchObject({ source: 'server' });
    expect(await get(seconds - least - 5)).toMatchObject({ source: 'store' });
    expect(await get(seconds - least + 5)).toMatchObject({ source: 'server' });
  });
});

test.each(['3.10.1', '4.1.2'])(
  'on %s a token with a shorter life than asked for is found again by the same --lifetime alone',
  async (serverVersion) => {
    const { json } = await bench({ serverVersion, switches: { grantedAtMost: 600 } });
    const get = (lifetime: string) => json<{ source: string }>(`token get --lifetime ${lifetime}`);
    expect(await get('1h')).toMatchObject({ source: 'server', lifetimeSeconds: 600 });
    expect(await get('1h')).toMatchObject({ source: 'store', lifetimeSeconds: 600 });
    expect(await get('10m')).toMatchObject({ source: 'server' });
  },
);

describe('a clock that is set', () => {
  test.each([
    ['ahead by hours, then right', 5 * HOUR_MS],
    ['ahead by ten years, then right', 3650 * DAY_MS],
  ])('%s: the token cached before is not used', async (_what, ahead) => {
    const { run, json } = await bench();
    const first = await run('token get', { now: () => Date.now() + ahead });
    const second = await json<{ token: string; source: string; expiresAtUnix: number }>('token get');
    expect(second.source).toBe('server');
    expect(`${second.token}\n`).not.toBe(first.stdout);
    expect(second.expiresAtUnix).toBeLessThan(Date.now() / 1000 + 31 * 86_400);
    expect((await json<{ source: string }>('token get')).source).toBe('store');
  });

  test('back by hours and then corrected: a cached token is used if it still has life left, else replaced', async () => {
    const { run, json } = await bench();
    await run('token get --lifetime 1h', { now: () => Date.now() - 2 * HOUR_MS });
    expect((await json<{ source: string }>('token get --lifetime 1h')).source).toBe('server');
    await run('token get --lifetime 12h', { now: () => Date.now() - 2 * HOUR_MS });
    expect((await json<{ source: string }>('token get --lifetime 12h')).source).toBe('store');
  });

  test('ahead and then corrected: a refusal from before is not given to later processes', async () => {
    const { run } = await bench();
    const wrong = { env: { GRAPHCRED_PASSWORD: 'wrong' } };
    expect((await run('token get', { ...wrong, now: () => Date.now() + 3 * HOUR_MS })).status).toBe(4);
    expect((await run('token get')).status).toBe(0);
  });
});

// The last offset leads beyond the year 2038, where 32 bits end.
test.each([
  ['3.2.0', -5 * HOUR],
  ['3.10.1', 5 * HOUR],
  ['4.1.2', 13 * 365 * 24 * HOUR],
])(
  'by the clock of %s, off by %i s, the token is held for as long as it lives by ours',
  async (serverVersion, seconds) => {
    const { json, sandbox } = await bench({ serverVersion });
    sandbox.addFault({ action: 'clock', seconds });
    const now = Date.now() / 1000;
    const get = (at: number) =>
      json<{ expiresAtUnix: number }>('token get --lifetime 1h', { now: () => at * 1000 });
    expect(Math.abs((await get(now)).expiresAtUnix - now - HOUR)).toBeLessThan(60);
    expect(await get(now + 3000)).toMatchObject({ source: 'store' });
    expect(await get(now + 3700)).toMatchObject({ source: 'server' });
  },
);

// holds: C2.14
test.each([
  ['--fresh --store none', [3599, 3240]],
  ['--store none', [3600, 3600]],
  ['--fresh --store file', [3600, 3600]],
])('on 4.x, token get %s asks in one second for these lifetimes: %j', async (words, lifetimes) => {
  const now = Math.floor(Date.now() / 1000) * 1000;
  const { json } = await bench({ serverVersion: '4.1.2', now: () => now });
  onTestFinished(() => void vi.restoreAllMocks());
  const got: number[] = [];
  for (const random of [0, 0.9999]) {
    vi.spyOn(Math, 'random').mockReturnValue(random);
    got.push(
      (await json<{ lifetimeSeconds: number }>(`token get -q ${words} --lifetime 1h`)).lifetimeSeconds,
    );
  }
  expect(got).toEqual(lifetimes);
});
