import type { CommandSpec } from '../command.js';
import { wrapped } from '../output/table.js';
import { COMMANDS, GROUPS } from './catalogue.js';
import { BEHAVIOUR, COMMON, type OptionSpec, option } from './options.js';

/** Help is wrapped at this width, because wider lines are hard to read. */
const WIDEST = 100;
/** Descriptions stand beside the names only if there are this many columns for them, else below. */
const NARROWEST = 30;

const HELP = option('-h, --help', 'show this help');

/** Returns the help for one command: what it does, its own options, the shared ones by name, examples. */
export function commandHelp(spec: CommandSpec, columns: number | undefined): string {
  const width = Math.min(columns ?? WIDEST, WIDEST);
  const { path, passThrough, argument } = spec;
  const usage = `Usage: graphcred ${path} [options]${passThrough ? ' [--]' : ''}${argument ? ` ${argument}` : ''}`;
  const shared = spec.options.filter((option) => COMMON.includes(option));
  const own = spec.options.filter((option) => !shared.includes(option));
  const isExplained = shared.some((option) => !BEHAVIOUR.includes(option));
  const names = shared.map(({ name, short }) => (short ? `-${short}/--${name}` : `--${name}`)).join(' ');
  return sections([
    wrapped(sentence(spec.summary), width),
    ...(spec.notes ? [wrapped(spec.notes, width)] : []),
    wrapped(usage, width),
    ['Options:', ...definitions([...own, HELP].map(optionRow), width)],
    shared.length > 0 && [
      ...wrapped(`Shared options${isExplained ? ', explained by: graphcred help settings' : ''}:`, width),
      ...wrapped(names, width - 2).map((line) => `  ${line}`),
    ],
    examples(spec.examples, width),
  ]);
}

export function groupHelp(group: string, columns: number | undefined): string {
  const width = Math.min(columns ?? WIDEST, WIDEST);
  const leaves = COMMANDS.filter(({ path }) => path.startsWith(`${group} `));
  const rows = leaves.map(({ path, summary }) => [path.slice(group.length + 1), summary] as const);
  const firstExamples = leaves.map((spec) => spec.examples[0] as string);
  return sections([
    wrapped(sentence(GROUPS[group] ?? ''), width),
    [`Usage: graphcred ${group} <command> [options]`],
    ['Commands:', ...definitions(rows, width)],
    examples(firstExamples, width),
  ]);
}

export function programHelp(columns: number | undefined): string {
  const width = Math.min(columns ?? WIDEST, WIDEST);
  const commands = new Map(
    COMMANDS.map(({ path, summary }) => {
      const [word = ''] = path.split(' ');
      return [word, GROUPS[word] ?? summary];
    }),
  );
  return sections([
    wrapped(PURPOSE, width),
    ['Usage: graphcred <command> [options]'],
    ['First steps:', ...definitions(FIRST_STEPS, width)],
    ['Commands:', ...definitions([...commands], width)],
    ['Help:', ...definitions(HELP_LINES, width)],
  ]);
}

const PURPOSE = 'Manage the credentials of a graph database: secrets, tokens, and the store that holds them.';

const FIRST_STEPS = [
  ['graphcred sandbox', 'start a local imitation of the database, to try things on'],
  ['graphcred login', 'say where your database is and who you are'],
  ['graphcred secret create ci --save', 'create a secret and save it'],
  ['graphcred token get', 'print a token: a stored one, or a new one'],
] as const;

const HELP_LINES = [
  ['graphcred help <command>', 'help for one command'],
  ['graphcred help <topic>', 'settings, environment, exit-codes, formatting'],
  ['graphcred --version', 'print the version'],
] as const;

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
/** Continues a command that is longer than a line as shells do. */
const examples = (commands: readonly string[], width: number) => [
  'Examples:',
  ...commands.map((command) => `  ${wrapped(command, width - 6).join(' \\\n    ')}`),
];

function sections(parts: readonly (readonly string[] | false)[]): string {
  return `${parts.flatMap((lines) => (lines === false ? [] : [lines.join('\n')])).join('\n\n')}\n`;
}

/** Returns an option as help and `help settings` show it. */
export function optionRow({ flags, choices, repeat, help }: OptionSpec): [string, string] {
  const notes = [choices && `one of ${choices.join(', ')}`, repeat && 'may be repeated'].filter(Boolean);
  return [flags, notes.length > 0 ? `${help} (${notes.join('; ')})` : help];
}

/** Lays out names on the left and descriptions on the right, or below them on a narrow terminal. */
function definitions(rows: readonly (readonly [string, string])[], width: number): string[] {
  const column = Math.max(...rows.map(([name]) => name.length)) + 4;
  const isNarrow = width - column < NARROWEST;
  return rows.flatMap(([name, text]) => {
    if (isNarrow) return [`  ${name}`, ...wrapped(text, width - 6).map((line) => `      ${line}`)];
    const [first = '', ...more] = wrapped(text, width - column);
    return [`  ${name}`.padEnd(column) + first, ...more.map((line) => ' '.repeat(column) + line)];
  });
}
