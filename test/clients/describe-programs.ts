import { describe, expect, test } from 'vitest';
import { defined } from '../helpers/defined.js';
import { installAll } from './install.js';
import { knownFailures } from './known-failures.js';
import { type Program, SERVERS, type Step, WITH_TOKEN } from './programs.js';
import { ownSteps, stage } from './run.js';
import { useToken } from './with-token.js';

// Starting Python, Java and the command takes seconds each, and longer on a busy machine.
const TIMEOUT_MS = 300_000;
const REQUIRED = process.env.GRAPHCRED_TEST_CLIENTS === 'required';

/** Defines the tests of these programs, each on every server. A program that cannot be installed is named and skipped, unless it is required. */
export async function describePrograms(programs: readonly Program[]): Promise<void> {
  const installed = await installAll(programs);
  describe.each(programs.map((program) => [program.name, program] as const))('%s', (name, program) => {
    const found = defined(installed.get(program));
    if ('skip' in found) {
      console.log(`${name} is skipped: ${found.skip}`);
      test.runIf(REQUIRED)('is installed', () => expect.fail(found.skip));
      return;
    }

    test.each(SERVERS)(
      'makes and deletes its own secrets and tokens on %s',
      async (server) => {
        const one = await stage(server);
        const steps = await ownSteps(program, found.folder, one);
        const known = knownFailures(program, server).filter((step) => step !== WITH_TOKEN);
        compare(steps, known);
        if (known.length === 0) expect(one.sandbox.unknownRoutes).toEqual([]);
      },
      TIMEOUT_MS,
    );

    if (typeof program.withToken !== 'string') return;
    test.each(SERVERS)(
      'uses a token that graphcred minted on %s',
      async (server) => {
        const known = knownFailures(program, server).filter((step) => step === WITH_TOKEN);
        compare([await useToken(program, found.folder, await stage(server))], known);
      },
      TIMEOUT_MS,
    );
  });
}

/** Fails if a step fails that is not in the list, or if a step succeeds that is in it. */
function compare(steps: readonly Step[], known: readonly string[]): void {
  const failed = steps.filter(({ error }) => error !== null);
  const problems = [
    ...failed
      .filter(({ step }) => !known.includes(step))
      .map(({ step, error }) => `FAILS: ${step}: ${error}`),
    ...known
      .filter((step) => !failed.some((one) => one.step === step))
      .map((step) => `WORKS, take it from the list of known failures: ${step}`),
  ];
  if (problems.length > 0) expect.fail(problems.join('\n'));
}
