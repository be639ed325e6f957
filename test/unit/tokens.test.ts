import { createServer } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { forget } from '../../src/app/tokens/keep-token.js';
import { rowsOf } from '../../src/app/tokens/list-tokens.js';
import { renewToken } from '../../src/app/tokens/mint-token.js';
import { findToken, isUsable, ownTokens, type TokenCache } from '../../src/app/tokens/token-cache.js';
import { fingerprint } from '../../src/auth/credential.js';
import { versionOf } from '../../src/core/protocol/version.js';
import { GraphConnection, GraphException, Sensitive } from '../../src/index.js';
import type { Run } from '../../src/run/run.js';
import { tokenKey } from '../../src/store/records.js';
import type { Store, TokenRecord } from '../../src/store/store.js';
import { listening } from '../helpers/ports.js';
import { type Changes, secretRecord, tokenRecord } from '../helpers/store-options.js';

const NOW = 1_800_000_000;

/** Returns what these functions see of a run. */
function runWith(given: { now(): number; warnings: string[]; stateDir?: string; store?: string }) {
  const { now, warnings, stateDir, store = 'file' } = given;
  const reporter = { warn: (words: string) => warnings.push(words) };
  const target = { gsqlUrl: 'http://gsql' };
  const stores = { stateDir, remember: stateDir !== undefined && store !== 'none' };
  return { ports: { now, reporter }, target, stores } as unknown as Run;
}

const record = (more: Changes<TokenRecord> = {}) =>
  tokenRecord({ key: 'k', createdAtUnix: NOW - 100, expiresAtUnix: NOW + 100, ...more });

const TOKEN = new Sensitive('t');
const OWN = record({ key: tokenKey('k', fingerprint(TOKEN)) });

describe('a cached token is used', () => {
  const usable = (more: Changes<TokenRecord>, minTtl = 0, freshSince?: number) =>
    isUsable(record(more), { minTtl, freshSince, askedAt: NOW * 1000 }, NOW * 1000);

  test('when it has just the life that is wanted, and not with a second less', () => {
    expect(usable({}, 100)).toBe(true);
    expect(usable({}, 101)).toBe(false);
  });

  test('unless it was stored in the future, by more than a clock is corrected', () => {
    expect(usable({ createdAtUnix: NOW + 10 })).toBe(true);
    expect(usable({ createdAtUnix: NOW + 11 })).toBe(false);
  });

  test('unless its deletion was broken off, which the server may have carried out', () => {
    expect(usable({ info: { unfinished: 'refresh' } })).toBe(true);
    expect(usable({ info: { unfinished: 'delete' } })).toBe(false);
  });

  test('by a run that wants a new one, when it was asked for since then and not in the future', () => {
    const asked = (ms: number) => usable({ info: { requestedAtMs: ms } }, 0, NOW * 1000 - 500);
    expect([-501, -500, 0, 1].map((ms) => asked(NOW * 1000 + ms))).toEqual([false, true, true, false]);
  });
});

describe('tokens in a store', () => {
  const identity = { gsqlUrl: 'http://gsql', restUrl: 'http://rest', graph: 'demo', principal: 'user:ada' };
  const store = (parts: Partial<Store>) => parts as Store;
  const cacheOf = (parts: Partial<Store>, graph: string | null = 'demo'): TokenCache => ({
    run: { ports: { now: () => NOW * 1000 } } as Run,
    store: store(parts),
    identity: { ...identity, graph: graph ?? undefined, lifetime: 1 },
    whose: {},
  });
  const cached = async (list: Store['list'], graph?: null) =>
    (await ownTokens(cacheOf({ list }, graph))).map(({ record }) => record);

  test('are not the secrets of the same owner', async () => {
    const records = [record({ info: identity }), secretRecord({ info: identity })];
    expect(await cached(async () => records)).toEqual([records[0]]);
  });

  test('come with the one first that ends last, and only those of this identity', async () => {
    const ends = (expiresAtUnix: number, more: object = {}) =>
      record({ expiresAtUnix, info: { ...identity, ...more } });
    const [soon, late, other] = [ends(NOW + 1), ends(NOW + 9), ends(NOW + 5, { graph: null })];
    const strangers = ['gsqlUrl', 'restUrl', 'principal'].map((name) => ends(NOW, { [name]: 'another' }));
    const list = async () => [...strangers, soon, other, secretRecord({ info: identity }), late];
    expect(await cached(list)).toEqual([late, soon]);
    expect(await cached(list, null)).toEqual([other]);
  });

  test('that cannot be forgotten because of a mistake of the program end the run', async () => {
    const mistake = new TypeError('a mistake');
    const own = { store: store({ delete: () => Promise.reject(mistake) }), record: OWN };
    await expect(forget([own], TOKEN)).rejects.toBe(mistake);
  });

  test('that cannot be forgotten are still there, and the reason is returned', async () => {
    const failure = new GraphException('STORE_LOCKED', 'locked');
    const remove = vi.fn(() => Promise.reject(failure));
    const [own, other] = [OWN, record({ key: tokenKey('k', '000000000000') })];
    const entries = [own, other].map((one) => ({ store: store({ delete: remove }), record: one }));
    expect(await forget(entries, TOKEN)).toBe(failure);
    expect(remove.mock.calls).toEqual([[own.key]]);
  });

  test('belong to both servers of their record', async () => {
    const found = record({ info: { ...identity, requestedAtMs: 1 } });
    const parts = { list: async () => [found], get: async () => new Sensitive('t') };
    const token = await findToken(cacheOf(parts), { minTtl: 0, freshSince: undefined, askedAt: 0 });
    expect(token?.token.servers).toEqual({ gsqlUrl: 'http://gsql', restUrl: 'http://rest' });
    expect(token).toMatchObject({ expiresAtUnix: NOW + 100, life: { requestedAtMs: 1 }, isCached: true });
  });
});

