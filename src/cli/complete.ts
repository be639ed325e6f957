import { findConfig } from '../config/find.js';
import { parseConfig } from '../config/parse.js';
import { listEntries } from '../store/records.js';
import type { Call } from './call.js';
import { COMMANDS, type CommandSpec, GROUPS } from './commands.js';
import type { Context } from './context.js';
import type { OptionSpec } from './options.js';
import { placesOf } from './session.js';

/** Whatever a shell might read as more than a word is not offered to it. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9_.@-]*$/;

/** Said in place of candidates where the shell should offer its files. No candidate can be this: see PLAIN. */
const A_FILE = [':file'];

/**
 * What the last of the words could become, one candidate a line; `:file` where a file is meant; nothing where a free
 * value is.
 * Reads the config file and the records of saved secrets; never asks a server, the keychain or a person.
 */
export async function complete(ctx: Context, words: readonly string[]): Promise<void> {
  let found: readonly string[] = [];
  try {
    // bash cuts `--output=json` into three words.
    const last = words.at(-1) ?? '';
    const before = words.slice(0, -1).filter((word) => word !== '=');
    found = await candidates(ctx, before, last === '=' ? '' : last);
  } catch {
    // A config file that cannot be read is told by the commands; here it would only spoil the line being typed.
  }
  for (const word of found) ctx.stdout.write(`${word}\n`);
}

async function candidates(ctx: Context, before: readonly string[], word: string): Promise<string[]> {
  const begins = (options: Iterable<string>) =>
    [...new Set(options)].filter((one) => one.startsWith(word)).sort();
  if (before.includes('--')) return A_FILE;
  const spec = COMMANDS.find(({ path }) => path.split(' ').every((part, at) => before[at] === part));
  if (spec === undefined) return begins(namesAfter(before));
  const [name, value] = split(word);
  if (value !== undefined) {
    const named = optionNamed(spec, name);
    if (named?.value === 'file') return A_FILE;
    return begins((await valuesOf(ctx, spec, before, named)).map((one) => `${name}=${one}`));
  }
  const option = optionNamed(spec, before.at(-1) ?? '');
  if (option?.value === 'file') return A_FILE;
  if (option?.value !== undefined) return begins(await valuesOf(ctx, spec, before, option));
  const [argument] = spec.args ?? [];
  if (word.startsWith('-') || argument === undefined) {
    const open = spec.options.filter((one) => one.repeat || !before.includes(`--${one.name}`));
    return begins([...open.map((one) => `--${one.name}`), '--help']);
  }
  if (argument.choices) return begins(argument.choices);
  if (argument.name === 'alias') return begins(savedAliases(ctx, spec));
  return argument.name === 'path' ? [] : A_FILE;
}

/** The words that make up commands. */
function namesAfter(before: readonly string[]): string[] {
  const typed = before[0] === 'help' ? before.slice(1) : before;
  const next = COMMANDS.map(({ path }) => path.split(' '))
    .filter((parts) => typed.every((word, at) => parts[at] === word))
    .flatMap((parts) => parts[typed.length] ?? []);
  return before.length === 0 ? [...next, ...Object.keys(GROUPS), 'help'] : next;
}

function split(word: string): [string, string | undefined] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

function optionNamed(spec: CommandSpec, word: string): OptionSpec | undefined {
  return spec.options.find(({ name, short }) => word === `--${name}` || (short && word === `-${short}`));
}

async function valuesOf(
  ctx: Context,
  spec: CommandSpec,
  before: readonly string[],
  option: OptionSpec | undefined,
): Promise<readonly string[]> {
  if (option?.name === 'profile') return profiles(ctx, spec, before);
  return option?.choices ?? [];
}

async function profiles(ctx: Context, spec: CommandSpec, before: readonly string[]): Promise<string[]> {
  const at = before.lastIndexOf('--config');
  const named = (at === -1 ? undefined : before[at + 1]) ?? (ctx.env.GRAPHCRED_CONFIG || undefined);
  const { cwd, home } = ctx;
  const location = findConfig({ named, cwd, home, configDir: places(ctx, spec).configDir });
  if (location === undefined) return [];
  const text = process.getBuiltinModule('node:fs').readFileSync(location.path, 'utf8');
  const config = await parseConfig(location.path, text);
  return [...config.profiles.keys()].filter((name) => PLAIN.test(name));
}

function savedAliases(ctx: Context, spec: CommandSpec): string[] {
  return listEntries(places(ctx, spec).stateDir, () => {})
    .filter(({ record }) => record.kind === 'secret')
    .map(({ record }) => String(record.info.alias))
    .filter((alias) => PLAIN.test(alias));
}

function places(ctx: Context, spec: CommandSpec) {
  return placesOf({ ctx, spec, args: [], flags: {} } as unknown as Call);
}
