import type { Flags } from '../../config/keys.js';
import { findTrustedConfig, loadUserConfig, resolveSettings, settingText } from '../../config/settings.js';
import { isSamePair, targetOf } from '../../config/target.js';
import { maskLogin } from '../../core/redact.js';
import { isSecret } from '../../store/ownership.js';
import { listEntries } from '../../store/records.js';
import type { CommandSpec } from '../command.js';
import { type Context, settingsInput } from '../context.js';
import { COMMANDS, commandOf, GROUPS, leadingOptions } from './catalogue.js';
import { TOPICS } from './help-topics.js';
import { COMMON, type OptionSpec, OUTPUT, optionText, scan } from './options.js';

/** A completion of a word and its description, which may be empty. */
type Candidate = readonly [word: string, description: string];

/** The last word of a line, the options and words before it, and the options that may stand there. */
interface Line {
  readonly ctx: Context;
  readonly before: readonly string[];
  readonly word: string;
  readonly options: readonly OptionSpec[];
}

/** Where a file is expected, or the words belong to another program, the shell offers files. */
const FILES: readonly Candidate[] = [[':file', '']];

/**
 * Prints what the last word could become, one candidate a line, with a tab and a description if it has one, and nothing
 * where any value is possible. It reads the config file and the records of saved secrets, and never asks a server, the keychain or a person.
 */
export async function complete(ctx: Context, words: readonly string[]): Promise<void> {
  // A config file that cannot be read is reported by the commands. A message here would break the line being typed.
  const answer = await answerTo(ctx, words).catch(() => []);
  for (const [word, text] of answer)
    ctx.stdout.write(text === '' ? `${word}\n` : `${word}\t${text.replace(/\p{C}+/gu, ' ')}\n`);
}

async function answerTo(ctx: Context, words: readonly string[]): Promise<readonly Candidate[]> {
  const word = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const rest = before.slice(leadingOptions(before));
  const spec = commandOf(rest);
  const options = spec?.options ?? [...COMMON, OUTPUT];
  const others = scan(before, options).filter((part) => part.options.length === 0 && part.word[0] !== '-');
  const args = others.slice(spec?.path.split(' ').length);
  // The words of another program have begun.
  if (spec?.passThrough && (args.length > 0 || rest.includes('--'))) return FILES;
  const line = { ctx, before, word, options };
  const value = await optionValues(line);
  const answer = value ?? (spec ? await ofCommand(line, spec, args.length) : noCommand(line, rest));
  if (answer === FILES) return answer;
  const fitting = new Map(answer.filter(([one]) => one.startsWith(word)));
  return [...fitting].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Offers command names, and the options that may stand before them. */
function noCommand({ word, before, options }: Line, rest: readonly string[]): readonly Candidate[] {
  if (rest.length === 0 && word.startsWith('-'))
    return [...optionsLeft(options, before), ['--version', 'print the version']];
  const isHelp = rest[0] === 'help';
  const typed = isHelp ? rest.slice(1) : rest;
  const next = COMMANDS.filter(({ path }) => typed.every((one, at) => path.split(' ')[at] === one)).flatMap(
    ({ path, summary }): Candidate[] => {
      const part = path.split(' ')[typed.length];
      return part === undefined ? [] : [[part, GROUPS[part] ?? summary]];
    },
  );
  if (typed.length > 0) return next;
  const topics = Object.entries(TOPICS).map(([name, { title }]): Candidate => [name, title]);
  return [...next, ...(isHelp ? topics : [['help', 'help for a command or a topic'] as const])];
}

async function ofCommand(line: Line, spec: CommandSpec, typed: number): Promise<readonly Candidate[]> {
  const { ctx, before, word, options } = line;
  const { argument = '', choices, passThrough } = spec;
  // Only arguments that the command accepts are offered.
  const most = argument.includes('...') ? Number.POSITIVE_INFINITY : Number(argument !== '');
  if (word.startsWith('-') || typed >= most) return optionsLeft(options, before);
  if (choices) return choices.map((one) => [one, '']);
  // The alias of a new secret, `[alias]`, must not exist yet.
  if (/^<alias/.test(argument)) return savedAliases(ctx, flagsOf(line));
  if (argument === '<name>') return profileNames(ctx, 'own');
  return passThrough || argument === '[file]' ? FILES : [];
}

/** Returns the candidates for an option's value; undefined when the last word is not such a value. */
async function optionValues(line: Line): Promise<readonly Candidate[] | undefined> {
  const { ctx, before, word, options } = line;
  const [glued = ''] = /^--[^=]*=/.exec(word) ?? [];
  const last = scan(glued === '' ? before : [glued], options)
    .at(-1)
    ?.options.at(-1);
  if (last?.option.value === undefined || (glued === '' && last.value !== undefined))
    return glued === '' ? undefined : [];
  const { name, value, choices = [] } = last.option;
  if (value === 'file') return FILES;
  let found = choices.map((one): Candidate => [one, '']);
  const flags = flagsOf(line);
  if (name === 'secret-alias') found = await savedAliases(ctx, flags);
  if (name === 'profile') found = await profileNames(ctx, flags.config as string | undefined);
  return found.map(([one, text]) => [`${glued}${one}`, text]);
}

/** Reads the options with a value that are typed already. */
function flagsOf({ before, options }: Line): Flags {
  const typed = scan(before, options).flatMap((part) => part.options);
  return Object.fromEntries(typed.map(({ option, value }) => [option.name, value]));
}

function optionsLeft(options: readonly OptionSpec[], before: readonly string[]): Candidate[] {
  const open = options.filter(({ name, repeat }) => repeat || !before.includes(`--${name}`));
  return [...open.map((one): Candidate => [`--${one.name}`, optionText(one)]), ['--help', 'show help']];
}

/** Describes what stands at an address and in a graph. */
function described(address: unknown, graph: unknown): string {
  return [address, graph && `graph ${graph}`].filter(Boolean).join(', ');
}

/** Aliases with characters that a shell interprets are not offered. A profile's name never has any. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9_.@-]*$/;

/**
 * Lists the names of profiles.
 * @param config the file that was typed; `own` for commands that use only the user's own file
 */
async function profileNames(ctx: Context, config: string | undefined): Promise<Candidate[]> {
  const input = settingsInput({ ctx, flags: { config } });
  // Names are offered only from a trusted file: an untrusted one would be refused when the command runs.
  const file = config === 'own' ? await loadUserConfig(input) : (await findTrustedConfig(input)).file;
  return [...(file?.config.profiles ?? [])].map(([name, { host, gsqlUrl, restUrl, graph }]) => [
    name,
    described(maskLogin(String(gsqlUrl ?? host ?? restUrl ?? '')), graph),
  ]);
}

/** Lists the secrets that are saved for the database and user in force. */
async function savedAliases(ctx: Context, flags: Flags): Promise<Candidate[]> {
  const input = settingsInput({ ctx, flags });
  const settings = resolveSettings(input, (await findTrustedConfig(input)).file);
  const username = settingText(settings, 'username');
  const target = targetOf(settings);
  const isOfUser = (owner: unknown) => [owner, username].includes(undefined) || owner === username;
  return listEntries(input.stateDir)
    .filter(isSecret)
    .filter(({ record: { info } }) => isSamePair(info, target) && isOfUser(info.username))
    .map(({ record: { info } }): Candidate => [info.alias ?? '', described(info.gsqlUrl, info.graph)])
    .filter(([alias]) => PLAIN.test(alias));
}
