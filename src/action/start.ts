import { describe } from './failure.js';
import { log, type Runner } from './runner.js';

/** Runs one step of the action. Its error is a line of the log and fails the step; a stack trace is never printed. */
export async function start(step: (runner: Runner) => Promise<void>): Promise<void> {
  const runner: Runner = {
    env: process.env,
    write: (text) => process.stdout.write(text),
  };
  try {
    await step(runner);
  } catch (error) {
    log(runner, 'error', describe(error));
    process.exitCode = 1;
  }
}
