import { Argument, Command, CommanderError, Help, type HelpConfiguration, Option } from 'commander';
import { type GraphException, usageError } from '../../core/errors.js';
import type { Chosen, CommandSpec } from '../command.js';
import type { Context } from '../context.js';
import { COMMANDS, commandOf, GROUPS } from './catalogue.js';
import { COMMON, CONFIG, type OptionSpec, optionText, SHARED } from './options.js';

/** Lets commander read the line; undefined when it printed help or the version. No error repeats a value that was typed. */
export async function parseCommandLine(ctx: Context, typed: readonly string[]): Promise<Chosen | undefined> {
  // `help token get` is the same as `token get --help`, and `version` as `--version`.
  const isHelp = typed.length === 0 || typed[0] === 'help';
  const topic = typed.slice(1).filter((word) => !['help', '-h', '--help'].includes(word));
  const words = isHelp ? [...topic, '--help'] : typed;
  const spec = commandOf(words);
  const { program, command } = declare(ctx, words, spec);
  program.version(ctx.version, '-V, --version');
  if (words.length > 1 && isHelp) {
    const { TOPICS, topicText } = await import('./help-topics.js');
    for (const name of Object.keys(TOPICS)) {
      const formatHelp = (_: Command, helper: Help) => topicText(name, helper);
      program.addCommand(quiet(ctx, name).configureHelp({ ...STYLE, formatHelp }));
    }
  }
  try {
    program.parse(typed[0] === 'version' ? ['--version'] : words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return undefined;
    throw error;
  }
  if (spec && command) return { spec, args: command.args, flags: command.opts() };
  // For commander a command may stand behind --, but its options were not declared.
  throw usageError('The command has to stand before --.', 'see: graphcred --help');
}

/** Declares all commands by name, and the options of the one that was typed. */
function declare(ctx: Context, words: readonly string[], typed: CommandSpec | undefined) {
  const [first = '', second = ''] = words;
  let found: Command | undefined;
  const program = parent(ctx, 'graphcred', first)
    .description(`${PURPOSE}\n\n${listed('First steps', FIRST_STEPS)}`)
    .addHelpText('after', '\nTopics: graphcred help settings | environment | exit-codes | formatting');
  // Options before the command were moved behind it. One that is still there is not among those.
  if (first.startsWith('-')) for (const option of SHARED) program.addOption(commanderOption(option));
  let group = program;
  for (const spec of COMMANDS) {
    const [name = '', leaf] = spec.path.split(' ');
    if (leaf !== undefined && name !== group.name()) {
      const summary = GROUPS[name] ?? '';
      group = parent(ctx, name, second).summary(summary).description(sentence(summary));
      program.addCommand(group);
    }
    const command = quiet(ctx, leaf ?? name).summary(spec.summary);
    if (spec.alias !== undefined) command.alias(spec.alias);
    if (spec === typed) found = withOptions(command, spec);
    (leaf === undefined ? program : group).addCommand(command);
  }
  program.addCommand(quiet(ctx, 'version').summary('print the version'));
  program.addCommand(quiet(ctx, 'help').summary('help for a command or a topic'));
  return { program, command: found };
}

/** Declares something with commands below it. Where another word than an option follows, help is that of this command. */
function parent(ctx: Context, name: string, next: string): Command {
  const command = quiet(ctx, name).enablePositionalOptions().usage('<command> [options]');
  return next.startsWith('-') ? command : command.helpOption(false);
}

/** Declares a command that throws, and writes nothing itself but help and the version. */
function quiet({ stdout }: Context, name: string): Command {
  const command = new Command(name).helpCommand(false).configureHelp(STYLE);
  return command
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: () => {},
      getOutHelpWidth: () => Math.min(stdout.columns ?? 80, 80),
      getOutHasColors: () => false,
    })
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : parseError(error, command);
    });
}

function withOptions(command: Command, spec: CommandSpec): Command {
  for (const option of spec.options) command.addOption(commanderOption(option));
  if (spec.passThrough) command.passThroughOptions().usage(`[options] [--] ${spec.argument}`);
  if (spec.argument !== undefined) {
    const argument = new Argument(spec.argument);
    command.addArgument(argument.argParser(reader(`<${argument.name()}>`, spec)));
  }
  command.description(`${sentence(spec.summary)}${spec.notes ? ` ${spec.notes}` : ''}`);
  if (spec.options.includes(CONFIG))
    command.addHelpText('after', '\nOptions that commands share: graphcred help settings');
  return command.addHelpText('after', `\n${listed('Examples', spec.examples)}`);
}