/** Renews a token of a server that grants `granted` seconds, with `end` as the end by its clock, `clock` s away from ours. */
async function renewed(
  granted: number,
  lifetime: number,
  { clock = 0, end = clock + granted }: { clock?: number; end?: number } = {},
) {
  const answer = {
    token: 't',
    grantedSeconds: granted,
    serverTimeUnix: NOW + clock,
    expiresAtUnix: NOW + end,
  };
  const connection = {
    renewToken: async () => ({ ...answer, serverText: '' }),
    baseUrls: async () => ({ restUrl: 'http://rest', gsqlUrl: 'http://gsql' }),
  } as unknown as GraphConnection;
  const warnings: string[] = [];
  const run = runWith({ now: () => NOW * 1000, warnings });
  const connected = { connection, version: versionOf('3.10.1') };
  const token = await renewToken(run, connected, new Sensitive('t'), lifetime);
  return { token, warnings };
}

describe('the end of a token by our clock', () => {
  const endOf = async (server: { clock: number; end: number; granted: number }) =>
    (await renewed(server.granted, 3600, server)).token.expiresAtUnix - NOW;

  test.each([600, -600, 2])('is corrected for a server whose clock is %i s away', async (clock) => {
    expect(await endOf({ clock, end: clock + 3600, granted: 3600 })).toBe(3600);
  });

  test('is the server’s own when only its Date header is wrong, and never a later one', async () => {
    expect(await endOf({ clock: -7200, end: 3600, granted: 10_800 })).toBe(3600);
    expect(await endOf({ clock: 1800, end: 3600, granted: 3600 })).toBe(3600);
    expect(await endOf({ clock: -7200, end: 1000, granted: 8200 })).toBe(1000);
  });

  test('is later than asked when the server granted more', async () => {
    expect(await endOf({ clock: 600, end: 36_600, granted: 36_000 })).toBe(36_000);
  });
});

test('a token that was renewed for less time than asked is warned of, and dated from the request', async () => {
  const server = createServer((_request, response) => {
    const expiration = Math.floor(Date.now() / 1000) + 60;
    response.end(JSON.stringify({ error: false, token: 't'.repeat(32), expiration }));
  });
  const url = await listening(server);
  const connection = new GraphConnection({
    restUrl: url,
    gsqlUrl: url,
    serverVersion: '3.10.1',
    secret: 's'.repeat(32),
  });
  const warnings: string[] = [];
  const requestedAtMs = Date.now();
  const times = [requestedAtMs];
  const now = () => times.shift() ?? expect.fail('the clock was read a second time');
  const connected = { connection, version: await connection.findVersion() };
  const token = new Sensitive('t'.repeat(32));
  const renewed = await renewToken(runWith({ now, warnings }), connected, token, 3600);
  expect(warnings).toEqual([
    expect.stringMatching(/^the server gave the token a life of \d\d s, not the 3600 s asked for$/),
  ]);
  expect(renewed.token.servers).toEqual({ restUrl: url, gsqlUrl: url });
  expect(renewed.life.requestedAtMs).toBe(requestedAtMs);
  expect(renewed.life.lifetime).toBe(renewed.expiresAtUnix - Math.floor(requestedAtMs / 1000));
});

describe('a renewed token', () => {
  test.each([
    [60, 50, 49],
    [60, 70, 71],
    [1000, 900, 899],
    [1000, 1100, 1101],
  ])('for %i s may live for %i s without a warning, but not for %i s', async (asked, within, outside) => {
    expect((await renewed(within, asked)).warnings).toEqual([]);
    expect((await renewed(outside, asked)).warnings).toEqual([
      `the server gave the token a life of ${outside} s, not the ${asked} s asked for`,
    ]);
  });
});

test('a token of a secretCommand is listed under the name of the program, without its arguments', () => {
  const rowFor = (...command: string[]) => {
    const principal = `command:${JSON.stringify(command)}`;
    return rowsOf([{ store: {} as Store, record: record({ info: { principal } }) }])[0]?.from;
  };
  expect(rowFor('vault', 'kv')).toBe('program vault');
  expect(rowFor('/opt/my tools/pass', 'a/b')).toBe('program pass');
  expect(rowFor('C:\\bin\\op.exe', 'read')).toBe('program op.exe');
});
