import { Command, CommanderError, Option } from 'commander';
import type { Flags } from '../../config/keys.js';
import { GraphException, usageError } from '../../core/errors.js';
import type { Chosen, CommandSpec } from '../command.js';
import type { Context } from '../context.js';
import { COMMANDS, commandOf, GROUPS, withoutShortForms } from './catalogue.js';
import { commandHelp, groupHelp, programHelp } from './help-text.js';
import { type OptionSpec, option, SHARED, scan } from './options.js';
import { isSynonym, nearestCommands, nearestFlag } from './suggest.js';

/**
 * Finds the command in the catalogue, and reads its words with commander. Returns undefined when help or the version was
 * printed instead.
 * @throws GraphException USAGE, without a typed value, which may be a credential
 */
export async function parseCommandLine(
  ctx: Context,
  typed: readonly string[],
  version: string,
): Promise<Chosen | undefined> {
  const argv = withoutShortForms(typed);
  const spec = commandOf(argv);
  if (argv[0] === 'help') ctx.stdout.write(await helpOn(argv.slice(1), ctx.stdout.columns));
  else if (spec) return parse(ctx, spec, argv.slice(spec.path.split(' ').length));
  else ctx.stdout.write(withoutCommand(argv, version, ctx.stdout.columns));
  return undefined;
}

