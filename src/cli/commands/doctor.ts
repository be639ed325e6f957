import type { Call } from '../call.js';
import { colours } from '../colour.js';
import { examine } from '../doctor/examine.js';
import { exitStatus } from '../exit.js';
import { printable } from '../output.js';

/** `graphcred doctor` */
export async function run(call: Call): Promise<number> {
  const { report, ctx, flags } = call;
  const checks = await examine(call);
  if (report.json) {
    report.document({ checks: checks.map(({ id, verdict, cause, fix }) => ({ id, verdict, cause, fix })) });
  } else {
    const paint = await colours(ctx, flags['no-color'] === true);
    const tones = { ok: paint.good, warn: paint.warn, fail: paint.bad, skipped: paint.dim };
    const lines = checks.map(({ id, verdict, cause, fix }) => {
      const advice = fix === '' ? '' : ` -> ${fix}`;
      return `${tones[verdict](verdict.padEnd(7))}  ${id.padEnd(12)}  ${printable(cause + advice)}`;
    });
    report.result(lines.join('\n'));
  }
  const first = checks.find(({ verdict }) => verdict === 'fail');
  return first?.code === undefined ? 0 : exitStatus(first.code);
}
