import crypto from 'node:crypto';
import type { GraphException } from '../../src/core/errors.js';
import { Deadline } from '../../src/core/time.js';
import { RedisStore, type RedisStoreOptions } from '../../src/store/redis/store.js';
import { parseRedisUrl } from '../../src/store/redis/url.js';
import type { TokenRecord } from '../../src/store/store.js';
import { temporaryHome } from './cli.js';
import { defined } from './defined.js';
import { tokenRecord } from './store-options.js';

/** The store key that is used if a test gives no other. */
export const storeKey = crypto.randomBytes(32);

export interface Opened {
  readonly store: RedisStore;
  readonly warnings: string[];
}

/** Opens a store as a process on another machine would. */
export function openRedis(
  url: string,
  { timeoutMs = 30_000, ...options }: Partial<RedisStoreOptions> & { timeoutMs?: number } = {},
): Opened {
  const warnings: string[] = [];
  const sentinel = options.sentinelMaster !== undefined;
  const store = new RedisStore({
    ...defined(parseRedisUrl(url, sentinel ? 26379 : 6379)),
    storeKey,
    stateDir: temporaryHome(),
    deadline: new Deadline(timeoutMs),
    now: Date.now,
    warn: (message) => warnings.push(message),
    ...options,
  });
  return { store, warnings };
}

/** The record of a token that is made now. */
export function freshToken(
  key: string,
  secondsLeft = 3600,
  info: Partial<TokenRecord['info']> = {},
): TokenRecord {
  const now = Math.floor(Date.now() / 1000);
  return tokenRecord({ key, store: 'redis', createdAtUnix: now, expiresAtUnix: now + secondsLeft, info });
}

export const valueIn = async ({ store }: Opened, key: string) => {
  const [record] = await store.list(key);
  return record && (await store.get(record))?.reveal();
};

export const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error as GraphException,
  );

/** Returns options for waiting for a turn; `accepts` is the answer for every record that is found. */
export const turnOptions = (waitMs: number, accepts: boolean) => ({
  waitMs,
  since: Date.now(),
  now: Date.now,
  accepts: () => accepts,
});
