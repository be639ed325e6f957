import { GraphException } from '../../src/core/errors.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { Deadline } from '../../src/core/time.js';
import { openStore } from '../../src/store/open.js';
import { parseRedisUrl } from '../../src/store/redis/url.js';
import type { StoreName, StoreRecord } from '../../src/store/store.js';
import { defined } from './defined.js';
import { shortenTimers } from './shorter-timers.js';

export type Step =
  | { do: 'write'; record: StoreRecord; value: string }
  | { do: 'read' | 'remove' | 'find'; key: string }
  | { do: 'list' };

export interface Job {
  store: StoreName;
  stateDir: string;
  configDir: string;
  mayPrompt?: boolean;
  /** The system whose code is used. Default: this one. */
  platform?: NodeJS.Platform;
  /** Program and arguments that replace this driver's own keychain child. */
  child?: string[];
  /** By how much every wait of this process is shortened. */
  shorter?: number;
  /** The address of the store `redis`, and the store key of the fleet. */
  redis?: { url: string; storeKey: string };
  steps: Step[];
}

export type Result = { value: unknown } | { code: string; message: string; hint?: string | undefined };

/** Performs a job in this process; `keychainChild` is the command of the keychain's helper process. */
export async function performSteps(
  job: Job,
  say: (message: string) => void,
  keychainChild: readonly string[],
): Promise<Result[]> {
  const { mayPrompt = false, platform = process.platform, shorter, redis } = job;
  if (shorter !== undefined) shortenTimers(shorter);
  const [command = '', ...args] = job.child ?? keychainChild;
  const store = await openStore(job.store, {
    stateDir: job.stateDir,
    ...(redis && {
      redis: async () => ({
        ...defined(parseRedisUrl(redis.url)),
        deadline: new Deadline(30_000),
        now: Date.now,
      }),
    }),
    configDir: job.configDir,
    storeKey: async () => redis && new Sensitive(redis.storeKey),
    warn: say,
    keychain: {
      platform,
      childEnvironment: () => process.env,
      mayPrompt,
      keychainHelper: { command, args },
    },
  });
  const results: Result[] = [];
  for (const step of job.steps) results.push(await perform(store, step));
  return results;
}

async function perform(store: Awaited<ReturnType<typeof openStore>>, step: Step): Promise<Result> {
  try {
    switch (step.do) {
      case 'write':
        await store.put(step.record, new Sensitive(step.value));
        return { value: true };
      case 'read': {
        const [record] = await store.list(step.key);
        return { value: record && (await store.get(record))?.reveal() };
      }
      case 'find':
        return { value: (await store.list(step.key))[0] };
      case 'remove':
        return { value: await store.delete(step.key) };
      case 'list':
        return { value: await store.list() };
    }
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    return { code: error.code, message: error.message, hint: error.hint };
  }
}
