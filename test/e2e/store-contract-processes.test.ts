// Runs the tests that every store has to pass, with each operation in a process of its own.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { buildDriver, run } from '../helpers/driver.js';
import { keyringSkipReason } from '../helpers/keyring.js';
import { redisSkipReason } from '../helpers/redis.js';
import { type Perform, type Subject, storeSuite } from '../helpers/store-suite.js';

const SUBJECTS: Record<string, Subject> = {
  keychain: { store: 'keychain' },
  file: { store: 'file' },
  redis: { store: 'redis' },
  none: { store: 'none' },
};
const SKIPPED = { keychain: keyringSkipReason(), redis: redisSkipReason(), file: undefined, none: undefined };

let driver: Awaited<ReturnType<typeof buildDriver>>;
beforeAll(async () => {
  driver = await buildDriver('test/helpers/store-driver.ts');
});
afterAll(() => driver.remove());

const inProcesses: Perform = async (job, env) => {
  const ended = await run([process.execPath, driver.file], env, JSON.stringify(job));
  expect(ended).toMatchObject({ status: 0, signal: null });
  return { results: JSON.parse(ended.stdout), stderr: ended.stderr };
};

for (const [title, subject] of Object.entries(SUBJECTS))
  describe.skipIf(SKIPPED[subject.store] !== undefined)(`store ${title}`, () =>
    storeSuite(subject, inProcesses),
  );
