import { describe } from './failure.js';
import { log, type Runner } from './runner.js';

/** The runner sends SIGINT when a job is cancelled, SIGTERM 7.5 s later, SIGKILL after 2.5 s more. */
const GRACE_MS = 6000;

/**
 * Listens for the cancellation of the job. The requests are stopped only after a while: one that is under way may be
 * making a token, and with its answer the post step can revoke it.
 */
export function stopAfterGrace(job: Pick<NodeJS.EventEmitter, 'on'>): AbortSignal {
  const stop = new AbortController();
  const finishSoon = () => void setTimeout(() => stop.abort(), GRACE_MS).unref();
  job.on('SIGINT', finishSoon).on('SIGTERM', finishSoon);
  return stop.signal;
}

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
