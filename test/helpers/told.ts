import { textOf } from '../../src/cli/output/hints.js';
import { GraphException } from '../../src/core/errors.js';

/** Returns the three lines of all that an error says, besides its stack: code and message, hint, other facts. */
function told(error: unknown): string[] {
  if (!(error instanceof GraphException)) return [`  ${error}`];
  const { code, message, hint: _words, fix, option: _option, ...rest } = error;
  const facts = Object.entries(rest).filter(
    ([name, value]) =>
      name !== 'name' &&
      value !== undefined &&
      !(['ambiguous', 'retryable'].includes(name) && value === false),
  );
  return [
    `  ${code} ${message}`,
    `  hint: ${fix.length === 0 ? 'NONE' : textOf(fix, { typed: {} })}`,
    `  ${facts.map(([name, value]) => `${name}: ${value}`).join(', ') || 'no other facts'}`,
  ];
}

/**
 * Calls what fails, and writes a list of the errors, each whole below its title. Lines that the error before has as well
 * are left out.
 */
export async function listErrors(
  cases: readonly (readonly [title: string, call: () => unknown])[],
): Promise<string> {
  const lines: string[] = [];
  let before: string[] = [];
  for (const [title, call] of cases) {
    const error = told(await errorOf(call));
    lines.push(title, ...error.filter((line) => !before.includes(line)));
    before = error;
  }
  return `${lines.join('\n')}\n`;
}

/** Returns the error of a call, whether it is thrown at once or later. */
function errorOf(call: () => unknown): Promise<unknown> {
  return new Promise((resolve) => resolve(call())).then(
    () => 'NO ERROR',
    (error: unknown) => error,
  );
}
