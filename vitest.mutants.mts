import { defineConfig } from 'vitest/config';

/** The tests of units and contracts, for StrykerJS: a defect in the sources does not reach the built command. */
export default defineConfig({
  test: {
    include: ['unit', 'contract'].map((folder) => `test/${folder}/**/*.test.ts`),
    setupFiles: ['test/helpers/in-worker.ts'],
    testTimeout: 30_000,
    env: { NODE_EXTRA_CA_CERTS: '' },
  },
});
