import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { acquireToken } from '../../src/app/acquire-token.js';
import { localExpiry, mintToken } from '../../src/app/mint-token.js';
import type { GraphConnection } from '../../src/core/connection.js';
import { GraphException } from '../../src/core/errors.js';
import { serverVersion } from '../../src/core/protocol/version.js';
import type { Sensitive } from '../../src/core/sensitive.js';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';
import { noneStore } from '../../src/store/none.js';
import { bench } from '../helpers/cli.js';
import { gate } from '../helpers/gate.js';

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

  test('is found for a lifetime of ten seconds too, so that the token is not already expired', async () => {
    const { run } = await bench({ ...VERSION, lifetimeUnit: 'ms' });
    const { stdout, stderr } = await run('token get --lifetime 10s -o json', {
      env: { GRAPHCRED_MIN_TTL: '0' },
    });
    expect(left(JSON.parse(stdout))).toBeGreaterThan(5);
    expect(stderr).not.toContain('life of');
    const { token } = JSON.parse(stdout) as Token;
    expect((await run('token check --token-stdin', { stdin: token })).status).toBe(0);
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

describe('the expiry of a token by this machine’s clock', () => {
  const NOW = 1_800_000_000;
  const end = (
    more: { expires?: number; date?: number; took?: number; granted?: number },
    lifetime = 900,
  ) => {
    const { expires = NOW + 900, date = NOW, took = 0, granted = Math.max(0, expires - date) } = more;
    const minted = {
      token: 't',
      serverText: '',
      expiresAtUnix: expires,
      grantedSeconds: granted,
      serverTimeUnix: date,
    };
    return (
      localExpiry({ minted, requestedAtMs: NOW * 1000, answeredAtMs: (NOW + took) * 1000 }, lifetime) - NOW
    );
  };

  test.each([
    ['is what the server said', {}, 900],
    [
      'is put right by a clock that is hours ahead',
      { expires: NOW + 900 + 5 * HOUR, date: NOW + 5 * HOUR },
      900,
    ],
    [
      'is put right by a clock that is hours behind',
      { expires: NOW + 900 - 5 * HOUR, date: NOW - 5 * HOUR },
      900,
    ],
    ['does not grow when the answer is slow to arrive', { took: 60 }, 900],
    [
      'does not grow when the server is slow to answer',
      { took: 60, date: NOW + 60, expires: NOW + 960 },
      900,
    ],
    [
      'does not grow when a server behind in time is slow',
      { took: 60, date: NOW - HOUR, expires: NOW - HOUR + 900 },
      900,
    ],
    ['is believed in spite of a Date header from 1970', { date: 0, granted: 900 }, 900],
    ['is believed in spite of a Date header from 1970 that gives a wrong life', { date: 0 }, 900],
    ['is believed in spite of a Date header from 2090', { date: NOW + 63 * 365 * 86_400 }, 900],
    [
      'is believed when it is shorter than asked, in spite of a Date header from 1970',
      { date: 0, expires: NOW + 60 },
      60,
    ],
    [
      'is believed when it is shorter than asked and both clocks differ',
      { date: NOW - HOUR, expires: NOW - HOUR + 60 },
      60,
    ],
  ] as const)('%s', (_what, more, seconds) => {
    expect(end(more)).toBeLessThanOrEqual(seconds);
    expect(end(more)).toBeGreaterThan(seconds - 5);
  });

  test.each(['3.2.0', '3.10.1', '4.1.2'])(
    'on %s is not later because the answer was slow',
    async (serverVersion) => {
      const { json, sandbox } = await bench({ serverVersion });
      let late = 0;
      const front = await gate(sandbox.gsqlUrl, /^POST \/gsql\/v1\/tokens /, async () => {
        late = 60_000;
      });
      const rest = await gate(sandbox.restUrl, /requesttoken/, async () => {
        late = 60_000;
      });
      const env = serverVersion.startsWith('4')
        ? { GRAPHCRED_GSQL_URL: front }
        : { GRAPHCRED_REST_URL: rest };
      const asked = Date.now() / 1000;
      // A minute passes between the server's answer and its arrival.
      const { expiresAtUnix } = await json<Token>('token get --lifetime 1h', {
        env,
        now: () => Date.now() + late,
      });
      expect(late).toBe(60_000);
      expect(expiresAtUnix - asked - HOUR).toBeLessThan(20);
    },
  );

  test.each(['3.10.1', '4.1.2'])(
    'on %s is not in 2083 when the Date header says 1970',
    async (serverVersion) => {
      const { json, sandbox } = await bench({ serverVersion });
      const target = serverVersion.startsWith('4') ? sandbox.gsqlUrl : sandbox.restUrl;
      const front = http.createServer(async (request, response) => {
        let body = '';
        for await (const part of request) body += part;
        const { authorization } = request.headers;
        const reply = await fetch(target + request.url, {
          method: request.method ?? 'GET',
          headers: { ...(authorization && { authorization }) },
          ...(body !== '' && { body }),
        });
        response.writeHead(reply.status, { date: new Date(1000).toUTCString() });
        response.end(await reply.text());
      });
      await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => {
        front.close();
      });
      const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
      const name = serverVersion.startsWith('4') ? 'GRAPHCRED_GSQL_URL' : 'GRAPHCRED_REST_URL';
      expect(left(await json<Token>('token get --lifetime 1h', { env: { [name]: url } }))).toBeLessThan(
        HOUR + 20,
      );
    },
  );
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

test('a second token that lives a thousand times too long is revoked, and the first one is kept', async () => {
  const minted = (grantedSeconds: number) => {
    const serverTimeUnix = Math.floor(Date.now() / 1000);
    const expiresAtUnix = serverTimeUnix + grantedSeconds;
    return { token: `t${grantedSeconds}`, grantedSeconds, serverTimeUnix, expiresAtUnix, serverText: '' };
  };
  const deleted: string[] = [];
  const answers = [minted(900), minted(900_000_000)];
  const connection = {
    mintToken: async () => answers.shift(),
    deleteToken: async (_login: undefined, { token }: { token: Sensitive }) => deleted.push(token.reveal()),
    baseUrls: async () => ({ restUrl: 'http://a', gsqlUrl: 'http://b' }),
  } as unknown as GraphConnection;
  const held = await mintToken(
    { connection, version: serverVersion('4', '4.1.2'), lifetime: 900_000, lifetimeUnit: undefined },
    { now: Date.now, warn: () => {}, rememberUnit: () => expect.unreachable() },
  );
  expect(held.token.reveal()).toBe('t900');
  expect(deleted).toEqual(['t900000000']);
});

test.each([
  [900, false],
  [850, false],
  [500, true],
  [90, true],
  [3000, true],
])('a note says that a token for 900 s lives %i s: %s', async (grantedSeconds, said) => {
  const serverTimeUnix = Math.floor(Date.now() / 1000);
  const expiresAtUnix = serverTimeUnix + grantedSeconds;
  const minted = { token: 't', grantedSeconds, serverTimeUnix, expiresAtUnix, serverText: '' };
  const connection = {
    mintToken: async () => minted,
    baseUrls: async () => ({ restUrl: 'http://a', gsqlUrl: 'http://b' }),
  } as unknown as GraphConnection;
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  const version = serverVersion('3.5', '3.10.1');
  const deps = { now: Date.now, warn, rememberUnit: () => expect.unreachable() };
  await mintToken({ connection, version, lifetime: 900, lifetimeUnit: undefined }, deps);
  expect(warnings.length > 0).toBe(said);
});

test.each([
  ['AUTH_FAILED', true],
  ['PERMISSION_DENIED', true],
  ['NETWORK', false],
] as const)('%s is shared with those who wait for the same token: %s', async (code, shared) => {
  const refused: string[] = [];
  const turn = {
    write: async () => {},
    refuse: async (error: GraphException) => void refused.push(error.code),
    release: async () => {},
  };
  const identity = { gsqlUrl: 'http://b', restUrl: 'http://a', graph: 'g', principal: 'p', lifetime: 1 };
  const options = { identity, host: 'h', storeRequired: false, waitMs: 1, minTtl: 0, freshSince: undefined };
  const mint = async () => {
    throw new GraphException(code, 'no');
  };
  const deps = { now: Date.now, warn: () => {}, prepare: async () => {}, mint };
  const store = { ...noneStore, takeTurn: async () => turn };
  await expect(acquireToken(options, { ...deps, store })).rejects.toMatchObject({ code });
  expect(refused).toEqual(shared ? [code] : []);
});
