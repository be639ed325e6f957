import type { Context } from './context.js';

export interface Colours {
  bold(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
}

const plain = (text: string) => text;
const PLAIN: Colours = { bold: plain, dim: plain, good: plain, bad: plain, warn: plain };

/** Colours for stdout: on a terminal, unless somebody said no. */
export async function colours(ctx: Context, noColor: boolean): Promise<Colours> {
  if (noColor || !ctx.stdout.isTTY || ctx.env.NO_COLOR || ctx.env.TERM === 'dumb') return PLAIN;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  return { bold: chalk.bold, dim: chalk.dim, good: chalk.green, bad: chalk.red, warn: chalk.yellow };
}
