import type { GraphException } from '../core/errors.js';
import type { Context } from './context.js';
import { asksForJson, errorLines } from './fail.js';
import { printable, speltOut } from './printable.js';

const PLAIN = /^[!-~]([ -~]*[!-~])?$/;

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

export function createReport(ctx: Context): Report {
  const tell = (text: string) => {
    report.clear();
    ctx.stderr.write(`${text}\n`);
  };
  const print = (text: string) => {
    report.clear();
    ctx.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  };
  // Most of what is said needs no look at every letter's kind, and V8 takes long to read the tables for that.
  const say = (text: string) => tell(`graphcred: ${PLAIN.test(text) ? text : printable(text)}`);
  const warned = new Set<string>();
  let json: boolean | undefined;
  const report: Report = {
    get json() {
      json ??= asksForJson(ctx);
      return json;
    },
    set json(value) {
      json = value;
    },
    quiet: false,
    verbose: false,
    clear: () => {},
    result: print,
    document: (data) => print(speltOut(JSON.stringify({ schemaVersion: 1, ...data }))),
    note: (text) => {
      if (!report.quiet) say(text);
    },
    warn: (text) => {
      // A command may look at the same thing more than once.
      if (!warned.has(text)) say(`warning: ${text}`);
      warned.add(text);
    },
    detail: (text) => {
      if (report.verbose) say(text);
    },
    error: (error, status) => {
      for (const line of errorLines(error, report.json, status)) tell(line);
    },
  };
  return report;
}