function parse(ctx: Context, spec: CommandSpec, words: readonly string[]): Chosen | undefined {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  for (const option of spec.options) command.addOption(commanderOption(option));
  if (spec.passThrough) command.passThroughOptions();
  const hint = `see: graphcred ${spec.path} --help`;
  const { operands: args, unknown: notOurs } = parseOptions(command, withoutEquals(words, spec), spec, hint);
  if (asksForHelp(notOurs)) {
    ctx.stdout.write(commandHelp(spec, ctx.stdout.columns));
    return undefined;
  }
  if (notOurs[0] !== undefined) throw unknownOption(notOurs[0], spec.options, hint);
  const [, bracket, argument, dots] = /^([<[])(\w+)(\.{3})?/.exec(spec.argument ?? '') ?? [];
  if (bracket === '<' && args.length === 0)
    throw new GraphException('USAGE', `The ${argument} is missing.`, { hint });
  if (args.length > (argument === undefined ? 0 : 1) && dots === undefined)
    throw tooManyWords(spec, args, hint);
  if (spec.passThrough ? args[0] === '' : args.includes('')) throw emptyValue(`${argument}`);
  if (spec.choices?.includes(args[0] as string) === false)
    throw new GraphException('USAGE', unknown(`${argument}`, args), {
      hint: `choose one of: ${spec.choices.join(', ')}`,
    });
  const flags = command.opts<Flags>();
  for (const { name, value } of spec.options)
    if (flags[name] === '' && name !== 'data')
      throw emptyValue(`--${name}`, `give a ${value}, or leave --${name} out`);
  return { spec, args, flags };
}

/** Makes two words of `-p=prod`: commander would take `=prod` for the value, unlike kubectl and gh. */
function withoutEquals(words: readonly string[], { options, passThrough }: CommandSpec): readonly string[] {
  let areOurs = true;
  return scan(words, options).flatMap(({ at, word, words: count, options: typed }) => {
    if (typed.length === 0) areOurs &&= word !== '--' && !passThrough;
    const before = `-${typed.map(({ option }) => option.short).join('')}`;
    const isJoined = areOurs && typed.length > 0 && word.startsWith(`${before}=`);
    return isJoined ? [before, word.slice(before.length + 1)] : words.slice(at, at + count);
  });
}

function parseOptions(command: Command, words: readonly string[], spec: CommandSpec, hint: string) {
  try {
    return command.parseOptions([...words]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // The only error of commander's own is that the last word is an option without its value.
    const needy = scan(words.slice(-1), spec.options)[0]?.options.at(-1)?.option;
    throw new GraphException('USAGE', `The option --${needy?.name} needs a value.`, { hint });
  }
}

function commanderOption({ flags, name, choices, repeat }: OptionSpec): Option {
  const option = new Option(flags);
  option.argParser<string | string[]>((typed, before = []) => {
    if (choices?.includes(typed) === false)
      throw usageError(`--${name} does not take this value.`, `choose one of: ${choices.join(', ')}`);
    return repeat ? [...before, typed] : typed;
  });
  // For commander `--no-input` would be the opposite of `--input`, but here it is a switch.
  option.negate = false;
  // For commander the option `--no-input` is `input`, and `--rest-port` is `restPort`.
  option.attributeName = () => name;
  return option;
}

function tooManyWords({ path }: CommandSpec, [word = '']: readonly string[], hint: string): GraphException {
  const profile = maybeCredential(word) ? 'NAME' : word;
  return new GraphException('USAGE', 'There are more words than this command takes.', {
    hint: path === 'login' ? `to name the profile: graphcred login -p ${profile}; ${hint}` : hint,
  });
}

/** `-p "$UNSET"` must not make a command act on the default profile. */
function emptyValue(name: string, mend = 'give one'): GraphException {
  return usageError(`The value of ${name} is empty.`, `${mend}; is a variable of the script not set?`);
}

function unknownOption(word: string, options: readonly OptionSpec[], hint: string): GraphException {
  // What is no name of an option may be a credential.
  const flag = /^(?:--(?:[a-z][a-z-]*)?|-[A-Za-z])/.exec(word)?.[0] ?? 'given';
  if (options.some(({ name, value }) => value === undefined && `--${name}` === flag))
    return new GraphException('USAGE', `The option ${flag} takes no value.`, { hint });
  const near = nearestFlag(flag === '--' ? word.replace(/=.*/s, '').toLowerCase() : flag, options);
  const did = near ? `did you mean ${near}? ` : '';
  return new GraphException('USAGE', `There is no option ${flag} here.`, {
    hint: flag === '--json' ? `for JSON: -o json; ${hint}` : `${did}${hint}`,
  });
}

function asksForHelp(words: readonly string[]): boolean {
  return words.includes('--help') || words.includes('-h');
}

/** Returns the text that a line without a command asks for. @throws GraphException USAGE when it asks for none */
function withoutCommand(argv: readonly string[], version: string, columns: number | undefined): string {
  const [first = '', second = '--'] = argv;
  if (!Object.hasOwn(GROUPS, first)) {
    if (first.startsWith('-') && argv.includes('--version')) return `${version}\n`;
    if (asksForHelp(argv)) return programHelp(columns);
    const hint = 'see: graphcred --help';
    throw first.startsWith('-')
      ? unknownOption(first, [...SHARED, option('--version', '')], hint)
      : unknownCommand(argv, hint);
  }
  if (asksForHelp(argv)) return groupHelp(first, columns);
  const hint = `see: graphcred ${first} --help`;
  const leaves = COMMANDS.filter(({ path }) => path.startsWith(`${first} `)).map(({ path }) => path);
  const choose = `choose one of: ${leaves.join(', ')}`;
  if (second === '--') throw usageError(`graphcred ${first} needs one more word.`, `${choose}; ${hint}`);
  throw second.startsWith('-')
    ? unknownOption(second, SHARED, hint)
    : unknownCommand([first, second], choose);
}

/** Names the unknown word, unless it may be a credential, and the commands most like it. */
function unknownCommand(argv: readonly string[], hint: string): GraphException {
  const typed = argv.filter((word) => !word.startsWith('-')).slice(0, 2);
  const isTwo = Object.hasOwn(GROUPS, typed[0] ?? '') || isSynonym(typed.join(' '));
  const words = isTwo ? typed : typed.slice(0, 1);
  const near = nearestCommands(argv);
  const did = near.length === 0 ? '' : ` Did you mean: ${near.join(', ')}`;
  return new GraphException('USAGE', `${unknown('command', words)}${did}`, { hint });
}

/** Whether a typed word may be a credential, so that no message repeats it. */
function maybeCredential(word: string): boolean {
  return !/^[A-Za-z_-]{1,15}$/.test(word);
}

/** Tells that nothing has this name, which is shown unless it may be a credential. */
function unknown(what: string, words: readonly string[]): string {
  const options = words.findIndex((word) => word.startsWith('-'));
  const name = options === -1 ? words : words.slice(0, options);
  const isShown = name.length > 0 && !name.some(maybeCredential);
  return `Unknown ${what}${isShown ? ` "${name.join(' ')}"` : ''}.`;
}

/** Returns the help for a topic. For a command, `help token get` is the same as `token get --help`. */
async function helpOn(typed: readonly string[], columns: number | undefined): Promise<string> {
  const { TOPICS, topicText } = await import('./help-topics.js');
  const words = typed.filter((word) => !['help', '-h', '--help'].includes(word));
  const [name] = words;
  if (name === undefined) return programHelp(columns);
  if (Object.hasOwn(TOPICS, name)) return topicText(name, columns);
  const spec = COMMANDS.find(({ path }) => path === words.join(' '));
  if (spec) return commandHelp(spec, columns);
  if (words.length === 1 && Object.hasOwn(GROUPS, name)) return groupHelp(name, columns);
  const near = nearestCommands(words).map((one) => `graphcred help ${one}`);
  throw new GraphException('USAGE', unknown('help topic', words), {
    hint: `${near.length === 0 ? '' : `did you mean: ${near.join(', ')}? `}name a command, or one of: ${Object.keys(TOPICS).join(', ')}; see: graphcred --help`,
  });
}
