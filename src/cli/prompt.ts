import { Sensitive } from '../core/sensitive.js';

// inquirer writes to stdout unless told otherwise, and stdout is for the result alone.
async function ask() {
  const { createPromptModule } = await import('inquirer');
  const closed = new AbortController();
  // After Ctrl-D nothing is left to wait for. inquirer hears of that as Node exits; not every runtime tells it.
  process.once('beforeExit', () => closed.abort());
  return createPromptModule({ input: process.stdin, output: process.stderr, signal: closed.signal });
}

interface TextOptions {
  readonly suggestion?: string;
  /** Says what is wrong with the answer, which is then asked for again. */
  readonly refuse?: (text: string) => string | undefined;
}

export async function askText(message: string, { suggestion, refuse }: TextOptions = {}): Promise<string> {
  const prompt = await ask();
  const validate = (text: string) => {
    const filled = notEmpty(text);
    return filled === true ? (refuse?.(text.trim()) ?? true) : filled;
  };
  const { answer } = await prompt([
    { type: 'input', name: 'answer', message, default: suggestion, validate },
  ]);
  return String(answer).trim();
}

export async function askHidden(message: string): Promise<Sensitive> {
  const prompt = await ask();
  const { answer } = await prompt([
    // Without toggleMask a key would show what was typed.
    { type: 'password', name: 'answer', message, mask: false, toggleMask: false, validate: notEmpty },
  ]);
  return new Sensitive(String(answer));
}

export async function askYes(message: string): Promise<boolean> {
  const prompt = await ask();
  const { answer } = await prompt([{ type: 'confirm', name: 'answer', message, default: false }]);
  return answer === true;
}

export async function askChoice<V extends string>(
  message: string,
  choices: readonly { readonly name: string; readonly value: V }[],
): Promise<V> {
  const prompt = await ask();
  const { answer } = await prompt([{ type: 'select', name: 'answer', message, choices: [...choices] }]);
  return answer as V;
}

function notEmpty(value: string): true | string {
  return value.trim() !== '' || 'Please type something, or press Ctrl-C to stop.';
}
