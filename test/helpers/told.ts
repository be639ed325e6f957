import { GraphException } from '../../src/core/errors.js';

/** Writes all that an error says, besides its stack, for a file that holds every error whole: code and message, hint, facts. */
export function told(error: unknown): string {
  if (!(error instanceof GraphException)) return `  ${error}`;
  const { code, message, hint, remedies, ...rest } = error;
  const facts = Object.entries(rest).filter(
    ([name, value]) =>
      name !== 'name' &&
      value !== undefined &&
      !(['ambiguous', 'retryable'].includes(name) && value === false),
  );
  const all = [...(remedies.length > 0 ? [['remedies', remedies.join(' ')]] : []), ...facts];
  return [
    `  ${code} ${message}`,
    `  hint: ${hint ?? 'NONE'}`,
    ...(all.length > 0 ? [`  ${all.map(([name, value]) => `${name}: ${value}`).join(', ')}`] : []),
  ].join('\n');
}

/** Returns the error of a call, whether it is thrown at once or later. */
export function errorOf(call: () => unknown): Promise<unknown> {
  return new Promise((resolve) => resolve(call())).then(
    () => 'NO ERROR',
    (error: unknown) => error,
  );
}
