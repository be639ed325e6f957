interface Question {
  readonly message: string;
  readonly default?: unknown;
  readonly theme?: unknown;
  validate?(text: string): true | string;
}

/** An answer that stands for the Enter key. */
export const ENTER = Symbol('Enter');

type Answers = readonly [question: string, ...typed: unknown[]];

const script: Answers[] = [];
/** The questions of the last script, and what the program answered to a text that it refused. */
export const asked: Question[] = [];
export const refusals: string[] = [];

/** Sets what a person types at each question, in this order. After the last one the person closes the prompt. */
export function willAnswer(...answers: readonly Answers[]): void {
  script.splice(0, script.length, ...answers);
  asked.length = 0;
  refusals.length = 0;
}

/** Returns the answers that no question has been asked for. */
export const notAsked = (): readonly string[] => script.map(([question]) => question);

function answer(question: Question): unknown {
  asked.push(question);
  const [expected, ...typed] = script.shift() ?? [];
  if (expected === undefined) throw Object.assign(new Error('closed'), { name: 'ExitPromptError' });
  if (!question.message.startsWith(expected))
    throw new Error(`The question is "${question.message}", not "${expected}".`);
  for (const one of typed) {
    const value = one === ENTER ? (question.default ?? '') : one;
    const verdict = question.validate?.(String(value)) ?? true;
    if (verdict === true) return value;
    refusals.push(verdict);
  }
  throw new Error(`No answer to "${question.message}" was accepted.`);
}

/** Takes the place of the package `inquirer`. */
export const inquirer = {
  createPromptModule:
    () =>
    async ([question]: [Question]) => ({ answer: answer(question) }),
};
