// Tests the settings of the store `redis`: what is refused, and what happens if the Redis server does not answer or is hostile. Tests with a real
// Redis server are in test/e2e/fleet-commands.test.ts.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { environmentWithoutCredentials } from '../../src/cli/context.js';
import { bench } from '../helpers/cli.js';
import { array, bulk, startHostileRedis } from '../helpers/hostile-redis.js';

/** Starts a database, and a machine whose Redis address has no server. */
async function fleet(more: Record<string, string> = {}) {
  const database = await bench({ serverVersion: '3.10.1' });
  const env = {
    GRAPHCRED_STORE: 'redis',
    GRAPHCRED_STORE_KEY: crypto.randomBytes(32).toString('base64'),
    GRAPHCRED_REDIS_URL: 'redis://127.0.0.1:1',
    ...more,
  };
  const mints = () =>
    database.sandbox.requests.filter(({ method, path: route }) => method === 'POST' && /tokens?$/.test(route))
      .length;
  const run = (line: string, other: Record<string, string> = {}) =>
    database.run(line, { env: { ...env, ...other } });
  return { run, home: database.home, requests: database.requests, mints };
}

describe('a fleet', () => {
  it.each([
    [{ GRAPHCRED_REDIS_URL: '' }, 2, 'GRAPHCRED_REDIS_URL'],
    [
      { GRAPHCRED_REDIS_URL: 'redis://job:hunter22@' },
      2,
      'graphcred: GRAPHCRED_REDIS_URL is not a Redis URL.\nhint: write redis://HOST:6379',
    ],
    [{ GRAPHCRED_STORE_KEY: '' }, 6, 'GRAPHCRED_STORE_KEY'],
    [{ GRAPHCRED_STORE_KEY: 'short' }, 6, 'not 32 bytes'],
    [{ GRAPHCRED_REDIS_CA: 'absent.pem' }, 2, 'cannot be read'],
    [{ GRAPHCRED_REDIS_PASSWORD_FILE: 'absent' }, 2, 'named by GRAPHCRED_REDIS_PASSWORD_FILE'],
  ])('names the missing setting: %j', async (more, status, text) => {
    const { run, mints } = await fleet(more as Record<string, string>);
    const result = await run('token get');
    expect(result).toMatchObject({ status, stdout: '', stderr: expect.stringContaining(text) });
    expect(result.stderr).not.toContain('hunter22');
    expect(mints()).toBe(0);
  });

  // holds: C11.4
  it('exits 6 if the flag requires a Redis server that does not answer', async () => {
    const { run, mints } = await fleet();
    expect(await run('token get --store redis')).toMatchObject({
      status: 6,
      stdout: '',
      stderr: expect.stringContaining('nothing listens there'),
    });
    expect(mints()).toBe(0);
  });

  it('mints one token at a time on a machine whose Redis server stores nothing and grants every turn', async () => {
    const hostile = await startHostileRedis(([name = '', ...args]) => {
      if (name === 'MGET') return array(...args.map(() => bulk(null)));
      if (name === 'GET') return bulk(null);
      return name === 'PTTL' ? ':-2\r\n' : name === 'EVAL' ? ':1\r\n' : '+PONG\r\n';
    });
    const { run, mints } = await fleet({ GRAPHCRED_REDIS_URL: hostile.url });
    const results = await Promise.all(Array.from({ length: 5 }, () => run('token get')));
    expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
    expect(results.map(({ status }) => status)).toEqual(Array(5).fill(0));
    expect(mints()).toBe(1);
  });

  it('waits no longer than --timeout for a Redis server that does not answer', async () => {
    const hostile = await startHostileRedis(() => '');
    const { run } = await fleet({ GRAPHCRED_REDIS_URL: hostile.url, GRAPHCRED_TIMEOUT: '1' });
    const startedAt = process.hrtime.bigint();
    expect(await run('token list --store redis')).toMatchObject({ status: 6, stdout: '' });
    // The time limit is one second, and a busy machine may take three times as long. Without the limit, the command would wait at least two seconds
    // for the Redis server.
    expect(Number(process.hrtime.bigint() - startedAt) / 1e9).toBeLessThan(3);
  });

  it('sends the password in a config file only to the Redis server in that file', async () => {
    const away = await startHostileRedis(() => '-NOAUTH no\r\n');
    const own = await startHostileRedis(() => '-NOAUTH no\r\n');
    const { run, home } = await fleet({ GRAPHCRED_REDIS_URL: '' });
    const folder = path.join(home, '.config/graphcred');
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'redis-password'), 'hunter22', { mode: 0o600 });
    const redis = { url: own.url, passwordFile: 'redis-password' };
    fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ redis }));
    for (const line of ['token get', 'token list', 'status', 'token delete']) {
      const { status, stderr } = await run(line, { GRAPHCRED_REDIS_URL: away.url });
      expect({ line, status }).toEqual({ line, status: 5 });
      expect(stderr).toContain('GRAPHCRED_REDIS_PASSWORD_FILE');
      expect(stderr).toContain('it is not sent to the one in GRAPHCRED_REDIS_URL.');
    }
    expect([away.connections(), own.connections()]).toEqual([0, 0]);
    expect(await run('token get', { GRAPHCRED_REDIS_URL: own.url })).toMatchObject({ status: 0 });
    expect(own.commands).toContain('AUTH');
    own.commands.length = 0;
    expect(await run('token get')).toMatchObject({ status: 0 });
    expect(own.commands).toContain('AUTH');
    // The file names no Redis server, so its password is for the one of the variable.
    fs.writeFileSync(
      path.join(folder, 'config.json'),
      JSON.stringify({ redis: { passwordFile: 'redis-password' } }),
    );
    expect(await run('token get', { GRAPHCRED_REDIS_URL: away.url })).toMatchObject({ status: 0 });
    expect(away.commands).toContain('AUTH');
  });

  it('does not pass on a credential in whatever case its variable is written, because Windows ignores case', () => {
    const env = { Graphcred_Password: 'a', graphcred_store_key: 'b', tg_secret: 'c', Path: 'd' };
    expect(environmentWithoutCredentials(env)).toEqual({ Path: 'd' });
  });
});

test('user and password of their own variables are taken before those in the address of the Redis server', async () => {
  const received: (readonly string[])[] = [];
  const hostile = await startHostileRedis((command) => {
    received.push(command);
    return '-WRONGPASS no\r\n';
  });
  const { run } = await fleet({
    GRAPHCRED_REDIS_URL: hostile.url.replace('//', '//inside:hunter1@'),
    GRAPHCRED_REDIS_USERNAME: 'job',
    GRAPHCRED_REDIS_PASSWORD: 'hunter2',
  });
  await run('token get');
  expect(received[0]).toEqual(['AUTH', 'job', 'hunter2']);
});
