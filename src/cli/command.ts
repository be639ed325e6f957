import type { Interruption } from '../auth/ports.js';
import type { LoadedFile } from '../config/keys.js';
import type { GraphException } from '../core/errors.js';
import type { OptionSpec } from './args/options.js';
import type { Context } from './context.js';

/** Flags by their long name: text, `true` for a switch, a list for one that may be repeated. */
export type Flags = Readonly<Record<string, string | true | string[] | undefined>>;

/** One run of one command: what was typed, and where the result goes. */
export interface Invocation {
  readonly ctx: Context;
  readonly spec: CommandSpec;
  readonly args: readonly string[];
  readonly flags: Flags;
  readonly report: Report;
  /** Tells a command that writes about Ctrl-C. */
  readonly interruption?: Interruption | undefined;
  /** The config file in force: found, judged and asked about once in a run. */
  readonly config?: { found?: Promise<LoadedFile | undefined> };
}

/** Returns the exit status; nothing means 0. */
export type Run = (invocation: Invocation) => Promise<number | undefined>;

export interface CommandSpec {
  /** Words after `graphcred`. */
  readonly path: string;
  readonly summary: string;
  readonly examples: readonly string[];
  /** The words after the path, as commander and help write them: `<alias...>`, `[file]`. */
  readonly argument?: string;
  /** The values of the argument that completion offers. */
  readonly choices?: readonly string[];
  readonly options: readonly OptionSpec[];
  /** Whether everything after the first positional argument belongs to another program. */
  readonly passThrough?: boolean;
  /** Whether the command runs although a config file is not trusted, and then ignores that file. */
  readonly worksWithoutProjectFile?: boolean;
  /** Whether the command changes something on the server and, after Ctrl-C, reports what was done. */
  readonly writes?: boolean;
  /** Text for help about further words that have a meaning in this command. */
  readonly notes?: string;
  /** The command itself; loaded only when it runs. */
  readonly load: () => Promise<{ run: Run }>;
}

/** Writes the output: the result to stdout, everything else to stderr. */
export interface Report {
  /** What was typed: hints name the same profile and config file. */
  typed: Flags;
  /** The next three fields are set from the command line, and again once the settings are read. */
  json: boolean;
  quiet: boolean;
  verbose: boolean;
  /** Whether the line of a spinner is on the terminal. Several spinners may take turns there. */
  isDrawn: boolean;
  /** Called before every line, to erase the spinner from the terminal. */
  clear(): void;
  /** Writes the result, exactly once and whole. */
  result(text: string, mustArrive?: boolean): void;
  document(data: Record<string, unknown>, mustArrive?: boolean): void;
  /** Writes the document with `-o json`, else the sentence, wrapped to the width of the terminal. */
  done(data: Record<string, unknown>, sentence: string): void;
  note(text: string): void;
  warn(text: string): void;
  /** Says what a person has to do now; also with `-q`. */
  ask(text: string): void;
  detail(text: string): void;
  error(error: GraphException, status?: number): void;
}
