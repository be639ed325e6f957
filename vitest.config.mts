import { defineConfig } from 'vitest/config';

/** One lane: the tests of some folders, run by name with `vitest run --project NAME`. */
const lane = (name: string, ...folders: string[]) => ({
  extends: true as const,
  test: { name, include: folders.map((folder) => `test/${folder}/**/*.test.ts`) },
});

export default defineConfig({
  test: {
    projects: [
      lane('fast', 'unit', 'contract', 'cli', 'smoke'),
      lane('e2e', 'e2e'),
      lane('clients', 'clients'),
    ],
    // Two cores, and the tests that start processes must not starve each other.
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 30_000,
    // The machines this is built on set it, and on Node 20 it triples the start of every process.
    env: { NODE_EXTRA_CA_CERTS: '' },
  },
});
