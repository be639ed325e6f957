import { Argument, Command, CommanderError, Option } from 'commander';
import { GraphException } from '../../core/errors.js';
import type { CommandSpec, Flags, OptionSpec } from '../command.js';
import type { Context } from '../context.js';
import { COMMANDS, GROUPS, withoutShortForms } from './catalogue.js';
import { commandHelp, groupHelp, programHelp } from './help-text.js';
import { SHARED } from './options.js';
import { isSynonym, nearestCommands, nearestFlag } from './suggest.js';

export interface Chosen {
  readonly spec: CommandSpec;
  readonly args: readonly string[];
  readonly flags: Flags;
}

/**
 * Reads the command line with commander. Returns the chosen command, or undefined when help or the version
 * was printed instead.
 * @throws GraphException USAGE
 */
export async function parseCommandLine(
  ctx: Context,
  typed: readonly string[],
  version: string,
): Promise<Chosen | undefined> {
  const argv = withoutShortForms(typed);
  const [first, ...words] = argv;
  return first === 'help' ? helpFor(ctx, words, version) : parse(ctx, argv, version);
}

function parse(ctx: Context, argv: readonly string[], version: string): Chosen | undefined {
  let chosen: Chosen | undefined;
  const program = new Command('graphcred');
  program
    .version(version, '--version', 'print the version')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => ctx.stdout.write(text),
      writeErr: () => {},
      // commander would create both output streams of the process, which takes longer than printing the help.
      getOutHelpWidth: () => ctx.stdout.columns ?? 100,
      getErrHelpWidth: () => 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .helpCommand('help [command]');
  const { columns } = ctx.stdout;
  program.helpInformation = () => programHelp(columns);
  const groups = new Map<string, Command>();
  for (const spec of COMMANDS) {
    const words = spec.path.split(' ');
    const leaf = words.pop() as string;
    const parent = words.length === 0 ? program : group(program, groups, words[0] as string, columns);
    // Commands of other groups are not added, to save time.
    if (words[0] !== undefined && !argv.includes(words[0])) continue;
    // The options of other commands are not added, to save time.
    const options = isTyped(spec, argv) ? spec.options : [];
    addLeaf(parent.command(leaf), spec, options, columns, (args, flags) => {
      chosen = { spec, args, flags };
    });
  }
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return undefined;
    throw usage(error, argv);
  }
  return chosen;
}

function isTyped({ path }: CommandSpec, argv: readonly string[]): boolean {
  return path.split(' ').every((word, at) => argv[at] === word);
}

function group(
  program: Command,
  groups: Map<string, Command>,
  name: string,
  columns: number | undefined,
): Command {
  const known = groups.get(name);
  if (known) return known;
  const made = program.command(name);
  made.helpInformation = () => groupHelp(name, columns);
  // Without this, commander treats a group without a command as an error.
  made.action(() => {
    throw new GraphException('USAGE', `graphcred ${name} needs one more word.`, {
      hint: `choose one of: ${pathsOf(leavesOf(name))}; see: graphcred ${name} --help`,
    });
  });
  groups.set(name, made);
  return made;
}

const leavesOf = (group: string) => COMMANDS.filter(({ path }) => path.startsWith(`${group} `));
const pathsOf = (specs: readonly CommandSpec[]) => specs.map(({ path }) => path).join(', ');
function addLeaf(
  command: Command,
  spec: CommandSpec,
  options: readonly OptionSpec[],
  columns: number | undefined,
  choose: (args: string[], flags: Flags) => void,
): void {
  command.helpInformation = () => commandHelp(spec, columns);
  for (const { name: argument, required, variadic } of spec.args ?? []) {
    const shown = `${argument}${variadic ? '...' : ''}`;
    command.addArgument(new Argument(required ? `<${shown}>` : `[${shown}]`));
  }
  for (const option of options) command.addOption(commanderOption(option));
  if (spec.passThrough) command.passThroughOptions();
  command.action(() => {
    const empty = spec.passThrough ? -1 : command.args.indexOf('');
    if (empty >= 0) throw emptyValue((spec.args?.[empty] ?? spec.args?.at(-1))?.name ?? 'word');
    choose(command.args, flagsOf(command, spec));
  });
}

function commanderOption(spec: OptionSpec): Option {
  const short = spec.short ? `-${spec.short}, ` : '';
  const option = new Option(`${short}--${spec.name}${spec.value ? ` <${spec.value}>` : ''}`, spec.help);
  if (spec.choices) option.choices([...spec.choices]);
  if (spec.repeat)
    option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
  // For commander `--no-input` would be the opposite of `--input`, but here it is a switch.
  option.negate = false;
  return option;
}

function flagsOf(command: Command, spec: CommandSpec): Flags {
  const values = command.opts<Record<string, string | true | string[] | undefined>>();
  const flags: Record<string, string | true | string[] | undefined> = {};
  for (const option of command.options) {
    const known = spec.options.find(({ name }) => `--${name}` === option.long);
    const value = values[option.attributeName()];
    if (!known || value === undefined) continue;
    if (value === '' && known.name !== 'data')
      throw emptyValue(`--${known.name}`, `give a ${known.value}, or leave --${known.name} out`);
    flags[known.name] = value;
  }
  return flags;
}

/** `-p "$UNSET"` must not make a command act on the default profile. */
function emptyValue(name: string, mend = 'give one'): GraphException {
  return new GraphException('USAGE', `The value of ${name} is empty.`, {
    hint: `${mend}; is a variable of the script not set?`,
  });
}

