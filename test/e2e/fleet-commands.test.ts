import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fingerprint } from '../../src/auth/credential.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { partsOf, tokenKey } from '../../src/store/records.js';
import { bench, cli, temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { start } from '../helpers/process.js';
import { CLIENT, signInByHttp, startProvider } from '../helpers/provider.js';
import { MINTER, READER, redisSkipReason, startRedis } from '../helpers/redis.js';
import { openRedis } from '../helpers/redis-store.js';

const storeKey = crypto.randomBytes(32).toString('base64');

/** Starts a database and a Redis server. Each home stands for one machine. */
async function fleet(
  serverVersion = '3.10.1',
  users?: readonly string[],
  options: Parameters<typeof bench>[0] = {},
) {
  const database = await bench({ serverVersion, ...options });
  const redis = await startRedis(users ? { users } : {});
  const env: Record<string, string> = {
    ...database.env,
    GRAPHCRED_STORE: 'redis',
    GRAPHCRED_STORE_KEY: storeKey,
    GRAPHCRED_REDIS_URL: redis.url,
  };
  const machine = (more: Record<string, string> = {}) => {
    const home = temporaryHome();
    return (line: string) => cli(home, line.split(' '), { env: { ...env, ...more } });
  };
  const mints = () =>
    database.sandbox.requests.filter(({ method, path: route }) => method === 'POST' && /tokens?$/.test(route))
      .length;
  return { ...database, redis, env, machine, mints };
}

describe.skipIf(redisSkipReason())('a fleet that shares tokens', () => {
  // holds: C11.10
  it('deletes all of its tokens, however many there are', async () => {
    const { machine, redis } = await fleet();
    const run = machine();
    await run('token get');
    const { store } = openRedis(redis.url, { storeKey: Buffer.from(storeKey, 'base64') });
    const [first] = await store.list();
    const { identity } = partsOf(defined(first).key);
    for (let index = 1; index < 1100; index++) {
      const value = new Sensitive(`${index}`.padStart(32, 'x'));
      await store.put({ ...defined(first), key: tokenKey(identity, fingerprint(value)) }, value);
    }
    expect(await run('token delete --all --skip-missing')).toMatchObject({ status: 0 });
    expect(await store.list()).toEqual([]);
  });

  // holds: C11.4
  it.each([
    ['READONLY', ['REPLICAOF', '127.0.0.1', '1']],
    ['NOREPLICAS', ['CONFIG', 'SET', 'min-replicas-to-write', '1']],
    ['OOM', ['CONFIG', 'SET', 'maxmemory', '1']],
  ])(
    'gives 20 jobs of a machine its own token at once while the server refuses writes: %s',
    async (code, command) => {
      const { machine, mints, redis } = await fleet();
      await redis.cli(...command);
      const run = machine({ GRAPHCRED_TIMEOUT: '5' });
      const begun = performance.now();
      const results = await Promise.all(Array.from({ length: 20 }, () => run('token get')));
      expect(performance.now() - begun).toBeLessThan(3 * 10_000);
      expect(results.filter(({ status }) => status !== 0)).toEqual([]);
      expect(results[0]?.stderr).toMatch(new RegExp(`with ${code}; this machine uses its own tokens`));
      expect(mints()).toBeLessThanOrEqual(2);
    },
  );

  // holds: C11.6
  it('gives a reader a token without any credential of the database', async () => {
    const { env, machine, mints } = await fleet('3.10.1', ['user default off', MINTER, READER]);
    const minter = machine({
      GRAPHCRED_REDIS_USERNAME: 'minter',
      GRAPHCRED_REDIS_PASSWORD: 'minting',
      GRAPHCRED_PRINCIPAL: 'nightly',
    });
    const { GRAPHCRED_USERNAME: _user, GRAPHCRED_PASSWORD: _password, ...reading } = env;
    const home = temporaryHome();
    const passwordFile = path.join(home, 'password');
    fs.writeFileSync(passwordFile, 'reading\n', { mode: 0o600 });
    const read = (line: string) =>
      cli(home, line.split(' '), {
        env: {
          ...reading,
          // ioredis would print its commands then.
          DEBUG: '*',
          GRAPHCRED_REDIS_USERNAME: 'reader',
          GRAPHCRED_REDIS_PASSWORD_FILE: passwordFile,
        },
      });
    expect(await read('token get --principal nightly')).toMatchObject({ status: 2, stdout: '' });
    const minted = await minter('token get');
    expect(minted.status).toBe(0);
    expect(await read('token get --principal nightly')).toEqual({ ...minted, stderr: '' });
    expect(await read('token get --principal other')).toMatchObject({ status: 2, stdout: '' });
    expect(mints()).toBe(1);
  });

  // holds: C11.8, C12.13
  it.skipIf(keyringSkipReason())(
    'logout ends the login of a person, which lies in the keychain',
    async () => {
      const provider = await startProvider();
      const { env } = await fleet('4.2.0', undefined, { provider: provider.sandbox });
      const home = temporaryHome();
      await withKeyring({ state: 'unlocked' }, async (keyring) => {
        const {
          GRAPHCRED_USERNAME: _user,
          GRAPHCRED_PASSWORD: _password,
          ...own
        } = { ...env, ...keyring.env };
        const login = ['login', '--store', 'keychain', '--no-browser', '--oidc-client-id', CLIENT];
        const { child, ended } = start([...login, '--oidc-issuer', provider.issuer], { ...own, HOME: home });
        child.stderr?.on('data', (text: string) => {
          const [, url] = /to log in: (\S+)/.exec(text) ?? [];
          if (url !== undefined) void signInByHttp(url, 'tigergraph');
        });
        expect(await ended).toMatchObject({ status: 0 });
        const run = (...words: string[]) => start(words, { ...own, HOME: home }).ended;
        expect(await run('token', 'get', '--fresh')).toMatchObject({ status: 0, stderr: '' });
        provider.requests();
        expect(await run('logout')).toMatchObject({
          status: 0,
          stdout: expect.stringContaining('1 saved credential'),
        });
        expect(provider.requests()).toContain('POST /token/revocation');
      });
    },
  );

  it('lists the tokens of this machine while the Redis server does not answer, refreshes none, and deletes them at logout', async () => {
    const { machine, redis } = await fleet();
    const run = machine();
    await redis.kill();
    await run('token get');
    const away = 'this looks at the tokens of this machine only';
    const looking = expect.stringContaining(away);
    expect((await run('token list')).stdout.match(/ file /g)).toHaveLength(1);
    expect(await run('status')).toMatchObject({ status: 0, stderr: looking });
    expect(await run('token check')).toMatchObject({ status: 0, stderr: looking });
    expect(await run('token delete')).toMatchObject({ status: 6, stdout: '' });
    expect(await run('token refresh')).toMatchObject({ status: 6, stdout: '' });
    expect(await run('logout')).toMatchObject({ status: 0 });
    expect(JSON.parse((await run('token list -o json')).stdout).tokens).toEqual([]);
  });

  it('warns that deleting a token ends it for every job', async () => {
    const { machine } = await fleet();
    const run = machine();
    await run('token get');
    const deleted = await run('token delete');
    expect(deleted).toMatchObject({ status: 0, stdout: 'Deleted 1 token.\n' });
    expect(deleted.stderr).toContain('every job that uses one needs a new one');
  });

  it('refreshes the shared token for all machines', async () => {
    const { machine, mints } = await fleet();
    await machine()('token get');
    const refreshed = await machine()('token refresh');
    expect(refreshed.status).toBe(0);
    expect((await machine()('token get')).stdout).toBe(refreshed.stdout);
    expect(mints()).toBe(1);
  });

  // holds: C11.8
  it('does not use or revoke a shared token in exec --revoke', async () => {
    const { machine, mints } = await fleet();
    const run = machine();
    const shared = (await run('token get')).stdout;
    expect(await run('exec --revoke -- true')).toMatchObject({ status: 0 });
    expect(mints()).toBe(2);
    expect((await machine()('token get')).stdout).toBe(shared);
    expect(await run('token check')).toMatchObject({ status: 0 });
  });
});
