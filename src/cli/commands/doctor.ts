import type { Call } from '../call.js';
import { colours } from '../colour.js';
import { examine } from '../doctor/examine.js';
import { exitStatus } from '../exit.js';
import { printable } from '../printable.js';
import { wrapped } from '../table.js';

/** Columns before the words. */
const INDENT = 7 + 2 + 12 + 2;

/** `graphcred doctor` */
export async function run(call: Call): Promise<number> {
  const { report, ctx } = call;
  const checks = await examine(call);
  if (report.json) {
    report.document({ checks: checks.map(({ id, verdict, cause, fix }) => ({ id, verdict, cause, fix })) });
  } else {
    const paint = await colours(call);
    const tones = { ok: paint.good, warn: paint.warn, fail: paint.bad, skipped: paint.dim };
    const lines = checks.map(({ id, verdict, cause, fix }) => {
      const advice = fix === '' ? '' : ` -> ${fix}`;
      const room = Math.max(30, (ctx.stdout.columns ?? Number.POSITIVE_INFINITY) - INDENT);
      const text = wrapped(printable(cause + advice), room).join(`\n${' '.repeat(INDENT)}`);
      return `${tones[verdict](verdict.padEnd(7))}  ${id.padEnd(12)}  ${text}`;
    });
    report.result(lines.join('\n'));
  }
  const first = checks.find(({ verdict }) => verdict === 'fail');
  return first?.code === undefined ? 0 : exitStatus(first.code);
}
