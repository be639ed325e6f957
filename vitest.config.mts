import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Two cores, and the tests that start processes must not starve each other.
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 30_000,
    // The machines this is built on set it, and on Node 20 it triples the start of every process.
    env: { NODE_EXTRA_CA_CERTS: '' },
  },
});
