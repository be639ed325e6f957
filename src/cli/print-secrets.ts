import type { Dropping } from '../app/secrets/drop-secrets.js';
import { expected, GraphException, type Hint } from '../core/errors.js';
import type { Sensitive } from '../core/sensitive.js';
import type { Invocation } from './command.js';
import { requireOutput } from './context.js';
import { type Report, singleLine } from './output/report.js';

/**
 * Prints the value of a secret, which is shown this once.
 * @throws GraphException USAGE with `whenLost` as its hint
 */
export function printSecret(
  { ctx, report }: Invocation,
  document: Readonly<Record<string, unknown>>,
  value: Sensitive,
  { note, whenLost }: { readonly note: string; readonly whenLost: Hint },
): void {
  const secret = value.reveal();
  try {
    requireOutput(ctx);
    if (!report.json) report.note(note);
    report.show({ ...document, secret }, secret, true);
  } catch (error) {
    const { code, message } = expected(error);
    throw new GraphException(code, message, { hint: whenLost });
  }
}

/** Prints what became of secrets. If nothing is known about any of them, there is no result to print. */
export function printDropped(
  report: Report,
  { dropped, missing }: Dropping,
  inText: (dropped: readonly string[]) => string,
): void {
  if (report.json && dropped.length + missing.length > 0)
    report.document({ dropped, missing, dryRun: false });
  else if (!report.json && dropped.length > 0) report.result(inText(dropped.map(singleLine)));
}
