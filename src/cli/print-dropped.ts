import type { Dropping } from '../app/secrets/drop-secrets.js';
import { type Report, singleLine } from './output/report.js';

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
