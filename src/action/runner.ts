// What a step has of the runner of GitHub Actions: inputs in the environment, and commands on standard output.
import { runnerCommand } from '../cli/github.js';
import { GraphException } from '../core/errors.js';

export const { env } = process;

/** Returns an input without the blanks around it; empty when the workflow does not set it. */
export function input(name: string): string {
  return (env[`INPUT_${name.toUpperCase()}`] ?? '').trim();
}

/** Returns an input that is a switch; `otherwise` when it is not set. @throws GraphException USAGE for another word */
export function switchInput(name: string, otherwise: boolean): boolean {
  const word = input(name);
  if (/^(1|true|yes|on)$/i.test(word)) return true;
  if (/^(0|false|no|off)$/i.test(word)) return false;
  if (word === '') return otherwise;
  throw new GraphException('USAGE', `The input ${name} is neither true nor false.`);
}

/** Runs a step. Its error is a line of the log, without a stack, and fails the step. */
export async function runStep(step: () => Promise<void>): Promise<void> {
  // Without a listener Node opens its debugger on this signal.
  process.on('SIGUSR1', () => {});
  for (const name of ['INPUT_SECRET', 'INPUT_PASSWORD']) mask(env[name] ?? '');
  try {
    await step();
  } catch (error) {
    // Of a bug only the kind is shown, because its text may quote a credential.
    const isBug = !(error instanceof GraphException);
    log('error', isBug ? `INTERNAL: a bug (${(error as Error).name})` : `${error.code}: ${error.message}`);
    process.exitCode = 1;
  }
}

/** Makes the runner hide the value. It hides line by line, and a credential is sent without the blanks around it. */
export function mask(value: string): void {
  for (const part of new Set(value.split(/[\r\n]+/).flatMap((line) => [line, line.trim()])))
    if (part.trim() !== '') process.stdout.write(`${runnerCommand('add-mask', part)}\n`);
}

/** Writes a line of the log, as a command of the runner, so that it can hold no other command. */
export function log(level: 'error' | 'warning' | 'notice', text: string): void {
  process.stdout.write(`${runnerCommand(level, `graphcred: ${text}`)}\n`);
}
