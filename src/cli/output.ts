import type { GraphException } from '../core/errors.js';
import type { Context } from './context.js';
import { exitStatus, isRetryable } from './exit.js';

/** Where results and talk go: the result to stdout, everything else to stderr. */
export interface Report {
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
  const say = (text: string) => tell(`graphcred: ${printable(text)}`);
  const warned = new Set<string>();
  const report: Report = {
    json: false,
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
    error: (error, status = exitStatus(error.code)) => {
      if (report.json) {
        const { code, message, hint } = error;
        const body = { code, message: printable(message), hint: printable(hint ?? ''), exitCode: status };
        tell(JSON.stringify({ error: { ...body, retryable: isRetryable(error) } }));
        return;
      }
      say(error.message);
      if (error.hint) tell(`hint: ${printable(error.hint)}`);
    },
  };
  return report;
}

/** A moment, both ways programs like it: `2023-11-21T22:13:20Z` and seconds since 1970. */
export function times<N extends string>(name: N, unix: number): Record<string, string | number> {
  return { [`${name}At`]: isoSeconds(unix), [`${name}AtUnix`]: unix };
}

export function isoSeconds(unix: number): string {
  // Years beyond 9999 would need another form; a date that far is written as the last one there is.
  return `${new Date(Math.min(unix, 253_402_300_799) * 1000).toISOString().slice(0, 19)}Z`;
}

/** One line, without anything a terminal would obey: server text and file names are not ours. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}

/** What a terminal would obey, and what turns a line around, as JSON spells it: in JSON that means the same. */
export function speltOut(text: string): string {
  const spell = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(/[^\P{Cc}\n\t]|[\p{Cf}\u2028\u2029]/gu, (character) =>
    character.split('').map(spell).join(''),
  );
}
