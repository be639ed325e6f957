import type { TextOptions } from '../../auth/ports.js';
import { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import type { Invocation } from '../command.js';
import { inLines } from './report.js';
import { saysNoColour } from './table.js';

const same = (text: string) => text;
/** A theme for inquirer without colours. */
const PLAIN = {
  prefix: '?',
  spinner: { interval: 80, frames: ['?'] },
  style: {
    answer: same,
    message: same,
    error: (text: string) => `> ${text}`,
    defaultAnswer: (text: string) => `(${text})`,
    help: same,
    highlight: same,
    keysHelpTip: (keys: readonly (readonly [string, string])[]) =>
      keys.map(([key, action]) => `${key} ${action}`).join(', '),
  },
};

// inquirer writes to stdout by default, and stdout is for the result alone.
async function ask(invocation: Invocation) {
  const { createPromptModule } = await import('inquirer');
  const closed = new AbortController();
  // After Ctrl-D nothing is left to wait for, and Node is about to exit. inquirer does not notice this in every
  // runtime.
  process.once('beforeExit', () => closed.abort());
  const prompt = createPromptModule({
    input: process.stdin,
    output: process.stderr,
    signal: AbortSignal.any([
      closed.signal,
      ...(invocation.interruption ? [invocation.interruption.signal] : []),
    ]),
  });
  return { prompt, ...(saysNoColour(invocation) && { theme: PLAIN }) };
}

/** Shortens the question to the width of the terminal, with room for what inquirer prints before and after it. */
function shortenToWidth({ ctx }: Invocation, message: string, after: string): string {
  const lines = inLines(`? ${message} ${after}`, ctx.stderr.columns);
  return lines.slice(2, -after.length).trimEnd();
}

export async function askText(
  invocation: Invocation,
  message: string,
  { suggestion, optional = false, refuse }: TextOptions = {},
): Promise<string> {
  const { prompt, ...look } = await ask(invocation);
  const validate = (text: string) => {
    if (optional && text.trim() === '') return true;
    const filled = notEmpty(text);
    return filled === true ? (refuse?.(text.trim()) ?? true) : filled;
  };
  const { answer } = await prompt([
    {
      type: 'input',
      name: 'answer',
      message: shortenToWidth(invocation, message, `(${suggestion ?? ''})`),
      ...look,
      default: suggestion,
      validate,
    },
  ]);
  return String(answer).trim();
}

export async function askHidden(invocation: Invocation, message: string): Promise<Sensitive> {
  const { prompt, ...look } = await ask(invocation);
  const { answer } = await prompt([
    // Without toggleMask set, a key would show what was typed.
    {
      type: 'password',
      name: 'answer',
      message: shortenToWidth(invocation, message, '[input is masked]'),
      ...look,
      mask: false,
      toggleMask: false,
      validate: notEmpty,
    },
  ]);
  return new Sensitive(String(answer));
}

/**
 * Asks a yes-or-no question.
 * @param options.proposed the answer that Enter gives
 */
export async function askYes(
  invocation: Invocation,
  message: string,
  { proposed = false } = {},
): Promise<boolean> {
  const { prompt, ...look } = await ask(invocation);
  const { answer } = await prompt([
    {
      type: 'confirm',
      name: 'answer',
      message: shortenToWidth(invocation, message, '(y/N)'),
      ...look,
      default: proposed,
    },
  ]);
  return answer === true;
}

/** @throws GraphException CANCELLED, with what was not done, when the answer is no */
export async function confirm(invocation: Invocation, question: string, nothing: string): Promise<void> {
  if (!(await askYes(invocation, question))) throw new GraphException('CANCELLED', nothing);
}

export async function askChoice<V extends string>(
  invocation: Invocation,
  message: string,
  choices: readonly { readonly name: string; readonly value: V }[],
): Promise<V> {
  const { prompt, ...look } = await ask(invocation);
  const { answer } = await prompt([
    {
      type: 'select',
      name: 'answer',
      message: shortenToWidth(invocation, message, '?'),
      ...look,
      choices: [...choices],
    },
  ]);
  return answer as V;
}

function notEmpty(value: string): true | string {
  return value.trim() !== '' || 'Please type something, or press Ctrl-C to stop.';
}
