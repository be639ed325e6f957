// Runs the tests that every store has to pass, with each operation in a process of its own.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { STORE_NAMES, type StoreName } from '../../src/store/store.js';
import { buildDriver } from '../helpers/driver.js';
import { keyringSkipReason } from '../helpers/keyring.js';
import { spawned } from '../helpers/process.js';
import { redisSkipReason } from '../helpers/redis.js';
import { type Perform, storeSuite } from '../helpers/store-suite.js';

const SKIPPED: Partial<Record<StoreName, string | undefined>> = {
  keychain: keyringSkipReason(),
  redis: redisSkipReason(),
};

let driver: Awaited<ReturnType<typeof buildDriver>>;
beforeAll(async () => {
  driver = await buildDriver('test/helpers/store-driver.ts');
});
afterAll(() => driver.remove());

const inProcesses: Perform = async (job, env) => {
  const ended = await spawned([process.execPath, driver.file], env, JSON.stringify(job));
  expect(ended).toMatchObject({ status: 0, signal: null });
  return { results: JSON.parse(ended.stdout), stderr: ended.stderr };
};

for (const store of STORE_NAMES)
  describe.skipIf(SKIPPED[store] !== undefined)(`store ${store}`, () => storeSuite({ store }, inProcesses));
