import { findOwnConfig, findTrustedConfig } from '../../config/find.js';
import type { Flags } from '../../config/keys.js';
import { resolveSettings, settingText } from '../../config/settings.js';
import { targetOf } from '../../config/target.js';
import { isSamePair } from '../../core/endpoints.js';
import { isSecret } from '../../store/ownership.js';
import { listEntries } from '../../store/records.js';
import { type Context, settingsInput } from '../context.js';
import { COMMANDS, commandFirst, commandOf, GROUPS } from './catalogue.js';
import { optionText, SHARED, scan } from './options.js';

type Candidate = readonly [word: string, description: string];

/** Stands for the files that the shell offers: where one is expected, or the words belong to another program. */
const FILES: readonly Candidate[] = [];

/** Prints one candidate a line: word, tab, description. None if any value fits. Asks no server, keychain or person. */
export async function complete(ctx: Context, words: readonly string[]): Promise<void> {
  const [, glued = '', word = ''] = /^(--[a-z-]+=)?(.*)$/s.exec(words.at(-1) ?? '') ?? [];
  const before = [...words.slice(0, -1), ...(glued ? [glued.slice(0, -1)] : [])];
  // A config file that cannot be read is reported by the commands. A message here would break the line being typed.
  const answer = await suggest(ctx, before, word).catch(() => []);
  if (answer === FILES) return ctx.stdout.write(':file\n');
  const fitting = answer.filter(([one]) => one.startsWith(word) && !(glued && one.startsWith('-')));
  for (const [one, text] of [...new Map(fitting)].sort(([a], [b]) => (a < b ? -1 : 1)))
    ctx.stdout.write(`${glued}${one}${text && `\t${text}`}\n`);
}

async function suggest(ctx: Context, before: readonly string[], word: string): Promise<readonly Candidate[]> {
  const line = commandFirst(before);
  const spec = commandOf(line);
  const options = spec?.options ?? SHARED;
  const parts = scan(line, options);
  const words = parts.flatMap((part) => (part.option ? [] : [part.word]));
  const args = words.filter((one) => !one.startsWith('-')).slice(spec?.path.split(' ').length);
  if (spec?.passThrough && (args.length > 0 || line.includes('--'))) return FILES;
  const known = parts.flatMap(({ option, value }) => (option ? [[option.name, value] as const] : []));
  const flags = Object.fromEntries(known);
  const isOption = word.startsWith('-');
  const last = parts.at(-1);
  if (last?.option?.value && last.value === undefined)
    return candidates(ctx, last.option.flags, flags, last.option.choices);
  if (!spec && (words.length > 0 || !isOption)) return commandNames(words);
  if (spec?.argument && !isOption && (args.length === 0 || spec.argument.includes('...')))
    return candidates(ctx, spec.argument, flags, spec.choices);
  const open = options.filter((one) => one.repeat || parts.every(({ option }) => option !== one));
  return [...open.map((one): Candidate => [`--${one.name}`, optionText(one)]), ['--help', 'show help']];
}

function commandNames(words: readonly string[]): readonly Candidate[] {
  const typed = words[0] === 'help' ? words.slice(1) : words;
  const above = typed.map((one) => `${one} `).join('');
  const next = COMMANDS.filter(({ path }) => path.startsWith(above)).map(({ path, summary }): Candidate => {
    const [name = ''] = path.slice(above.length).split(' ');
    return [name, GROUPS[name] ?? summary];
  });
  return words.length > 0 ? next : [...next, ['help', 'help for a command or a topic'] as const];
}

/** Returns what an option or an argument can be. @param what how help writes it: `--config <file>`, `<alias...>` */
async function candidates(ctx: Context, what: string, flags: Flags, choices: readonly string[] = []) {
  const words = (all: Iterable<string> = []) => [...all].map((one): Candidate => [one, '']);
  const input = settingsInput({ ctx, flags });
  // The alias of a new secret, `[alias]`, must not exist yet.
  if (/^<alias|--secret-alias/.test(what)) return words(await savedAliases(input));
  if (what === '<name>') return words((await findOwnConfig(input)).file?.config.profiles.keys());
  // Names are offered only from a trusted file: an untrusted one would be refused when the command runs.
  if (what.includes('--profile')) return words((await findTrustedConfig(input)).file?.config.profiles.keys());
  return /[<[](?:file|command)/i.test(what) ? FILES : words(choices);
}

/** Aliases with characters that a shell interprets are not offered. A profile's name never has any. */
const PLAIN_WORD = /^[A-Za-z0-9_][A-Za-z0-9_.@-]*$/;

async function savedAliases(input: ReturnType<typeof settingsInput>): Promise<string[]> {
  const settings = resolveSettings(input, (await findTrustedConfig(input)).file);
  const username = settingText(settings, 'username');
  const target = targetOf(settings);
  const isOfUser = (owner: unknown) => [owner, username].includes(undefined) || owner === username;
  return listEntries(input.stateDir)
    .filter(isSecret)
    .filter(({ record: { info } }) => isSamePair(info, target) && isOfUser(info.username))
    .map(({ record: { info } }) => info.alias ?? '')
    .filter((alias) => PLAIN_WORD.test(alias));
}
