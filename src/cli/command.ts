import type { Flags } from '../config/keys.js';
import type { Interruption } from '../run/interruption.js';
import type { OptionSpec } from './args/options.js';
import type { Context } from './context.js';
import type { Report } from './output/report.js';

/** One run of one command: what was typed, and where the result goes. */
export interface Invocation {
  readonly ctx: Context;
  readonly spec: CommandSpec;
  readonly args: readonly string[];
  readonly flags: Flags;
  readonly report: Report;
  readonly interruption: Interruption;
}

export type Chosen = Pick<Invocation, 'spec' | 'args' | 'flags'>;

export interface CommandSpec {
  readonly path: string;
  readonly alias?: string | undefined;
  readonly summary: string;
  readonly examples: readonly string[];
  /** The words after the path, as commander and help write them: `<alias...>`, `[file]`. */
  readonly argument?: string | undefined;
  readonly choices?: readonly string[];
  readonly options: readonly OptionSpec[];
  /** Whether everything after the first positional argument belongs to another program. */
  readonly passThrough?: boolean;
  /** Whether the command runs although a config file is not trusted, and then ignores that file. */
  readonly worksWithoutProjectFile?: boolean;
  /** Whether the command asks nobody anything, whatever the settings say: it runs in monitors, and its output is pasted. */
  readonly asksNothing?: boolean;
  /** Whether the command changes something on the server and, after Ctrl-C, reports what was done. */
  readonly writes?: boolean;
  readonly notes?: string;
  /** Loads the command itself, which returns the exit status; nothing means 0. */
  readonly load: () => Promise<(invocation: Invocation) => Promise<number | undefined>>;
}
