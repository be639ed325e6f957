// Tests the token provider of the library.

import { expect, test } from 'vitest';
import { TokenProvider } from '../../src/core/provider.js';
import { GraphConnection, GraphException } from '../../src/index.js';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { DEEP } from '../helpers/property.js';
import { testSandbox } from '../helpers/sandbox.js';

async function connected(options: SandboxOptions = {}) {
  const seen: { path: string; status: number }[] = [];
  const secret = 'a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6';
  const sandbox = await testSandbox({
    secrets: [{ alias: 'one', value: secret, user: 'tigergraph', graph: 'demo' }],
    log: (line) => seen.push(JSON.parse(line)),
    ...options,
  });
  const { restUrl, gsqlUrl, graph } = sandbox;
  const connection = new GraphConnection({ restUrl, gsqlUrl, graph });
  const mints = () => seen.filter(({ path }) => /\/(requesttoken|tokens)$/.test(path)).length;
  return { sandbox, connection, secret, mints, seen };
}

test.each(['3.10.1', '4.1.2'])('1,000 calls at once on %s make one mint', async (serverVersion) => {
  const { connection, secret, mints } = await connected({ serverVersion });
  const tokens = connection.tokenProvider({ secret, lifetime: 900 });
  const got = await Promise.all(Array.from({ length: 1000 }, () => tokens.headers()));
  expect([...new Set(got.map((one) => one.authorization))]).toEqual([`Bearer ${(await tokens.get()).token}`]);
  expect(mints()).toBe(1);
});

test('rest() renews a token that lives 2 s, before it ends', async () => {
  const { connection, secret, mints, seen } = await connected({ switches: { grantedAtMost: 2 } });
  connection.tokenProvider({ secret });
  const end = Date.now() + (DEEP ? 20_000 : 7000);
  while (Date.now() < end) await connection.rest('GET', '/echo');
  expect(mints()).toBeGreaterThan(2);
  expect(seen.filter(({ path, status }) => path === '/echo' && status !== 200)).toEqual([]);
});

test('rest() gets another token when the server refuses the one at hand, and soon after a mint that failed', async () => {
  const { sandbox, connection, secret, mints } = await connected();
  connection.tokenProvider({ secret });
  await connection.rest('GET', '/echo');
  sandbox.addFault({ action: 'revoke' });
  expect((await connection.rest('GET', '/echo')).status).toBe(200);
  expect(mints()).toBe(2);
  sandbox.addFault({ action: 'revoke' });
  sandbox.addFault({ action: 'status', status: 503, route: '/requesttoken', times: 1 });
  await expect.poll(() => connection.rest('GET', '/echo').catch(() => 0), { timeout: 3000 }).toBeTruthy();
});

test('while a new token is refused too, no other one is minted', async () => {
  const { sandbox, connection, secret, mints } = await connected();
  connection.tokenProvider({ secret });
  const body = '{"error":true,"code":"REST-10016","message":"refused"}';
  sandbox.addFault({ action: 'status', status: 403, body, route: '/echo' });
  for (let n = 0; n < 3; n++)
    await expect(connection.rest('GET', '/echo')).rejects.toMatchObject({ code: 'AUTH_FAILED' });
  expect(mints()).toBe(2);
});

test.each([
  ['that is refused again and again is tried ever less often', [], [6, 20]],
  ['in a file, which may be replaced, is tried each second', [{ setting: 'jwtFile' }], [550, 600]],
])('a login %s', async (_, hint, [least = 0, most = 0]) => {
  const clock = { ms: 0 };
  let tries = 0;
  const tokens = new TokenProvider<string>({
    acquire: async () => {
      tries += 1;
      if (tries > 1) throw new GraphException('AUTH_FAILED', 'refused', { hint });
      return 'token';
    },
    textOf: (token) => token,
    lifeOf: () => ({ fromMs: 0, endMs: 30_000 }),
    now: () => clock.ms,
  });
  for (; clock.ms < 600_000; clock.ms += 500) await tokens.get().catch(() => {});
  expect(tries).toBeGreaterThanOrEqual(least);
  expect(tries).toBeLessThanOrEqual(most);
});

test('a renewal that fails leaves the token in use', async () => {
  const { sandbox, connection, secret, mints } = await connected({ switches: { grantedAtMost: 6 } });
  const tokens = connection.tokenProvider({ secret });
  const { token, expiresAtUnix } = await tokens.get();
  sandbox.addFault({ action: 'status', status: 503, route: '/requesttoken' });
  await expect
    .poll(async () => (await tokens.get()).token === token && mints() > 1, { timeout: 6000 })
    .toBe(true);
  expect(Date.now() / 1000).toBeLessThan(expiresAtUnix);
});
