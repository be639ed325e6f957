import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { sandboxFor, start } from '../helpers/process.js';
import { privateCa, redisSkipReason, startRedis } from '../helpers/redis.js';

describe.skipIf(redisSkipReason())('the command of a fleet', () => {
  test('shows the password of the Redis server nowhere, even with DEBUG', async () => {
    const home = temporaryHome();
    const { env } = await sandboxFor(home);
    const redis = await startRedis({ args: ['--requirepass', 'a-telling-password'] });
    const shared = {
      ...env,
      DEBUG: '*',
      GRAPHCRED_STORE: 'redis',
      GRAPHCRED_STORE_KEY: crypto.randomBytes(32).toString('base64'),
      GRAPHCRED_REDIS_URL: redis.url,
      GRAPHCRED_REDIS_PASSWORD: 'a-telling-password',
    };
    for (const line of [['token', 'get', '-v'], ['token', 'list'], ['config', 'show'], ['doctor']]) {
      const { stdout, stderr, status } = await start(line, shared).ended;
      expect(status).toBe(0);
      expect(stdout + stderr).not.toMatch(/a-telling-password|ioredis/);
    }
    const exec = await start(['exec', '--', process.execPath, '-p', 'JSON.stringify(process.env)'], shared)
      .ended;
    expect(exec.status).toBe(0);
    expect(exec.stdout).toContain('TG_API_TOKEN');
    expect(exec.stdout).toContain('"DEBUG":"*"');
    expect(exec.stdout).not.toContain('GRAPHCRED_REDIS_');
  });

  // holds: C11.11
  test.each([
    ['40 processes on 4 machines', 4, 10, false],
    ['100 processes on one machine, with TLS', 1, 100, true],
  ])('mints one token for %s', async (_what, machines, jobs, withTls) => {
    const homes = Array.from({ length: machines }, temporaryHome);
    const { env, mints } = await sandboxFor(defined(homes[0]));
    const tls = withTls ? await privateCa() : undefined;
    const { url } = await startRedis(tls && { tls });
    const caFile = path.join(defined(homes[0]), 'ca.pem');
    if (tls) fs.writeFileSync(caFile, tls.ca);
    const storeKey = crypto.randomBytes(32).toString('base64');
    const results = await Promise.all(
      homes.flatMap((HOME) =>
        Array.from({ length: jobs }, () => {
          const shared = {
            GRAPHCRED_STORE: 'redis',
            GRAPHCRED_STORE_KEY: storeKey,
            GRAPHCRED_REDIS_URL: url,
            ...(tls && { GRAPHCRED_REDIS_CA: caFile }),
          };
          return start(['token', 'get'], { ...env, ...shared, HOME }).ended;
        }),
      ),
    );
    expect(results.map(({ status, stderr }) => [status, stderr])).toEqual(
      Array(machines * jobs).fill([0, '']),
    );
    expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
    expect(mints()).toBe(1);
  });
});
