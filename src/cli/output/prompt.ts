import type { DistinctQuestion } from 'inquirer';
import type { Settings } from '../../config/keys.js';
import { isOn } from '../../config/settings.js';
import { GraphException, type Hint } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import type { Ports, Prompter } from '../../run/ports.js';
import type { Invocation } from '../command.js';
import { inCi, wantsColour } from '../context.js';
import { singleLine } from './plain.js';

const NOTHING_TYPED = 'Please type something, or press Ctrl-C to stop.';
const same = (text: string) => text;
const PLAIN = {
  prefix: '?',
  style: {
    answer: same,
    message: same,
    error: (text: string) => `> ${text}`,
    defaultAnswer: (text: string) => `(${text})`,
    help: same,
  },
};

async function askPerson(invocation: Invocation, question: DistinctQuestion & { message: string }) {
  const { createPromptModule } = await import('inquirer');
  const closed = new AbortController();
  // After Ctrl-D nothing is left to wait for, and Node is about to exit. inquirer does not always notice this.
  const close = () => closed.abort();
  process.once('beforeExit', close);
  const prompt = createPromptModule({
    input: process.stdin,
    // inquirer writes to stdout by default, and stdout is for the result alone.
    output: process.stderr,
    signal: AbortSignal.any([closed.signal, invocation.interruption.signal]),
  });
  const look = !wantsColour(invocation.ctx.env, invocation.flags, true) && { theme: PLAIN };
  const asked = prompt([{ ...question, message: singleLine(question.message), ...look }]);
  const { answer } = await asked.finally(() => process.off('beforeExit', close));
  return answer;
}

export function whyNotAsked({ ctx, spec }: Invocation, settings: Settings): string | undefined {
  if (isOn(settings, 'noInput')) return 'asking is switched off (--no-input)';
  if (!ctx.stdin.isTTY || !ctx.stderr.isTTY) return 'there is no terminal to ask on';
  if (spec.asksNothing) return `${spec.path} never asks questions`;
  return inCi(ctx.env) ? 'asking is switched off (CI is set)' : undefined;
}

export function prompterOf(invocation: Invocation): Prompter {
  const name = 'answer';
  return {
    text: async (message, { suggestion, optional = false, refuse } = {}) => {
      const validate = (text: string) => {
        const typed = text.trim();
        return typed === '' ? optional || NOTHING_TYPED : (refuse?.(typed) ?? true);
      };
      const proposed = suggestion && singleLine(suggestion);
      const question = { type: 'input', name, message, default: proposed, validate } as const;
      return String(await askPerson(invocation, question)).trim();
    },
    hidden: async (message, { optional = false } = {}) => {
      // Without toggleMask set, a key would show what was typed.
      const hidden = { type: 'password', mask: false, toggleMask: false } as const;
      const validate = (text: string) => optional || text.trim() !== '' || NOTHING_TYPED;
      return new Sensitive(String(await askPerson(invocation, { ...hidden, name, message, validate })));
    },
    yes: async (message, { proposed = false } = {}) =>
      (await askPerson(invocation, { type: 'confirm', name, message, default: proposed })) === true,
  };
}

type Asker = Pick<Ports, 'canPrompt' | 'prompter'>;

/** Asks whether to go on, unless `--yes` was typed or nobody can be asked. @throws GraphException CANCELLED */
export async function confirm({ flags }: Invocation, ports: Asker, question: string, nothing: string) {
  if (flags.yes === true || !ports.canPrompt) return;
  if (!(await ports.prompter.yes(question)))
    throw new GraphException('CANCELLED', `Not confirmed. ${nothing}`);
}

/** @throws GraphException INPUT_REQUIRED without `--yes` where nobody can be asked */
export function requireYes({ flags }: Invocation, ports: Ports, what: string, hint: Hint): void {
  if (flags.yes === true || ports.canPrompt) return;
  const problem = `${what} must be confirmed, but ${ports.whyNotAsked}.`;
  throw new GraphException('INPUT_REQUIRED', problem, { hint });
}
