import { type Command, Help, type HelpConfiguration } from 'commander';
import type { CommandSpec } from '../command.js';
import { COMMANDS, GROUPS } from './catalogue.js';
import { CONFIG } from './options.js';

/** Help is made for a terminal of this many columns. */
export const WIDTH = 80;

/** The group of options that the topic `settings` explains. */
export const SHARED = 'Shared options';

/** Commander's hooks, which give help its shape. */
export const STYLE: HelpConfiguration = {
  minWidthToWrap: 20,
  subcommandTerm: (command) => command.name(),
  // The values and notes are part of the description already.
  optionDescription: ({ description }) => description,
  // A description begins further right where its option is longer.
  padWidth: (command, helper) => Math.min(Help.prototype.padWidth.call(helper, command, helper), 26),
  formatHelp(command, helper) {
    // Shared options are hidden here only: commander suggests none that is always hidden.
    helper.visibleOptions = ({ options, parent }) =>
      parent === null ? [] : options.filter(({ helpGroupHeading }) => helpGroupHeading !== SHARED);
    return Help.prototype.formatHelp.call(helper, command, helper);
  },
};

export const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
const listed = (heading: string, lines: readonly string[]) =>
  `${[`${heading}:`, ...lines.map((line) => `  ${line}`)].join('\n')}`;

/** Declares the help of one command. */
export function describeCommand(command: Command, spec: CommandSpec): void {
  command.description(`${sentence(spec.summary)}${spec.notes ? ` ${spec.notes}` : ''}`);
  if (spec.passThrough) command.usage(`[options] [--] ${spec.argument}`);
  if (spec.options.includes(CONFIG))
    command.addHelpText('after', '\nOptions that commands share: graphcred help settings');
  command.addHelpText('after', `\n${listed('Examples', spec.examples)}`);
}

/** Declares the help of a group of commands. */
export function describeGroup(group: Command): Command {
  const summary = GROUPS[group.name()] ?? '';
  const specs = COMMANDS.filter(({ path }) => path.startsWith(`${group.name()} `));
  const examples = specs.flatMap(({ examples: [first = ''] }) => first);
  group.summary(summary).description(sentence(summary));
  return group.addHelpText('after', `\n${listed('Examples', examples)}`);
}

/** Declares the help of the program. */
export function describeProgram(program: Command): Command {
  const purpose = 'Manage credentials of a graph database: secrets, tokens, and their store.';
  const topics = 'Topics: graphcred help settings | environment | exit-codes | formatting';
  program.description(`${purpose}\n\n${listed('First steps', FIRST_STEPS)}`);
  return program.addHelpText('after', `\n${topics}`);
}

const FIRST_STEPS = [
  'graphcred sandbox                  start a local imitation of the database',
  'graphcred login                    say where your database is and who you are',
  'graphcred secret create ci --save  create a secret and save it',
  'graphcred token get                print a token: a stored one, or a new one',
];
