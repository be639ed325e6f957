import { GraphException } from '../core/errors.js';
import { fileStore, givenKey } from './file.js';
import type { RedisStore } from './redis/store.js';
import { noneStore, type Store, type StoreName, type StoreOptions } from './store.js';

/**
 * Opens the store of that name and loads only its code. Opening does not access the store, so errors come from the
 * first use, except that `redis` requires its address and a store key that all machines have.
 */
export async function openStore(name: StoreName, options: StoreOptions): Promise<Store> {
  switch (name) {
    case 'keychain':
      return (await import('./keychain/store.js')).keychainStore(options);
    case 'file':
      return fileStore(options);
    case 'redis':
      return openRedis(options);
    case 'none':
      return noneStore;
  }
}

/**
 * Opens the store on the Redis server of these settings.
 * @param asksAlways whether the server is asked although another process of this machine has just waited in vain
 * @throws GraphException STORE_UNAVAILABLE, INPUT_REQUIRED
 */
export async function openRedis(options: StoreOptions, asksAlways = false): Promise<RedisStore> {
  const { stateDir, warn } = options;
  const redis = await options.redis?.();
  if (redis === undefined)
    throw new GraphException('INPUT_REQUIRED', 'The store redis needs the address of a Redis server.', {
      hint: 'set GRAPHCRED_REDIS_URL, for example rediss://redis.example.com:6379',
    });
  const storeKey = await givenKey(options);
  if (storeKey === undefined)
    throw new GraphException(
      'STORE_UNAVAILABLE',
      'the store redis needs a store key that is the same on all machines',
      {
        hint: 'set GRAPHCRED_STORE_KEY_FILE or GRAPHCRED_STORE_KEY to 32 bytes in base64; a generated key file is not used',
      },
    );
  // biome-ignore lint/style/noProcessEnv: ioredis reads DEBUG when it is loaded, and would print passwords then
  const env = process.env;
  const { DEBUG } = env;
  delete env.DEBUG;
  try {
    const { RedisStore } = await import('./redis/store.js');
    return new RedisStore({ ...redis, storeKey, stateDir, warn }, asksAlways);
  } finally {
    if (DEBUG !== undefined) env.DEBUG = DEBUG;
  }
}
