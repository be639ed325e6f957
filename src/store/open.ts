import { GraphException } from '../core/errors.js';
import { fileStore, givenKey } from './file.js';
import type { ServerReport } from './redis/inspect.js';
import type { RedisStoreOptions } from './redis/store.js';
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
    case 'redis': {
      const redisOptions = await redisStoreOptions(options);
      return new (await loadSilently(() => import('./redis/store.js'))).RedisStore(redisOptions);
    }
    case 'none':
      return noneStore;
  }
}

/**
 * Examines the Redis server of these settings, for `doctor`.
 * @throws GraphException STORE_UNAVAILABLE, INPUT_REQUIRED
 */
export async function inspectRedis(options: StoreOptions): Promise<ServerReport> {
  const { inspectServer } = await loadSilently(() => import('./redis/inspect.js'));
  return inspectServer(await redisStoreOptions(options));
}

/**
 * Loads code that loads ioredis, which reads DEBUG then. With DEBUG set, it would print every command with its arguments,
 * the password of AUTH among them.
 */
async function loadSilently<T>(load: () => Promise<T>): Promise<T> {
  // biome-ignore lint/style/noProcessEnv: it is what ioredis reads
  const env = process.env;
  const { DEBUG } = env;
  delete env.DEBUG;
  try {
    return await load();
  } finally {
    if (DEBUG !== undefined) env.DEBUG = DEBUG;
  }
}

async function redisStoreOptions(options: StoreOptions): Promise<RedisStoreOptions> {
  const { stateDir, warn } = options;
  const redis = await options.redis?.();
  if (redis === undefined) {
    throw new GraphException('INPUT_REQUIRED', 'The store redis needs the address of a Redis server.', {
      hint: 'set GRAPHCRED_REDIS_URL, for example rediss://redis.example.com:6379',
    });
  }
  const storeKey = await givenKey(options);
  if (storeKey === undefined) {
    throw new GraphException(
      'STORE_UNAVAILABLE',
      'the store redis needs a store key that is the same on all machines',
      {
        hint: 'set GRAPHCRED_STORE_KEY_FILE or GRAPHCRED_STORE_KEY to 32 bytes in base64; a generated key file is not used',
      },
    );
  }
  return { ...redis, storeKey, stateDir, warn };
}
