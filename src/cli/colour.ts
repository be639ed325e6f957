import type { Call } from './call.js';

export interface Colours {
  bold(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
}

const plain = (text: string) => text;
const PLAIN: Colours = { bold: plain, dim: plain, good: plain, bad: plain, warn: plain };

export function saysNoColour({ ctx, flags }: Call): boolean {
  return flags['no-color'] === true || Boolean(ctx.env.NO_COLOR) || ctx.env.TERM === 'dumb';
}

/** Colours for stdout: on a terminal, unless somebody said no. */
export async function colours(call: Call): Promise<Colours> {
  if (!call.ctx.stdout.isTTY || saysNoColour(call)) return PLAIN;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  return { bold: chalk.bold, dim: chalk.dim, good: chalk.green, bad: chalk.red, warn: chalk.yellow };
}