/** Turns commander's error into a USAGE error without the typed value, which may be a credential. */
function usage(error: CommanderError, argv: readonly string[]): GraphException {
  const hint = `see: graphcred ${commandWords(argv)}--help`;
  const group = argv[0] !== undefined && Object.hasOwn(GROUPS, argv[0]) ? argv[0] : undefined;
  // For commander a group is a command, so it reports the words after an unknown command as excess arguments.
  if (group !== undefined && /^[^-]/.test(argv[1] ?? '') && !COMMANDS.some((spec) => isTyped(spec, argv))) {
    return unknownCommand(argv.slice(0, 2), `choose one of: ${pathsOf(leavesOf(group))}`);
  }
  switch (error.code) {
    case 'commander.unknownCommand':
      return unknownCommand(argv, hint);
    case 'commander.unknownOption': {
      const flag = flagName(error.message);
      const typed = COMMANDS.find((spec) => isTyped(spec, argv));
      if (typed && isSwitch(typed, flag))
        return new GraphException('USAGE', `The option ${flag} takes no value.`, { hint });
      if (flag === '--json')
        return new GraphException('USAGE', 'There is no option --json here.', {
          hint: `for JSON: -o json; ${hint}`,
        });
      // commander suggests nothing for a flag with a value attached, such as `--lifetme=15m`.
      const near =
        /\(Did you mean (?:one of )?([^?]+)\?\)/.exec(error.message)?.[1] ??
        nearestFlag(flag, typed ?? { options: SHARED });
      const did = near ? `did you mean ${near}? ` : '';
      return new GraphException('USAGE', `There is no option ${flag} here.`, { hint: `${did}${hint}` });
    }
    case 'commander.optionMissingArgument':
      return new GraphException('USAGE', `The option ${flagName(error.message)} needs a value.`, { hint });
    case 'commander.missingArgument': {
      const name = /argument '([^']+)'/.exec(error.message)?.[1] ?? 'a word';
      return new GraphException('USAGE', `The ${name} is missing.`, { hint });
    }
    case 'commander.excessArguments':
      return new GraphException('USAGE', 'There are more words than this command takes.', {
        hint: argv[0] === 'login' ? `to name the profile: graphcred login -p NAME; ${hint}` : hint,
      });
    case 'commander.invalidArgument': {
      const choices = /Allowed choices are (.+)\.$/.exec(error.message)?.[1];
      const message = `${flagName(error.message)} does not take this value.`;
      return new GraphException('USAGE', message, { hint: choices ? `choose one of: ${choices}` : hint });
    }
    default:
      return new GraphException('USAGE', 'A command is missing.', { hint: 'see: graphcred --help' });
  }
}

/** Names the unknown word, unless it may be a credential, and the commands most like it. */
function unknownCommand(argv: readonly string[], hint: string): GraphException {
  const typed = argv.filter((word) => !word.startsWith('-')).slice(0, 2);
  const isTwo = Object.hasOwn(GROUPS, typed[0] ?? '') || isSynonym(typed.join(' '));
  const words = isTwo ? typed : typed.slice(0, 1);
  const shown = words.some(maybeCredential) ? '' : ` "${words.join(' ')}"`;
  const near = nearestCommands(argv);
  const did = near.length === 0 ? '' : ` Did you mean: ${near.join(', ')}`;
  return new GraphException('USAGE', `Unknown command${shown}.${did}`, { hint });
}

function maybeCredential(word: string): boolean {
  return !/^[A-Za-z_-]{1,15}$/.test(word);
}

function isSwitch({ options }: CommandSpec, flag: string): boolean {
  return options.some(({ name, value }) => value === undefined && `--${name}` === flag);
}

/** Returns the long name of the flag that commander complains about, without a value attached to it. */
function flagName(message: string): string {
  return /--[a-z][a-z-]*/.exec(message)?.[0] ?? /'(-[A-Za-z])/.exec(message)?.[1] ?? 'given';
}

function commandWords(argv: readonly string[]): string {
  const typed = argv.slice(0, 2).join(' ');
  const spec = COMMANDS.find(({ path }) => typed === path || argv[0] === path);
  if (spec) return `${spec.path} `;
  return argv[0] !== undefined && Object.hasOwn(GROUPS, argv[0]) ? `${argv[0]} ` : '';
}

/** Prints the help for a topic. For a command, `help token get` is the same as `token get --help`. */
async function helpFor(ctx: Context, words: readonly string[], version: string): Promise<undefined> {
  const { TOPICS, topicText } = await import('./help-topics.js');
  const [name = ''] = words;
  if (name === 'help') return void parse(ctx, ['--help'], version);
  if (Object.hasOwn(TOPICS, name)) {
    ctx.stdout.write(topicText(name, ctx.stdout.columns));
    return;
  }
  const topic = words.join(' ');
  if (!COMMANDS.some(({ path }) => path === topic || path.startsWith(`${topic} `))) {
    const near = nearestCommands(words).map((one) => `graphcred help ${one}`);
    throw new GraphException('USAGE', 'There is no help of this name.', {
      hint: `${near.length === 0 ? '' : `did you mean: ${near.join(', ')}? `}a command, or one of: ${Object.keys(TOPICS).join(', ')}; see: graphcred --help`,
    });
  }
  parse(ctx, [...words, '--help'], version);
}
