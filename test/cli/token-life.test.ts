import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parseFault } from '../../src/sandbox/faults/faults.js';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';
import { bench } from '../helpers/cli.js';

const HOUR_MS = 3_600_000;

const DAY_MS = 24 * HOUR_MS;

interface TokenDocument {
  token: string;
  expiresAt: string;
  expiresAtUnix: number;
  lifetimeSeconds: number;
  source: string;
}

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
      const sandbox = await startSandbox({ ...VERSION, gsqlPort, ...next });
      onTestFinished(() => sandbox.close());
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
      stderr: expect.stringMatching(/a second token, for the whole life, could not be minted: /),
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

  test('there is a warning that every call mints, if a longer one than --lifetime is set', async () => {
    const { run } = await bench();
    const { stderr } = await run('token get --lifetime 1m --min-ttl 2m');
    expect(stderr).toContain('every call mints a new token');
    expect((await run('token get --lifetime 2m --min-ttl 1m')).stderr).not.toContain('every call');
  });
});

describe('a clock that is set', () => {
  test.each([
    ['ahead by hours, then right', 5 * HOUR_MS],
    ['ahead by ten years, then right', 3650 * DAY_MS],
  ])('%s: the token cached before is not used', async (_what, ahead) => {
    const { run, sandbox, json } = await bench();
    const first = await run('token get', { now: () => Date.now() + ahead });
    const second = await json<{ token: string; source: string; expiresAtUnix: number }>('token get');
    expect(second.source).toBe('server');
    expect(`${second.token}\n`).not.toBe(first.stdout);
    expect(second.expiresAtUnix).toBeLessThan(Date.now() / 1000 + 31 * 86_400);
    expect((await json<{ source: string }>('token get')).source).toBe('store');
    expect(sandbox.unknownRoutes).toEqual([]);
  });

  test('back by hours and then corrected: a cached token is used if it still has life left, else replaced', async () => {
    const { run, json } = await bench();
    await run('token get --lifetime 1h', { now: () => Date.now() - 2 * HOUR_MS });
    expect((await json<{ source: string }>('token get --lifetime 1h')).source).toBe('server');
    await run('token get --lifetime 12h', { now: () => Date.now() - 2 * HOUR_MS });
    expect((await json<{ source: string }>('token get --lifetime 12h')).source).toBe('store');
  });

  test('back by a few seconds, as happens every day, causes no new token', async () => {
    const { run, json } = await bench();
    await run('token get', { now: () => Date.now() + 5_000 });
    expect((await json<{ source: string }>('token get')).source).toBe('store');
  });

  test('ahead and then corrected: --fresh does not use a token from before', async () => {
    const { run, json } = await bench();
    await run('token get', { now: () => Date.now() + 5_000 });
    expect((await json<{ source: string }>('token get --fresh')).source).toBe('server');
  });

  test('ahead and then corrected: a refusal from before is not given to later processes', async () => {
    const { run } = await bench();
    const wrong = { env: { GRAPHCRED_PASSWORD: 'wrong' } };
    expect((await run('token get', { ...wrong, now: () => Date.now() + 3 * HOUR_MS })).status).toBe(4);
    expect((await run('token get')).status).toBe(0);
  });
});

describe('the server’s clock', () => {
  // The server's clock is hours behind or ahead, or far in the future, beyond the year 2038.
  const OFFSETS = [-5 * 3600, 5 * 3600, 13 * 365 * 86_400, 40 * 365 * 86_400];

  test.each(
    ['3.2.0', '3.10.1', '4.1.2'].flatMap((version) => OFFSETS.map((offset) => [version, offset] as const)),
  )(
    'of %s, off by %i s: the token is held for as long as it lives, by our clock',
    async (serverVersion, seconds) => {
      const { json, sandbox } = await bench({ serverVersion });
      sandbox.addFault(parseFault(`action=clock,seconds=${seconds}`));
      const now = Date.now() / 1000;
      const minted = await json<{ expiresAtUnix: number }>('token get --lifetime 1h');
      expect(Math.abs(minted.expiresAtUnix - now - 3600)).toBeLessThan(60);
      const source = async (at: number) =>
        (await json<{ source: string }>('token get --lifetime 1h', { now: () => at * 1000 })).source;
      expect(await source(now + 3000)).toBe('store');
      expect(await source(now + 3700)).toBe('server');
    },
  );
});

describe('the year 2038', () => {
  const END_OF_32_BITS = 2 ** 31;

  test.each(['3.2.0', '3.10.1', '4.1.2'])(
    'on %s a life that extends beyond it is computed correctly',
    async (serverVersion) => {
      const { json, sandbox, run } = await bench({ serverVersion });
      const start = END_OF_32_BITS - 600;
      sandbox.addFault(parseFault(`action=clock,seconds=${Math.round(start - Date.now() / 1000)}`));
      const at = (unix: number) => ({ now: () => unix * 1000 });
      const minted = await json<{ expiresAtUnix: number; expiresAt: string; source: string }>(
        'token get --lifetime 1h',
        at(start),
      );
      expect(Math.abs(minted.expiresAtUnix - start - 3600)).toBeLessThan(60);
      expect(minted.expiresAt).toMatch(/^2038-01-19T04:0\d:\d\dZ$/);
      expect(await json('token get --lifetime 1h', at(END_OF_32_BITS + 1800))).toMatchObject({
        source: 'store',
      });
      expect(await json('token get --lifetime 1h', at(END_OF_32_BITS + 3600))).toMatchObject({
        source: 'server',
      });
      const list = await run('token list -o json', at(END_OF_32_BITS - 60));
      expect(JSON.parse(list.stdout).tokens[0].secondsLeft).toBeGreaterThan(0);
    },
  );
});

describe('time zones', () => {
  // These time zones are unusual: two are far from UTC, one differs by half an hour, and one changes its offset twice a year.
  test.each(['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Asia/Kolkata', 'Europe/Berlin'])(
    'in %s a token expires at the same time',
    async (zone) => {
      const before = process.env.TZ;
      process.env.TZ = zone;
      try {
        for (const serverVersion of ['3.10.1', '4.1.2']) {
          const { json } = await bench({ serverVersion });
          // In this hour Berlin sets its clocks back, so each local time occurs twice.
          const now = Date.UTC(2026, 9, 25, 0, 30) / 1000;
          const at = (unix: number) => ({ now: () => unix * 1000 });
          const minted = await json<{ expiresAtUnix: number; expiresAt: string }>(
            'token get --lifetime 1h',
            at(now),
          );
          expect(Math.abs(minted.expiresAtUnix - now - 3600)).toBeLessThan(60);
          expect(Date.parse(minted.expiresAt) / 1000).toBe(minted.expiresAtUnix);
          expect(await json('token get --lifetime 1h', at(now + 1800))).toMatchObject({ source: 'store' });
          expect(await json('token get --lifetime 1h', at(now + 3700))).toMatchObject({ source: 'server' });
        }
      } finally {
        if (before === undefined) delete process.env.TZ;
        else process.env.TZ = before;
      }
    },
  );
});

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
    got.push((await json<TokenDocument>(`token get -q ${words} --lifetime 1h`)).lifetimeSeconds);
  }
  expect(got).toEqual(lifetimes);
});
