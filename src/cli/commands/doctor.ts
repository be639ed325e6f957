import { examine, failed } from '../../app/doctor/examine.js';
import type { Invocation } from '../command.js';
import { exitStatus } from '../output/exit-codes.js';
import { textOf } from '../output/hints.js';
import { singleLine } from '../output/plain.js';
import { wrapped } from '../output/report.js';
import { colours } from '../output/table.js';
import { openRun } from '../session.js';

const INDENT = ' '.repeat(7 + 2 + 12 + 2);

export async function execute(invocation: Invocation): Promise<number> {
  const { report, ctx } = invocation;
  const unusable = (error: unknown) => [{ id: 'config', ...failed(error) }];
  const results = await openRun(invocation).then(examine, unusable);
  const checks = results.map(({ code: _, fix, ...check }) => ({ ...check, fix: textOf(fix, report) }));
  const paint = await colours(invocation);
  const tones = { ok: paint.good, warn: paint.warn, fail: paint.bad, skipped: paint.dim };
  const width = Math.max(INDENT.length + 30, ctx.stdout.columns ?? Number.POSITIVE_INFINITY);
  const lines = checks.map(({ id, verdict, cause, fix }) => {
    const told = singleLine(cause) + (fix && ` -> ${singleLine(fix)}`);
    const line = `${verdict.padEnd(7)}  ${id.padEnd(12)}  ${told}`;
    return wrapped(line, width, INDENT).replace(verdict, (word) => tones[verdict](word));
  });
  if (report.json) report.document({ checks });
  else report.raw(lines.join('\n'));
  return exitStatus(results.find(({ verdict }) => verdict === 'fail')?.code);
}
