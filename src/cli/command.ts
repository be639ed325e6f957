import type { GraphException } from '../core/errors.js';
import type { Context } from './context.js';

/** Flags by their long name: text, `true` for a switch, a list for one that may be repeated. */
export type Flags = Readonly<Record<string, string | true | string[] | undefined>>;

/** Ctrl-C for commands that change something. */
export interface Interruption {
  /** Aborted by the first SIGINT or SIGTERM after `begin`: it ends the request under way, and none is sent any more. */
  readonly signal: AbortSignal;
  /** From here on something is changed: after a signal the command itself says what was done, then it ends. */
  begin(): void;
  /** The exit status that the signal asks for; undefined while there was none. */
  readonly status: number | undefined;
}

/** One run of one command: what was typed, and where the result goes. */
export interface Invocation {
  readonly ctx: Context;
  readonly spec: CommandSpec;
  readonly args: readonly string[];
  readonly flags: Flags;
  readonly report: Report;
  /** How a command that writes hears Ctrl-C. */
  readonly interruption?: Interruption | undefined;
}

/** Returns the exit status; nothing means 0. */
export type Run = (invocation: Invocation) => Promise<number | undefined>;

export interface ArgumentSpec {
  readonly name: string;
  readonly required?: boolean;
  readonly variadic?: boolean;
  /** For completion. */
  readonly choices?: readonly string[];
}

export interface CommandSpec {
  /** Words after `graphcred`. */
  readonly path: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly args?: readonly ArgumentSpec[];
  readonly options: readonly OptionSpec[];
  /** Everything after the first positional belongs to another program. */
  readonly passThrough?: boolean;
  /** Goes on when a config file is not trusted: such a file then counts for nothing. */
  readonly worksWithoutProjectFile?: boolean;
  /** Changes something on the server: after Ctrl-C it says what was done. */
  readonly writes?: boolean;
  /** Other words that mean something special here, for help. */
  readonly notes?: string;
  /** The command itself; loaded only when it runs. */
  readonly load: () => Promise<{ run: Run }>;
}

/**
 * Every option of every command, as data: commander, the fast path, completion, the man page and the
 * reference in docs/ are all made from it.
 */
export interface OptionSpec {
  readonly name: string;
  readonly short?: string;
  /** What stands for the value in help; absent for a switch. */
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly repeat?: boolean;
  readonly help: string;
}

/** Where results and talk go: the result to stdout, everything else to stderr. */
export interface Report {
  /** As the settings say, once they are read; until then as the command line does. */
  json: boolean;
  quiet: boolean;
  verbose: boolean;
  /** Called before every line, to take a passing one off the terminal. */
  clear(): void;
  /** Writes the result, exactly once and whole. */
  result(text: string): void;
  document(data: Record<string, unknown>): void;
  note(text: string): void;
  warn(text: string): void;
  detail(text: string): void;
  error(error: GraphException, status?: number): void;
}
