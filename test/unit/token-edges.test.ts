import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { GraphConnection, GraphException, Sensitive } from '../../src/index.js';
import type { Store, StoreRecord } from '../../src/store/store.js';
import { cachedTokens, forgetToken, isUsable, readCachedToken } from '../../src/tokens/cache.js';
import { localExpiry, renewToken } from '../../src/tokens/mint.js';

const NOW = 1_800_000_000;

const record = (more: Partial<StoreRecord> = {}): StoreRecord => ({
  v: 1,
  kind: 'token',
  key: 'k',
  store: 'file',
  createdAtUnix: NOW - 100,
  expiresAtUnix: NOW + 100,
  info: { requestedAtMs: (NOW - 100) * 1000 },
  ...more,
});

describe('a cached token is used', () => {
  const usable = (more: Partial<StoreRecord>, minTtl = 0, freshSince?: number) =>
    isUsable(record(more), { minTtl, freshSince }, NOW * 1000);

  test('when it has just the life that is wanted, and not with a second less', () => {
    expect(usable({}, 100)).toBe(true);
    expect(usable({}, 101)).toBe(false);
  });

  test('unless it was stored in the future, by more than a clock is corrected', () => {
    expect(usable({ createdAtUnix: NOW + 10 })).toBe(true);
    expect(usable({ createdAtUnix: NOW + 11 })).toBe(false);
  });

  test('unless it is a secret, or has no end', () => {
    expect(usable({ kind: 'secret' })).toBe(false);
    const { expiresAtUnix: _, ...endless } = record();
    expect(isUsable(endless, { minTtl: 0, freshSince: undefined }, NOW * 1000)).toBe(false);
  });

  test('by a call that wants a new one, when it was asked for since then and not in the future', () => {
    const asked = (ms: number) => usable({ info: { requestedAtMs: ms } }, 0, NOW * 1000 - 500);
    expect([-501, -500, 0, 1].map((ms) => asked(NOW * 1000 + ms))).toEqual([false, true, true, false]);
  });
});

describe('tokens in a store', () => {
  const identity = { gsqlUrl: 'http://gsql', restUrl: 'http://rest', graph: 'demo', principal: 'user:ada' };
  const store = (parts: Partial<Store>) => parts as Store;

  test('are not the secrets of the same owner', async () => {
    const records = [record({ info: identity }), record({ kind: 'secret', info: identity })];
    expect(await cachedTokens(store({ list: async () => records }), identity)).toEqual([records[0]]);
  });

  test('that cannot be forgotten are still there, and the reason is returned', async () => {
    const failure = new GraphException('STORE_LOCKED', 'locked');
    const removeIf = () => Promise.reject(failure);
    expect(await forgetToken(store({ removeIf }), record(), undefined)).toBe(failure);
  });

  test('belong to both servers of their record', async () => {
    const found = record({ info: { ...identity, requestedAtMs: 1 } });
    const parts = { find: async () => found, read: async () => new Sensitive('t') };
    const wanted = { minTtl: 0, freshSince: undefined };
    const token = await readCachedToken('k', wanted, { store: store(parts), now: () => NOW * 1000 });
    expect(token?.servers).toEqual({ gsqlUrl: 'http://gsql', restUrl: 'http://rest' });
  });
});

describe('the end of a token by our clock', () => {
  const end = (server: { clock: number; end: number; granted: number }, seconds = 0) =>
    localExpiry(
      {
        minted: {
          token: 't',
          expiresAtUnix: NOW + server.end,
          grantedSeconds: server.granted,
          serverTimeUnix: NOW + server.clock,
          serverText: '',
        },
        requestedAtMs: NOW * 1000,
        answeredAtMs: (NOW + seconds) * 1000,
      },
      3600,
    ) - NOW;

  test.each([600, -600])('is corrected for a server whose clock is %i s away', (clock) => {
    expect(end({ clock, end: clock + 3600, granted: 3600 })).toBe(3600);
  });

  test('is counted from the request, so that a slow answer does not prolong it', () => {
    expect(end({ clock: 30, end: 3630, granted: 3600 }, 30)).toBe(3600);
  });

  test('is as asked when the server names one of another year', () => {
    expect(end({ clock: 0, end: -40_000_000, granted: 0 })).toBe(3600);
  });
});

test('a token that was renewed for less time than asked is warned of, and dated from the request', async () => {
  const server = createServer((_request, response) => {
    const expiration = Math.floor(Date.now() / 1000) + 60;
    response.end(JSON.stringify({ error: false, token: 't'.repeat(32), expiration }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection = new GraphConnection({
    restUrl: url,
    gsqlUrl: url,
    serverVersion: '3.10.1',
    secret: 's'.repeat(32),
  });
  const warnings: string[] = [];
  const requestedAtMs = Date.now();
  const times = [requestedAtMs, requestedAtMs + 500];
  const renewed = await renewToken(
    {
      connection,
      version: await connection.findVersion(),
      lifetime: 3600,
      token: new Sensitive('t'.repeat(32)),
    },
    {
      now: () => times.shift() ?? expect.fail('the clock was read a third time'),
      warn: (words) => warnings.push(words),
    },
  );
  expect(warnings).toEqual([
    expect.stringMatching(/^the server gave the token a life of \d\d s, not the 3600 s asked for$/),
  ]);
  const servers = { restUrl: url, gsqlUrl: url };
  expect(renewed).toMatchObject({ lifetimeSeconds: 3600, requestedAtMs, servers });
});
