import { GraphException } from '../core/errors.js';
import type { Context } from './context.js';
import { exitStatus, isClosedPrompt, isRetryable } from './exit.js';
import type { Report } from './output.js';
import { printable } from './printable.js';

/** Says what ended the command, and gives the exit status for it. */
export function fail(error: unknown, report: Report): number {
  if (error instanceof GraphException) {
    report.error(error);
    return exitStatus(error.code);
  }
  if (isClosedPrompt(error)) {
    report.error(new GraphException('CANCELLED', 'Cancelled.'));
    return exitStatus('CANCELLED');
  }
  // Only the kind of error and where it was raised: its text may quote what it was working on.
  const { name, message, stack } = error instanceof Error ? error : new Error();
  report.error(
    new GraphException('INTERNAL', `graphcred ran into a bug (${name}).`, {
      hint: 'please report it, with the command you typed and the lines that -v prints',
    }),
  );
  for (const line of stack
    ?.slice(stack.indexOf(message) + message.length)
    .split('\n')
    .filter((text) => /^\s+at /.test(text))
    .slice(0, 8) ?? [])
    report.detail(line.trim());
  return 1;
}

/** What is written to stderr of an error: one JSON object, or a line and a hint. */
export function errorLines(error: GraphException, json: boolean, status = exitStatus(error.code)): string[] {
  const message = printable(error.message);
  const hint = printable(error.hint ?? '');
  if (!json) return [`graphcred: ${message}`, ...(hint === '' ? [] : [`hint: ${hint}`])];
  const body = { code: error.code, message, hint, exitCode: status };
  return [JSON.stringify({ error: { ...body, retryable: isRetryable(error) } })];
}

/** Errors before the settings are read have to know too whether a program is listening. */
export function asksForJson(ctx: Context): boolean {
  const end = ctx.argv.indexOf('--');
  const own = end === -1 ? ctx.argv : ctx.argv.slice(0, end);
  // -q, -v and other switches may stand in one word with -o.
  const at = own.findLastIndex((word) => /^(-[qviy]*o|--output)/.test(word));
  if (at === -1) return ctx.env.GRAPHCRED_OUTPUT === 'json';
  return (
    /^(-[qviy]*o=?|--output=)json$/.test(own[at] as string) ||
    (/^(-[qviy]*o|--output)$/.test(own[at] as string) && own[at + 1] === 'json')
  );
}
