import type { Flags, Settings } from '../../config/keys.js';
import { GraphException, type Hint } from '../../core/errors.js';
import { Interrupted } from '../../run/interruption.js';
import { once } from '../../run/once.js';
import { asksForJson } from '../args/options.js';
import type { Context } from '../context.js';
import { exitStatus } from './exit-codes.js';
import { type Named, textOf } from './hints.js';
import { escapeControls, singleLine } from './plain.js';
import { endOfInterrupted } from './signals.js';

export type Report = ReturnType<typeof createReport>;

/** Returns what writes the output: the result to stdout, everything else to stderr. */
export function createReport(ctx: Context) {
  const tell = (text: string) => {
    report.clear();
    const wrap = (line: string) => wrapped(line, ctx.stderr.columns, '  ');
    ctx.stderr.write(`${report.json ? text : text.split('\n').map(wrap).join('\n')}\n`);
  };
  /** Writes the result, exactly once and whole. Bytes that are no text get no line end. */
  const result = (content: string | Uint8Array) => {
    report.clear();
    ctx.stdout.write(typeof content === 'string' ? withLineEnd(content) : content);
    report.steps = [];
  };
  /** The same for a text with colours or commands of our own, or one to pass on unchanged. */
  const raw = (text: string) => result(Buffer.from(withLineEnd(text)));
  const document = (data: Record<string, unknown>) =>
    result(escapeControls(JSON.stringify({ schemaVersion: 1, ...data })));
  const show = (data: Record<string, unknown>, text: string) =>
    report.json ? document(data) : text && result(text);
  const say = (text: string) => tell(`graphcred: ${singleLine(text)}`);
  /** A command may read the same file more than once; what it says of it is printed once. */
  const sayOnce = once(say);
  const report = {
    /** What was typed: hints name the same profile, unless `isNewProfile`, the same addresses and config file. */
    typed: {} as Flags,
    settings: undefined as Settings | undefined,
    /** The format of the output is empty until the settings are read. */
    ...{ quiet: false, verbose: false, format: '' },
    steps: [] as string[],
    progress: undefined as string | undefined,
    /** Called before every line. It erases the line of a spinner, if one is on the terminal. */
    clear: () => {},
    ...{ result, raw, document, show },
    get json(): boolean {
      return report.format === '' ? asksForJson(ctx.argv, ctx.env) : report.format === 'json';
    },
    /** Does the same as `show` with a sentence that holds no command to copy. */
    done: (data: Record<string, unknown>, sentence: string) =>
      show(data, wrapped(singleLine(sentence), ctx.stdout.columns)),
    note: (text: Hint) => {
      if (!report.quiet) sayOnce(textOf(text, report));
    },
    warn: (text: Hint) => sayOnce(`warning: ${textOf(text, report)}`),
    ask: (text: Hint) => say(textOf(text, report)),
    detail: (text: string) => {
      if (report.verbose) say(text);
    },
    did: (step: string) => void report.steps.push(step),
    doing: (text: string) => {
      report.progress = text;
    },
    error: (error: GraphException, status?: number) => tell(textOfError(error, report, status)),
  };
  return report;
}

/** Reports the error that ended the command, and returns its exit status: that of the error, if no other is given. */
export function fail(error: unknown, report: Report, status?: number): number {
  const isInterrupted = error instanceof Interrupted;
  const told = isInterrupted ? endOfInterrupted(error, report.steps.length > 0) : shownError(error);
  const exit = isInterrupted ? error.status : (status ?? exitStatus(told.code));
  report.error(told, exit);
  if (told.code !== 'INTERNAL') return exit;
  const { message, stack = '' } = error instanceof Error ? error : new Error();
  const frames = stack.slice(stack.indexOf(message) + message.length).match(/^\s+at .*/gm) ?? [];
  for (const line of frames.slice(0, 8)) report.detail(line.trim());
  return exit;
}

/** Turns any error into one that can be shown. Of a bug only the kind is, because its text may quote a credential. */
function shownError(error: unknown): GraphException {
  if (error instanceof GraphException) return error;
  const { name } = error instanceof Error ? error : new Error();
  // inquirer's errors for a prompt that was closed by Ctrl-C or by the end of its input.
  if (/^(?:Exit|Abort)PromptError$/.test(name)) return new GraphException('CANCELLED', 'Cancelled.');
  return new GraphException('INTERNAL', `graphcred ran into a bug (${name}).`, {
    hint: 'please report it with the command you typed, and what it prints with -v',
  });
}

function textOfError(error: GraphException, report: Report, status?: number): string {
  const { json, steps } = report;
  const body = errorBody(error, report, status);
  if (steps.length > 0)
    body.message = `${body.message.replace(/\.?$/, '.')} Already done: ${steps.join(', ')}.`;
  if (json) return escapeControls(JSON.stringify({ error: body }));
  return `graphcred: ${body.message}${body.hint && `\nhint: ${body.hint}`}`;
}

export function errorBody(error: GraphException, named: Named, exitCode = exitStatus(error.code)) {
  const [message, hint] = [singleLine(error.message), singleLine(textOf(error.fix, named))];
  return { code: error.code, message, hint, exitCode, retryable: error.retryable };
}

const withLineEnd = (text: string) => (text.endsWith('\n') ? text : `${text}\n`);

/** A word, or a command to copy, which ends with the line or with a semicolon outside quotes; after the blank before it. */
const WORD = / ?(?:(?:graphcred|chmod|chown|gadmin|ls|rm) (?:'[^']*'|[^';]|;(?! |$))*;?|[^ ]*)/g;

/** Wraps a line at blanks, but not in a command, which is copied whole. @param indent begins the lines after the first */
export function wrapped(line: string, width = Number.POSITIVE_INFINITY, indent = ''): string {
  const [first = '', ...words] = line.match(WORD) ?? [];
  const lines = [first];
  for (const word of words) {
    const longer = `${lines.at(-1)}${word}`;
    if (longer.length <= width || !word.startsWith(' ')) lines.splice(-1, 1, longer);
    else lines.push(indent + word.trimStart());
  }
  return lines.join('\n');
}
