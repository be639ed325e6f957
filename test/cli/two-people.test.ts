import { test } from 'vitest';
import { DEEP, PROPERTY_MS } from '../helpers/property.js';
import { redisSkipReason, startRedis } from '../helpers/redis.js';
import { storeKey } from '../helpers/redis-store.js';
import { neverMixed } from '../helpers/two-people.js';

const VERSIONS = ['3.10.1', '4.1.2'];

// holds: C4.2
test.each(VERSIONS)(
  'on %s two people with two profiles never get each other’s token or lose their own',
  (serverVersion) => neverMixed(serverVersion, DEEP ? 500 : 15, async ({ run }) => ({ run })),
  PROPERTY_MS,
);

const skip = redisSkipReason();
if (skip !== undefined) console.log(`two people who share a Redis server are not tried here: ${skip}`);

test.skipIf(skip !== undefined).each(VERSIONS)(
  'on %s two people who share tokens through one Redis server never get each other’s',
  async (serverVersion) => {
    const { url } = await startRedis();
    const env = { GRAPHCRED_REDIS_URL: url, GRAPHCRED_STORE_KEY: storeKey.toString('base64') };
    await neverMixed(serverVersion, DEEP ? 100 : 5, async ({ run }) => ({
      run: (line, options) => run(line, { ...options, env: { ...env, ...options.env } }),
      env: (secret) => ({ GRAPHCRED_STORE: 'redis', GRAPHCRED_SECRET: secret }),
    }));
  },
  PROPERTY_MS,
);