function commanderOption(spec: OptionSpec): Option {
  const { flags, name, value } = spec;
  const option = new Option(flags, optionText(spec));
  if (value !== undefined) option.argParser(reader(`--${name}`, spec));
  // For commander `--no-input` would be the opposite of `--input`, but here it is a switch.
  option.negate = false;
  // For commander the option `--no-input` is `input`, and `--rest-port` is `restPort`.
  option.attributeName = () => name;
  return COMMON.includes(spec) ? option.helpGroup(HIDDEN) : option;
}

function reader(name: string, spec: Partial<Pick<OptionSpec, 'repeat' | 'short'>> & Partial<CommandSpec>) {
  const { choices, repeat, short, passThrough } = spec;
  return (typed: string, before: string | string[] = []): string | string[] => {
    if (passThrough && before.length > 0) return before;
    // kubectl and gh read `-p=prod` like `-p prod`, but the text of -d may begin with this sign.
    const value = short && short !== 'd' ? typed.replace(/^=/, '') : typed;
    // `-p "$UNSET"` must not make a command act on the default profile.
    if (value === '' && name !== '--data')
      throw usageError(
        `The value of ${name} is empty.`,
        'give one; perhaps a variable of the script is not set',
      );
    if (choices?.includes(value) === false)
      throw usageError(
        `${name} does not take ${HARMLESS.test(value) ? `'${value}'` : 'this value'}.`,
        `choose one of: ${choices.join(', ')}`,
      );
    return repeat ? [...before, value] : value;
  };
}

/** What is repeated of a typed word: a word without digits, or the name of an option. Other words may be a credential. */
const HARMLESS = /^(?:--[a-z-]+|-[A-Za-z]|[A-Za-z_-]{1,15}$)/;

/** Tells what commander found: its sentence, with a typed word only where that is no credential. */
function parseError({ code, message }: CommanderError, command: Command): GraphException {
  const [, text = '', near] = /^(?:error: )?(.*?)(?:\n\(Did (you mean .*)\))?$/s.exec(message) ?? [];
  const see = `see: ${wordsOf(command)} --help`;
  const [, option, value] = /'(--[a-z-]+)(=.*)?'/s.exec(text) ?? [];
  if (value !== undefined && command.options.some(({ long }) => long === option))
    return usageError(`The option ${option} takes no value.`, see);
  // commander compares whole words too, and does not find --all-profiles for --all.
  const longer = option && command.options.find(({ long }) => long?.startsWith(`${option}-`))?.long;
  const isJson = option === '--json' && command.options.some(({ short }) => short === '-o');
  const meant = isJson ? 'you mean -o json?' : (near ?? (longer && `you mean ${longer}?`));
  const names = command.parent ? command.commands.map((one) => one.name()) : [];
  const other = names.length > 0 ? `choose one of: ${names.join(', ')}; ${see}` : see;
  if (code === 'commander.help') return usageError('A command is missing.', other);
  const told = text
    .replace(/ '(.*)'/s, (_, word) => {
      const [name] = HARMLESS.exec(word) ?? [];
      return name ? ` '${name}'` : '';
    })
    .replace('argument missing', 'needs a value');
  return usageError(sentence(told.replace(/\.$/, '')), meant ? `did ${meant} ${see}` : other);
}

function wordsOf(command: Command): string {
  return command.parent ? `${wordsOf(command.parent)} ${command.name()}` : command.name();
}

const HIDDEN = 'Shared options';

const STYLE: HelpConfiguration = {
  minWidthToWrap: 20,
  subcommandTerm: (command) => command.name(),
  optionDescription: ({ description }) => description,
  padWidth: (command, helper) => Math.min(Help.prototype.padWidth.call(helper, command, helper), 26),
  formatHelp(command, helper) {
    // Shared options are hidden here only: commander suggests none that is always hidden.
    helper.visibleOptions = ({ options, parent }) =>
      parent === null ? [] : options.filter(({ helpGroupHeading }) => helpGroupHeading !== HIDDEN);
    return Help.prototype.formatHelp.call(helper, command, helper);
  },
};

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
const listed = (heading: string, lines: readonly string[]) =>
  [`${heading}:`, ...lines.map((line) => `  ${line}`)].join('\n');

const PURPOSE = 'Manage credentials of a graph database: secrets, tokens, and their store.';
const FIRST_STEPS = [
  'graphcred sandbox                  start a local imitation of the database',
  'graphcred login                    say where your database is and who you are',
  'graphcred secret create ci --save  create a secret and save it',
  'graphcred token get                print a token: a stored one, or a new one',
];
