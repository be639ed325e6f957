import measure from 'fast-string-truncated-width';
import type { Hint } from '../../core/errors.js';
import type { Invocation } from '../command.js';
import { wantsColour } from '../context.js';
import { singleLine } from './plain.js';

const GAP = 2;
/** A narrower column, or one narrower than its heading, cannot be read. */
const MIN_COLUMN_WIDTH = 6;

/** Formats columns. @param shrinkOrder the columns to shorten where a line is too long, the least important first */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  shrinkOrder: readonly number[] = [],
  width = Number.POSITIVE_INFINITY,
): string {
  const all = [head, ...rows.map((row) => row.map(singleLine))];
  const widths = head.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ''))));
  let overflow = widths.reduce((sum, each) => sum + each + GAP, -GAP) - width;
  for (const column of shrinkOrder) {
    const least = Math.max(MIN_COLUMN_WIDTH, widthOf(head[column] ?? ''));
    const given = Math.max(0, Math.min(overflow, (widths[column] ?? 0) - least));
    widths[column] = (widths[column] ?? 0) - given;
    overflow -= given;
  }
  const fit = (cell: string, column: number) => {
    const width = widths[column] ?? 0;
    // Names and addresses that are alike often differ at the end, by a number or a port.
    const end = /^[ -~]*$/.test(cell) && cell.length > width ? cell.slice(-Math.floor(width / 3)) : '';
    const text = shorten(cell, width - end.length) + end;
    return text + ' '.repeat(Math.max(0, width - widthOf(text)));
  };
  return all.map((row) => row.map(fit).join(' '.repeat(GAP)).trimEnd()).join('\n');
}

interface List {
  readonly document: Readonly<Record<string, unknown>>;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly shrinkOrder: readonly number[];
  readonly none?: Hint;
  readonly tones?: readonly Tone[];
}

export async function printList(invocation: Invocation, list: List): Promise<void> {
  const { ctx, report } = invocation;
  const { document, head, rows, shrinkOrder, none = [], tones = [] } = list;
  if (report.json) return report.document(document);
  if (rows.length === 0) return report.note(none);
  const paint = await colours(invocation);
  const lines = table(head, rows, shrinkOrder, ctx.stdout.columns).split('\n');
  const painted = lines.map((line, at) => {
    const [last = '', tone] = [rows[at - 1]?.at(-1), tones[at - 1]];
    return tone === undefined ? line : `${line.slice(0, -last.length)}${paint[tone](last)}`;
  });
  report.raw(painted.join('\n'));
}

export function shorten(text: string, width = Number.POSITIVE_INFINITY): string {
  const { truncated, index } = measure(text, { limit: width, ellipsis: '…' });
  if (!truncated) return text;
  const kept = [...text.slice(0, index)];
  // The index is one too large behind some characters that are not ASCII.
  while (kept.length > 0 && widthOf(kept.join('')) >= width) kept.pop();
  return `${kept.join('')}…`;
}

/** Ideographs and emoji take two columns of a terminal, marks above and below a letter none. */
function widthOf(text: string): number {
  return measure(text).width;
}

export type Colours = Awaited<ReturnType<typeof colours>>;
export type Tone = 'good' | 'warn' | 'bad' | 'dim';

export async function colours({ ctx, flags }: Invocation) {
  const isPainted = wantsColour(ctx.env, flags, ctx.stdout.isTTY);
  const { Chalk } = await import('chalk');
  const { bold, dim, green: good, red: bad, yellow: warn } = new Chalk({ level: isPainted ? 1 : 0 });
  return { bold, dim, good, bad, warn };
}
