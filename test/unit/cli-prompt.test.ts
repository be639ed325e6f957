import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Invocation } from '../../src/cli/command.js';
import { prompterOf } from '../../src/cli/output/prompt.js';
import { person } from '../helpers/person.js';

vi.mock('inquirer', async () => ({ ...(await import('../helpers/person.js')).inquirer }));

const controller = new AbortController();
const invocation = {
  flags: {},
  ctx: { env: {}, stderr: { columns: 80 } },
  interruption: { signal: controller.signal },
} as unknown as Invocation;
const EMPTY = expect.stringContaining('refused "  ": Please type something');

beforeEach(() => {
  Object.assign(person, { answers: [], seen: [], questions: [] });
});
afterEach(() => {
  process.removeAllListeners('beforeExit');
});

describe('a hidden answer', () => {
  test('is never shown while it is typed, cannot be made visible by a key, and is returned unchanged', async () => {
    person.answers = [' pass word '];
    const value = await prompterOf(invocation).hidden('Password of alice at http://127.0.0.1');
    expect(value.reveal()).toBe(' pass word ');
    expect(person.questions).toMatchObject([{ type: 'password', mask: false, toggleMask: false }]);
  });

  test('may not be empty', async () => {
    person.answers = ['  ', 'x'];
    expect((await prompterOf(invocation).hidden('Password')).reveal()).toBe('x');
    expect(person.seen).toContainEqual(EMPTY);
  });
});

test('a question is printed on stderr, because stdout is for the result, and a signal closes it', async () => {
  person.answers = ['y'];
  await prompterOf(invocation).yes('Drop it?');
  const { output, signal } = person.streams;
  expect(output).toBe(process.stderr);
  expect(signal?.aborted).toBe(false);
  controller.abort();
  expect(signal?.aborted).toBe(true);
});

test('a yes-or-no question proposes no, unless the command proposes yes', async () => {
  person.answers = ['', ''];
  expect(await prompterOf(invocation).yes('Drop it?')).toBe(false);
  expect(await prompterOf(invocation).yes('Make it the default profile?', { proposed: true })).toBe(true);
});

test('a text is asked for until it is valid, and returned without the blanks around it', async () => {
  const refuse = (text: string) => (text === 'dev' ? 'taken' : undefined);
  person.answers = ['  ', ' dev ', ' other '];
  expect(await prompterOf(invocation).text('Name', { suggestion: 'prod', refuse })).toBe('other');
  expect(person.seen).toEqual([
    '? input: Name (prod)',
    EMPTY,
    expect.stringContaining('refused " dev ": taken'),
  ]);
  person.answers = [' '];
  expect(await prompterOf(invocation).text('Graph', { optional: true })).toBe('');
});

test.each([
  [{}, false],
  [{ NO_COLOR: '1' }, true],
])('with the variables %j each question has a plain look: %s', async (env, isPlain) => {
  const where = { ...invocation, ctx: { ...invocation.ctx, env } } as unknown as Invocation;
  person.answers = ['x', 'x', 'y'];
  await prompterOf(where).text('Text?');
  await prompterOf(where).hidden('Hidden?');
  await prompterOf(where).yes('Yes?');
  expect(person.questions.map(({ theme }) => theme !== undefined)).toEqual(Array(3).fill(isPlain));
});
