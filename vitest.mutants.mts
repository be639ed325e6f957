import { defineConfig } from 'vitest/config';

/** The tests in process, for StrykerJS: a defect in the sources does not reach the built command. */
export default defineConfig({
  test: {
    include: ['unit', 'contract', 'cli'].map((folder) => `test/${folder}/**/*.test.ts`),
    setupFiles: ['test/helpers/in-worker.ts'],
    // A worker thread cannot change its time zone.
    testNamePattern: /^(?!.*is shown in local time)/,
    testTimeout: 30_000,
    env: { NODE_EXTRA_CA_CERTS: '' },
  },
});
