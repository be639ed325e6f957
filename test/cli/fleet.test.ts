// Tests the store `redis`: its settings, what `doctor` finds, and what happens if the Redis server does not answer or is hostile. What many machines
// do at once is in test/e2e/fleet-storm.test.ts.
import crypto from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import { environmentWithoutCredentials } from '../../src/run/ports.js';
import type { SandboxOptions } from '../../src/sandbox/server.js';
import { cipherOf } from '../../src/store/redis/cipher.js';
import { bench, cli, type RunOptions, temporaryHome } from '../helpers/cli.js';
import { configure, put } from '../helpers/home.js';
import { startHostileRedis } from '../helpers/hostile-redis.js';
import {
  MINTER,
  privateCa,
  READER,
  type RedisServer,
  redisSkipReason,
  startRedis,
} from '../helpers/redis.js';

const storeKey = crypto.randomBytes(32);
/** The settings of a machine while the Redis server is away. */
const alone = { GRAPHCRED_STORE: 'file', GRAPHCRED_STORE_KEY: storeKey.toString('base64') };

interface Finding {
  id: string;
  verdict: string;
  cause: string;
  fix: string;
}

/** Starts a database, and creates a machine that shares its tokens through this Redis server. */
async function machine(
  redis: Pick<RedisServer, 'url'>,
  more: Record<string, string> = {},
  options: SandboxOptions = {},
) {
  const database = await bench(options);
  const env: Record<string, string> = {
    GRAPHCRED_STORE: 'redis',
    GRAPHCRED_STORE_KEY: storeKey.toString('base64'),
    GRAPHCRED_REDIS_URL: redis.url,
    ...more,
  };
  const run = (line: string, given: RunOptions = {}) =>
    database.run(line, { ...given, env: { ...env, ...given.env } });
  return {
    ...database,
    run,
    /** Does the same on another machine. */
    beside: (line: string, given: RunOptions['env'] = {}) =>
      cli(temporaryHome(), line.split(' '), { env: { ...database.env, ...env, ...given } }),
    mints: () => database.requests().filter((request) => /^POST .*tokens?$/.test(request)).length,
    async examine(now?: () => number) {
      const { status, stdout, stderr } = await run('doctor -o json', now && { now });
      const { checks } = JSON.parse(stdout) as { checks: Finding[] };
      const found = Object.fromEntries(checks.map((check) => [check.id, check]));
      return { status, stderr, found };
    },
  };
}

describe.skipIf(redisSkipReason())('token list with the store redis', () => {
  it('shows the tokens of the fleet and those that this machine minted for itself', async () => {
    const { run } = await machine(await startRedis());
    expect((await run('token get --lifetime 2h')).status).toBe(0);
    expect((await run('token get --lifetime 1h', { env: alone })).status).toBe(0);
    const { tokens } = JSON.parse((await run('token list -o json')).stdout);
    expect(tokens.map(({ store }: { store: string }) => store)).toEqual(['redis', 'file']);
  });

  it('is not the only command that sees the tokens of this machine, and one that the server refuses does not come back', async () => {
    const { run } = await machine(await startRedis());
    const { stdout: old } = await run('token get --lifetime 1h', { env: alone });
    expect(await run('status')).toMatchObject({ status: 0 });
    expect(await run('token refresh --lifetime 1h')).toMatchObject({ stdout: old });
    const { stdout: token } = await run('token get', { env: alone });
    expect(await run('token get')).toMatchObject({ stdout: token });
    await run('token delete --token-stdin --store none', { stdin: token });
    expect(await run('token check')).toMatchObject({ status: 4 });
    expect((await run('token get')).stdout).not.toBe(token);
  });
});

it('a Redis server is not asked for anything while another store is chosen', async () => {
  let asked = 0;
  const { url } = await startHostileRedis(() => {
    asked++;
    return '+OK\r\n';
  });
  const { examine } = await machine({ url }, { GRAPHCRED_STORE: 'file' });
  const { found } = await examine();
  expect({ store: found.store?.verdict, asked }).toEqual({ store: 'ok', asked: 0 });
});

