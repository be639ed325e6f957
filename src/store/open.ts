import { GraphException, type Hint } from '../core/errors.js';
import { fileStore, givenKey } from './file.js';
import type { RedisStore } from './redis/store.js';
import { noneStore, type Store, type StoreName, type StoreOptions } from './store.js';

const OPENERS: Record<StoreName, (options: StoreOptions) => Store | Promise<Store>> = {
  keychain: async (options) => (await import('./keychain/store.js')).keychainStore(options),
  file: fileStore,
  redis: openRedis,
  none: () => noneStore,
};

/** Opens the store of that name and loads only its code. A first use accesses it; settings that lack are an error here. */
export async function openStore(name: StoreName, options: StoreOptions): Promise<Store> {
  return OPENERS[name](options);
}

/** Opens the store on the Redis server. @param asksAlways also where another process of this machine has just waited in vain */
export async function openRedis(options: StoreOptions, asksAlways = false): Promise<RedisStore> {
  const { stateDir, warn } = options;
  const redis = await options.redis?.();
  if (redis === undefined)
    throw new GraphException('INPUT_REQUIRED', 'The redis store needs the address of a Redis server.', {
      hint: 'set GRAPHCRED_REDIS_URL, for example rediss://redis.example.com:6379',
    });
  const storeKey = await givenKey(options);
  const noKey = 'the redis store needs a store key that is the same on all machines';
  if (storeKey === undefined)
    throw new GraphException('STORE_UNAVAILABLE', noKey, {
      hint: 'set GRAPHCRED_STORE_KEY to 32 bytes in base64, or GRAPHCRED_STORE_KEY_FILE to a file with them',
    });
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

/**
 * Returns a store that gives way to another one for good when it fails. Until then, what lies in either of them is found.
 * @param fallback this machine's own store for one of a fleet; or `none`, and then `put` throws why nothing is kept
 * @param isRequired whether a failure is an error, and what lies in both stores is found all the same
 */
export function withFallback(
  store: Store,
  fallback: Store,
  { reporter }: { readonly reporter: { warn(text: Hint): void } },
  isRequired: boolean,
): Store {
  let current = store;
  let failure: GraphException | undefined;

  async function attempt<T>(work: (current: Store) => Promise<T>): Promise<T> {
    try {
      return await work(current);
    } catch (error) {
      const isFailure = error instanceof GraphException && error.code.startsWith('STORE_');
      if (!isFailure || isRequired || current === fallback) throw error;
      if (fallback.name === 'none') failure = error;
      else reporter.warn([`${error.message}; this machine keeps its own tokens instead`, ...error.fix]);
      current = fallback;
      return work(current);
    }
  }

  return {
    get name() {
      return current.name;
    },
    async list(of) {
      const found = await attempt((one) => one.list(of));
      if (current === fallback) return found;
      const others = fallback.list(of);
      // What stands in and cannot be read is no reason to give up the store that can.
      return [...found, ...(await (isRequired ? others : others.catch(() => [])))];
    },
    get: (record) => attempt((one) => (record.store === fallback.name ? fallback : one).get(record)),
    async put(record, ...more) {
      await attempt((one) => (record.store === fallback.name ? fallback : one).put(record, ...more));
      if (failure) throw failure;
    },
    async delete(key) {
      // What lies here goes even when the other store cannot be changed.
      if (current !== fallback && (await fallback.delete(key))) return true;
      return current.delete(key);
    },
    lock: (identity, options) => attempt((one) => one.lock(identity, options)),
    check: () => attempt((one) => one.check()),
  };
}
