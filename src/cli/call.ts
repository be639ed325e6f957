import type { CommandSpec } from './commands.js';
import type { Context } from './context.js';
import type { Report } from './output.js';

/** Flags by their long name: text, `true` for a switch, a list for one that may be repeated. */
export type Flags = Readonly<Record<string, string | true | string[] | undefined>>;

/** One run of one command: what was typed, and where the result goes. */
export interface Call {
  readonly ctx: Context;
  readonly spec: CommandSpec;
  readonly args: readonly string[];
  readonly flags: Flags;
  readonly report: Report;
}

/** Returns the exit status; nothing means 0. */
export type Run = (call: Call) => Promise<number | undefined>;
