// The suite for every store, in this process. In processes of their own, and for the keychain and Redis:
// test/e2e/store-contract-processes.test.ts.
import { describe } from 'vitest';
import { performSteps } from '../helpers/store-steps.js';
import { type Perform, storeSuite } from '../helpers/store-suite.js';

const inThisProcess: Perform = async (job) => {
  const warnings: string[] = [];
  const results = await performSteps(job, (message) => warnings.push(message), []);
  // Through JSON as from another process, which leaves out what is undefined.
  return { results: JSON.parse(JSON.stringify(results)), stderr: warnings.join('\n') };
};

for (const store of ['file', 'none'] as const)
  describe(`store ${store}`, () => storeSuite({ store }, inThisProcess));
