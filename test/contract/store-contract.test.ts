// Runs the tests that every store has to pass in this process. test/e2e/store-contract-processes.test.ts runs them in processes of their own, also
// for the keychain and Redis.
import { describe } from 'vitest';
import { performSteps } from '../helpers/store-steps.js';
import { type Perform, storeSuite } from '../helpers/store-suite.js';

const inThisProcess: Perform = async (job) => {
  const warnings: string[] = [];
  const results = await performSteps(job, (message) => warnings.push(message), []);
  // The results go through JSON, as those of another process do, so undefined fields are left out.
  return { results: JSON.parse(JSON.stringify(results)), stderr: warnings.join('\n') };
};

for (const store of ['file', 'none'] as const)
  describe(`store ${store}`, () => storeSuite({ store }, inThisProcess));
