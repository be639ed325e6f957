import type { Flags, LoadedFile } from '../../config/keys.js';
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
  const line = before.slice(leadingOptions(before));
  const spec = commandOf(line);
  const options = spec?.options ?? [...COMMON, OUTPUT];
  const parts = scan(before, options);
  const others = parts.filter((part) => part.option === undefined && part.word[0] !== '-');
  const args = others.slice(spec?.path.split(' ').length);
  // The words of another program have begun.
  if (spec?.passThrough && (args.length > 0 || line.includes('--'))) return FILES;
  const known = parts.flatMap(({ option, value }) => (option ? [[option.name, value] as const] : []));
  const flags = Object.fromEntries(known);
  const isOption = word.startsWith('-');
  const last = parts.at(-1);
  let answer: readonly Candidate[];
  if (last?.option?.value && last.value === undefined) answer = await valuesOf(ctx, last.option, flags);
  else if (!spec && (line.length > 0 || !isOption)) answer = commandNames(line);
  else if (spec?.argument && !isOption && (args.length === 0 || spec.argument.includes('...')))
    answer = await argumentsOf(ctx, spec, flags);
  else {
    const open = options.filter((one) => one.repeat || parts.every(({ option }) => option !== one));
    answer = [...open.map((one): Candidate => [`--${one.name}`, optionText(one)]), ['--help', 'show help']];
    if (!spec) answer = [...answer, ['--version', 'print the version']];
  }
  if (answer === FILES) return answer;
  const fitting = new Map(answer.filter(([one]) => one.startsWith(word)));
  return [...fitting].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Offers command names, and after `help` topics too. */
function commandNames(line: readonly string[]): readonly Candidate[] {
  const isHelp = line[0] === 'help';
  const typed = isHelp ? line.slice(1) : line;
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

async function argumentsOf(ctx: Context, spec: CommandSpec, flags: Flags): Promise<readonly Candidate[]> {
  const { argument = '', choices = [], passThrough } = spec;
  // The alias of a new secret, `[alias]`, must not exist yet.
  if (argument.startsWith('<alias')) return savedAliases(ctx, flags);
  if (argument === '<name>') return profileNames(await loadUserConfig(settingsInput({ ctx, flags: {} })));
  return passThrough || argument === '[file]' ? FILES : choices.map((one) => [one, '']);
}

async function valuesOf(ctx: Context, option: OptionSpec, flags: Flags): Promise<readonly Candidate[]> {
  const { name, value, choices = [] } = option;
  if (name === 'secret-alias') return savedAliases(ctx, flags);
  // Names are offered only from a trusted file: an untrusted one would be refused when the command runs.
  if (name === 'profile') return profileNames((await findTrustedConfig(settingsInput({ ctx, flags }))).file);
  return value === 'file' ? FILES : choices.map((one) => [one, '']);
}

/** Aliases with characters that a shell interprets are not offered. A profile's name never has any. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9_.@-]*$/;

function profileNames(file: LoadedFile | undefined): Candidate[] {
  return [...(file?.config.profiles ?? [])].map(([name, { host, gsqlUrl, restUrl }]) => [
    name,
    maskLogin(String(gsqlUrl ?? host ?? restUrl ?? '')),
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
    .map(({ record: { info } }): Candidate => [info.alias ?? '', info.graph ? `graph ${info.graph}` : ''])
    .filter(([alias]) => PLAIN.test(alias));
}