describe.skipIf(redisSkipReason())('logout with the store redis', () => {
  it('leaves the tokens of the fleet, and with --revoke ends them and those of this machine', async () => {
    const { run } = await machine(await startRedis());
    expect((await run('token get')).status).toBe(0);
    const held = async () => JSON.parse((await run('token list -o json')).stdout).tokens.length;
    const left = await run('logout');
    expect(left).toMatchObject({ status: 3, stderr: expect.stringContaining('--revoke ends them for all') });
    expect(await held()).toBe(1);
    const env = { GRAPHCRED_STORE: 'file', GRAPHCRED_STORE_KEY: storeKey.toString('base64') };
    expect((await run('token get', { env })).status).toBe(0);
    const ended = await run('logout --revoke');
    expect(ended).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Deleted 2 revoked tokens'),
    });
    expect(ended.stderr).not.toContain('stay for other machines');
    expect(await held()).toBe(0);
  });
});

describe.skipIf(redisSkipReason())('doctor with the store redis', () => {
  // holds: C11.9
  it('names rights and key of a minter, and leaves nothing there', async () => {
    const redis = await startRedis({ users: ['user default off', MINTER] });
    const login = { GRAPHCRED_REDIS_USERNAME: 'minter', GRAPHCRED_REDIS_PASSWORD: 'minting' };
    const { examine } = await machine(redis, login);
    const { status, stderr, found } = await examine();
    const keyId = /\{(.*)\}/.exec(cipherOf(storeKey).index)?.[1];
    const cause = `redis master; 0 tokens, which this machine reads and writes; the store key, which must be the same on all machines, has the ID ${keyId}; without TLS`;
    expect({ status, stderr, store: found.store }).toMatchObject({
      status: 0,
      stderr: '',
      store: { verdict: 'ok', cause },
    });
    expect(await redis.cli('KEYS', '*')).toBe('');
  });

  it('reports that a reader can only read', async () => {
    const redis = await startRedis({ users: ['user default off', READER] });
    const login = { GRAPHCRED_REDIS_USERNAME: 'reader', GRAPHCRED_REDIS_PASSWORD: 'reading' };
    const { found, status } = await (await machine(redis, login)).examine();
    expect(status).toBe(0);
    expect(found.store).toMatchObject({
      verdict: 'ok',
      cause: expect.stringContaining('which this machine only reads'),
    });
  });

  it.each([
    ['without the right to read', { GRAPHCRED_REDIS_USERNAME: 'nobody', GRAPHCRED_REDIS_PASSWORD: 'no' }],
    ['with a wrong password', { GRAPHCRED_REDIS_USERNAME: 'nobody', GRAPHCRED_REDIS_PASSWORD: 'hunter22' }],
    ['without a login', {}],
    ['without a store key', { GRAPHCRED_STORE_KEY: '' }],
  ])('fails for a user %s', async (_what, login) => {
    const redis = await startRedis({ users: ['user default off', 'user nobody on >no ~none:* -@all +ping'] });
    const { found, status } = await (await machine(redis, login)).examine();
    expect(status).toBe(6);
    expect(found.store).toMatchObject({ verdict: 'fail', fix: expect.stringMatching(/\w/) });
    expect(JSON.stringify(found)).not.toContain('hunter22');
  });

  it('fails for a replica', async () => {
    const master = await startRedis();
    const redis = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
    const { found, status } = await (await machine(redis)).examine();
    expect(status).toBe(6);
    expect(found.store).toMatchObject({
      verdict: 'fail',
      fix: expect.stringContaining('set GRAPHCRED_REDIS_URL to the master; or to the Sentinels'),
    });
  });

  it('warns if the clock is wrong', async () => {
    const { examine } = await machine(await startRedis());
    const { found } = await examine(() => Date.now() - 3_600_000);
    expect(found.clock).toMatchObject({
      verdict: 'warn',
      cause: expect.stringMatching(/the Redis server's clock is 3[56]\d\d s ahead$/),
    });
  });

  it('fails if the certificate is not trusted, and passes with the CA', async () => {
    const { ca, cert, key } = await privateCa();
    const redis = await startRedis({ tls: { ca, cert, key } });
    const plain = await machine(redis);
    const { found, status } = await plain.examine();
    expect(status).toBe(6);
    expect(found.store).toMatchObject({ verdict: 'fail', fix: expect.stringContaining('REDIS_CA') });
    const trusting = await machine(redis, { GRAPHCRED_REDIS_CA: put(plain.home, 'ca.pem', ca) });
    expect((await trusting.examine()).found.store?.verdict).toBe('ok');
  });

  it.each(['is gone', 'takes no writes'])('fails if the server %s', async (what) => {
    const redis = await startRedis();
    const { examine } = await machine(redis);
    if (what === 'is gone') await redis.kill();
    else await redis.cli('CONFIG', 'SET', 'min-replicas-to-write', '1');
    const { found, status } = await examine();
    expect({ status, store: found.store?.verdict }).toEqual({ status: 6, store: 'fail' });
  });
});

describe.skipIf(redisSkipReason())('the settings of a fleet', () => {
  // holds: C11.9
  it('are shown by status, without a password', async () => {
    const redis = await startRedis({ args: ['--requirepass', 'hunter22'] });
    const { run } = await machine({ url: redis.url.replace('//', '//:hunter22@') });
    await run('token get');
    const { stdout, status } = await run('status');
    expect(status).toBe(0);
    expect(stdout).toContain(`redis at redis://****@127.0.0.1:${redis.port}`);
    for (const line of ['config show', 'status -o json', 'token get -v', 'doctor'])
      expect(JSON.stringify(await run(line))).not.toContain('hunter22');
  });

  // holds: C11.7
  it('hold no password on the command line', async () => {
    const { run } = await machine({ url: '' });
    const result = await run('token get --redis-url redis://:hunter22@h');
    expect(result).toMatchObject({ status: 2, stdout: '' });
    expect(result.stderr).not.toContain('hunter22');
  });

  // holds: C11.7
  it('cause a warning if a server on another machine is reached without encryption', async () => {
    const redis = await startRedis({ args: ['--protected-mode', 'no'] });
    // On Linux this address leads to this machine, but graphcred does not treat it as a loopback address.
    const { examine, run } = await machine({ url: redis.url.replace('127.0.0.1', '0.0.0.0') });
    const { status, stderr } = await run('token get');
    expect(status).toBe(0);
    expect(stderr.match(/is reached without encryption: use rediss:/g)).toHaveLength(1);
    expect((await examine()).found.store).toMatchObject({
      verdict: 'warn',
      fix: expect.stringContaining('use rediss://'),
    });
  });

  // holds: C11.8
  it('never store a secret: secret rotate', async () => {
    const redis = await startRedis();
    const { run } = await machine(redis);
    await run('secret create ci --store file');
    const before = await run('secret list --store file');
    const { status, stdout, stderr } = await run('secret rotate ci');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('--store keychain');
    expect(await redis.cli('KEYS', '*')).toBe('');
    expect(await run('secret list --store file')).toEqual(before);
  });
});

/** An address that has no Redis server. */
const NOWHERE = { url: 'redis://127.0.0.1:1' };

describe('a fleet', () => {
  it.each([
    [{ GRAPHCRED_REDIS_URL: '' }, 2, 'GRAPHCRED_REDIS_URL'],
    [
      { GRAPHCRED_REDIS_URL: 'redis://job:hunter22@' },
      2,
      'graphcred: The value of GRAPHCRED_REDIS_URL is not a Redis URL.\nhint: write redis://HOST:6379',
    ],
    [{ GRAPHCRED_STORE_KEY: 'short' }, 6, 'not 32 bytes'],
    [{ GRAPHCRED_REDIS_PASSWORD_FILE: 'absent' }, 2, 'named by GRAPHCRED_REDIS_PASSWORD_FILE'],
  ])('names the missing setting: %j', async (more, status, text) => {
    const { run, mints } = await machine(NOWHERE, more as Record<string, string>);
    const result = await run('token get');
    expect(result).toMatchObject({ status, stdout: '', stderr: expect.stringContaining(text) });
    expect(result.stderr).not.toContain('hunter22');
    expect(mints()).toBe(0);
  });

  // holds: C11.4
  it('exits 6 if the flag requires a Redis server that does not answer', async () => {
    const { run, mints } = await machine(NOWHERE);
    expect(await run('token get --store redis')).toMatchObject({
      status: 6,
      stdout: '',
      stderr: expect.stringContaining('connect ECONNREFUSED'),
    });
    expect(mints()).toBe(0);
  });

  it('looks at its own tokens where a node of a cluster answers, and the one with the tokens does not', async () => {
    const node = await startHostileRedis(([name]) => (name === 'PING' ? '+PONG\r\n' : '-CLUSTERDOWN no\r\n'));
    const { run } = await machine(NOWHERE, { GRAPHCRED_REDIS_URL: node.url, GRAPHCRED_TIMEOUT: '1' });
    expect(await run('token get')).toMatchObject({ status: 0 });
    for (const line of ['token list', 'status', 'token check'])
      expect({ line, ...(await run(line)) }).toMatchObject({ line, status: 0 });
  });

  it('waits no longer than --timeout for a Redis server that does not answer', async () => {
    const hostile = await startHostileRedis(() => '');
    const { run } = await machine(NOWHERE, { GRAPHCRED_REDIS_URL: hostile.url, GRAPHCRED_TIMEOUT: '1' });
    const startedAt = process.hrtime.bigint();
    expect(await run('token list --store redis')).toMatchObject({ status: 6, stdout: '' });
    // Without the limit of a second, the command would wait five for the Redis server.
    expect(Number(process.hrtime.bigint() - startedAt) / 1e9).toBeLessThan(5);
  });

  // holds: C11.4
  it('shares a refusal on the machine, also with a job that waits for the Redis server for longer', async () => {
    const hostile = await startHostileRedis(() => '');
    const { run, requests } = await machine(NOWHERE, {
      GRAPHCRED_REDIS_URL: hostile.url,
      GRAPHCRED_SECRET: 'x'.repeat(32),
    });
    const slow = run('token get --timeout 3');
    expect(await run('token get --timeout 1')).toMatchObject({ status: 4 });
    expect(await slow).toMatchObject({ status: 4 });
    expect(requests().filter((request) => /^POST .*token/.test(request))).toHaveLength(1);
  });

  it('sends the password in a config file only to the Redis server in that file', async () => {
    const away = await startHostileRedis(() => '-NOAUTH no\r\n');
    const own = await startHostileRedis(() => '-NOAUTH no\r\n');
    const { run, home } = await machine(NOWHERE, { GRAPHCRED_REDIS_URL: '' });
    put(home, '.config/graphcred/redis-password', 'hunter22');
    configure(home, { redis: { url: own.url, passwordFile: 'redis-password' } });
    for (const line of ['token get', 'status', 'token delete']) {
      const { status, stderr } = await run(line, { env: { GRAPHCRED_REDIS_URL: away.url } });
      expect({ line, status }).toEqual({ line, status: 5 });
      expect(stderr).toContain('GRAPHCRED_REDIS_PASSWORD_FILE');
      expect(stderr).toContain('it is not sent to the one in GRAPHCRED_REDIS_URL.');
    }
    const profiles = { default: { redis: { url: away.url } } };
    configure(home, { redis: { url: own.url, passwordFile: 'redis-password' }, profiles });
    expect(await run('token get', { env: { GRAPHCRED_REDIS_URL: away.url } })).toMatchObject({ status: 5 });
    expect([away.connections(), own.connections()]).toEqual([0, 0]);
    configure(home, { redis: { url: own.url, passwordFile: 'redis-password' } });
    expect(await run('token get', { env: { GRAPHCRED_REDIS_URL: own.url } })).toMatchObject({ status: 0 });
    expect(own.commands).toContain('HELLO');
    own.commands.length = 0;
    expect(await run('token get')).toMatchObject({ status: 0 });
    expect(own.commands).toContain('HELLO');
    // The file names no Redis server, so its password is for the one of the variable.
    configure(home, { redis: { passwordFile: 'redis-password' } });
    expect(await run('token get', { env: { GRAPHCRED_REDIS_URL: away.url } })).toMatchObject({ status: 0 });
    expect(away.commands).toContain('HELLO');
  });

  it('does not pass on a credential in whatever case its variable is written, because Windows ignores case', () => {
    const env = {
      Graphcred_Password: 'a',
      graphcred_redis_url: 'b',
      Graphcred_Store_Key: 'c',
      tg_secret: 'c',
      GRAPHCRED_STORE: 'redis',
      Path: 'd',
    };
    expect(environmentWithoutCredentials(env)).toEqual({ Path: 'd' });
  });
});

test('user and password of their own variables are taken before those in the address of the Redis server', async () => {
  const received: (readonly string[])[] = [];
  const hostile = await startHostileRedis((command) => {
    received.push(command);
    return '-WRONGPASS no\r\n';
  });
  const { run } = await machine(NOWHERE, {
    GRAPHCRED_REDIS_URL: hostile.url.replace('//', '//inside:hunter1@'),
    GRAPHCRED_REDIS_USERNAME: 'job',
    GRAPHCRED_REDIS_PASSWORD: 'hunter2',
  });
  await run('token get');
  expect(received[0]).toEqual(['hello', '3', 'AUTH', 'job', 'hunter2']);
});

describe.skipIf(redisSkipReason())('a fleet that shares tokens', () => {
  // holds: C11.4
  it.each([
    ['READONLY', ['REPLICAOF', '127.0.0.1', '1']],
    ['NOREPLICAS', ['CONFIG', 'SET', 'min-replicas-to-write', '1']],
    ['OOM', ['CONFIG', 'SET', 'maxmemory', '1']],
  ])(
    'gives 20 jobs of a machine its own token at once while the server refuses writes: %s',
    async (code, command) => {
      const redis = await startRedis();
      await redis.cli(...command);
      const { run, mints } = await machine(redis, { GRAPHCRED_TIMEOUT: '5' });
      const begun = performance.now();
      const results = await Promise.all(Array.from({ length: 20 }, () => run('token get')));
      expect(performance.now() - begun).toBeLessThan(3 * 10_000);
      expect(results.filter(({ status }) => status !== 0)).toEqual([]);
      expect(results[0]?.stderr).toMatch(
        new RegExp(`with ${code}; this machine keeps its own tokens instead`),
      );
      expect(mints()).toBeLessThanOrEqual(2);
    },
  );

  // holds: C11.6
  it('gives a reader a token without any credential of the database', async () => {
    const redis = await startRedis({ users: ['user default off', MINTER, READER] });
    const { run, beside, home, mints } = await machine(redis);
    const reading = {
      GRAPHCRED_USERNAME: undefined,
      GRAPHCRED_PASSWORD: undefined,
      // ioredis would print its commands then.
      DEBUG: '*',
      GRAPHCRED_REDIS_USERNAME: 'reader',
      GRAPHCRED_REDIS_PASSWORD_FILE: put(home, 'password', 'reading\n'),
    };
    const minting = {
      GRAPHCRED_REDIS_USERNAME: 'minter',
      GRAPHCRED_REDIS_PASSWORD: 'minting',
      GRAPHCRED_PRINCIPAL: 'nightly',
    };
    expect(await beside('token get --principal nightly', reading)).toMatchObject({ status: 2, stdout: '' });
    const minted = await run('token get', { env: minting });
    expect(minted.status).toBe(0);
    expect(await beside('token get --principal nightly', reading)).toEqual({ ...minted, stderr: '' });
    expect(await beside('token get --principal other', reading)).toMatchObject({ status: 2, stdout: '' });
    expect(mints()).toBe(1);
  });

  it('lists the tokens of this machine while the Redis server does not answer, refreshes none, and deletes them at logout', async () => {
    const redis = await startRedis();
    const { run } = await machine(redis);
    await redis.kill();
    await run('token get');
    const away = 'this machine keeps its own tokens instead';
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
    const { run } = await machine(await startRedis());
    await run('token get');
    const deleted = await run('token delete');
    expect(deleted).toMatchObject({ status: 0, stdout: 'Deleted 1 token.\n' });
    expect(deleted.stderr).toContain('jobs that use them need new ones');
  });

  it('refreshes the shared token for all machines', async () => {
    const { beside, mints } = await machine(await startRedis());
    await beside('token get');
    const refreshed = await beside('token refresh');
    expect(refreshed.status).toBe(0);
    expect((await beside('token get')).stdout).toBe(refreshed.stdout);
    expect(mints()).toBe(1);
  });

  // holds: C11.8
  it('is not renewed by a proxy while most of its life is left', async () => {
    const { run, beside, mints } = await machine(await startRedis());
    expect((await run('token get')).status).toBe(0);
    // The token is looked at twice each second.
    expect(await beside('proxy -- sleep 1.2')).toMatchObject({ status: 0, stderr: '' });
    expect(mints()).toBe(1);
  });

  it('does not use or revoke a shared token in exec --revoke', async () => {
    const { run, beside, mints } = await machine(await startRedis());
    const shared = (await run('token get')).stdout;
    expect(await run('exec --revoke -- true')).toMatchObject({ status: 0 });
    expect(mints()).toBe(2);
    expect((await beside('token get')).stdout).toBe(shared);
    expect(await run('token check')).toMatchObject({ status: 0 });
  });
});
