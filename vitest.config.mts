import { defineConfig } from 'vitest/config';
import { define } from './scripts/completion.mjs';

/** One lane: the tests of some folders, run by name with `vitest run --project NAME`. */
const lane = (name: string, ...folders: string[]) => ({
  extends: true as const,
  test: {
    name,
    include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
    // The files of the fast lane share three processes, so that each need not load the same modules again: a third of
    // its time. A test there must undo what it changes in a module or in the process.
    isolate: name !== 'fast',
    // Two cores, and the tests that start processes must not starve each other. Of those that share processes, many
    // only wait, so one more fills the time.
    maxWorkers: name === 'fast' ? 3 : 2,
    // Lanes with different numbers of processes run one after the other.
    sequence: { groupOrder: ['fast', 'pages', 'e2e', 'clients', 'windows'].indexOf(name) },
  },
});

export default defineConfig({
  define,
  test: {
    projects: [
      lane('fast', 'unit', 'contract', 'cli', 'smoke'),
      lane('pages', 'pages'),
      lane('e2e', 'e2e'),
      lane('clients', 'clients'),
      lane('windows', 'windows'),
    ],
    testTimeout: 90_000,
    hookTimeout: 30_000,
    // The machines this is built on set it, and on Node 20 it triples the start of every process.
    env: { NODE_EXTRA_CA_CERTS: '' },
  },
});
