import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Invocation } from '../../src/cli/command.js';
import { prompterOf } from '../../src/cli/output/prompt.js';

type Question = Record<string, unknown> & { validate?: (text: string) => true | string };

/** Records how inquirer was called, and holds the answers that a person would type. */
const asked = vi.hoisted(() => ({ streams: {} as Record<string, unknown>, answer: undefined as unknown }));
const questions: Question[] = [];
vi.mock('inquirer', () => ({
  createPromptModule: (streams: Record<string, unknown>) => {
    asked.streams = streams;
    return async ([question]: [Question]) => {
      questions.push(question);
      return { answer: asked.answer };
    };
  },
}));

const controller = new AbortController();
const invocation = {
  flags: {},
  ctx: { env: {}, stderr: { columns: 80 } },
  interruption: { signal: controller.signal },
} as unknown as Invocation;
const last = () => questions.at(-1) as Question;

beforeEach(() => {
  questions.length = 0;
});
afterEach(() => {
  process.removeAllListeners('beforeExit');
});

describe('a hidden answer', () => {
  test('is never shown while it is typed, cannot be made visible by a key, and is returned unchanged', async () => {
    asked.answer = ' pass word ';
    const value = await prompterOf(invocation).hidden('Password of alice at http://127.0.0.1');
    expect(value.reveal()).toBe(' pass word ');
    expect(last()).toMatchObject({ type: 'password', mask: false, toggleMask: false });
  });

  test('may not be empty', async () => {
    await prompterOf(invocation).hidden('Password');
    expect(last().validate?.('  ')).toContain('Please type something');
    expect(last().validate?.('x')).toBe(true);
  });
});

test('a question is printed on stderr, because stdout is for the result, and a signal closes it', async () => {
  asked.answer = true;
  await prompterOf(invocation).yes('Drop it?');
  expect(asked.streams.output).toBe(process.stderr);
  const { signal } = asked.streams as { signal: AbortSignal };
  expect(signal.aborted).toBe(false);
  controller.abort();
  expect(signal.aborted).toBe(true);
});

test('a yes-or-no question proposes no, unless the command proposes yes', async () => {
  asked.answer = false;
  expect(await prompterOf(invocation).yes('Drop it?')).toBe(false);
  expect(last().default).toBe(false);
  await prompterOf(invocation).yes('Make it the default profile?', { proposed: true });
  expect(last().default).toBe(true);
});

test('a text is asked for until it is valid, and returned without the blanks around it', async () => {
  asked.answer = ' dev ';
  const refuse = (text: string) => (text === 'dev' ? 'taken' : undefined);
  expect(await prompterOf(invocation).text('Name', { suggestion: 'prod', refuse })).toBe('dev');
  const { default: suggestion, validate } = last();
  expect(suggestion).toBe('prod');
  expect(validate?.(' ')).toContain('Please type something');
  expect(validate?.(' dev ')).toBe('taken');
  expect(validate?.('other')).toBe(true);
  await prompterOf(invocation).text('Graph', { optional: true });
  expect(last().validate?.(' ')).toBe(true);
});

test.each([
  [{}, false],
  [{ NO_COLOR: '1' }, true],
])('with the variables %j each question has a plain look: %s', async (env, isPlain) => {
  const where = { ...invocation, ctx: { ...invocation.ctx, env } } as unknown as Invocation;
  asked.answer = 'x';
  await prompterOf(where).text('Text?');
  await prompterOf(where).hidden('Hidden?');
  await prompterOf(where).yes('Yes?');
  await prompterOf(where).choice('Which?', [{ name: 'one', value: 'x' }]);
  expect(questions.map(({ theme }) => theme !== undefined)).toEqual(Array(4).fill(isPlain));
});
