/** What an answer is typed to: any question, or the one that begins so. */
type Answer = string | readonly [question: string, answer: string];

interface Question {
  readonly type: string;
  readonly message: string;
  readonly default?: unknown;
  validate?(text: string): true | string;
  readonly [option: string]: unknown;
}

/** What the person at the terminal was asked and where, and the answers that are left. An empty answer is the Enter key. */
export const person = {
  answers: [] as Answer[],
  seen: [] as string[],
  questions: [] as Question[],
  streams: {} as { readonly output?: unknown; readonly signal?: AbortSignal },
};

/** Takes the place of the package `inquirer`, in every file of tests: files share processes, and mocks with them. */
export const inquirer = {
  createPromptModule: (streams: typeof person.streams) => {
    person.streams = streams;
    return async ([question]: [Question]) => {
      person.questions.push(question);
      return { answer: answer(question) };
    };
  },
};

function answer({ type, message, validate, ...question }: Question): unknown {
  const proposed = question.default === undefined ? '' : ` (${String(question.default)})`;
  person.seen.push(`? ${type}: ${message}${proposed}`);
  for (;;) {
    const next = person.answers.shift();
    if (next === undefined) {
      person.seen.push('? (closed)');
      throw Object.assign(new Error('closed'), { name: 'ExitPromptError' });
    }
    const [expected, typed] = typeof next === 'string' ? ['', next] : next;
    if (!message.startsWith(expected)) throw new Error(`The question is "${message}", not "${expected}".`);
    if (type === 'confirm') return typed === '' ? question.default : typed === 'y';
    const text = typed === '' ? String(question.default ?? '') : typed;
    const verdict = validate?.(text) ?? true;
    if (verdict === true) return text;
    person.seen.push(`?   refused "${text}": ${verdict}`);
  }
}
