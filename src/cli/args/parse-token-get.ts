import type { CommandSpec, Flags } from '../command.js';
import { ALL_GRAPHS, COMMON, LIFETIME, MIN_TTL, TOKEN_GET_OUTPUT } from './options.js';

export interface Parsed {
  readonly args: readonly string[];
  readonly flags: Flags;
}

/**
 * Hot path: reads flags without loading commander. It handles only input with one possible reading: full option names,
 * one short option a word, and values that do not begin with a dash. For anything else it returns undefined, and
 * commander parses the line and writes the error messages.
 */
export function parseTokenGet(spec: CommandSpec, argv: readonly string[]): Parsed | undefined {
  const flags: Record<string, string | true> = {};
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] as string;
    const equals = word.startsWith('--') ? word.indexOf('=') : -1;
    const typed = equals === -1 ? word : word.slice(0, equals);
    const option = spec.options.find(
      ({ name, short }) => typed === `--${name}` || (short && typed === `-${short}`),
    );
    if (!option) return undefined;
    if (option.value === undefined) {
      if (equals !== -1) return undefined;
      flags[option.name] = true;
      continue;
    }
    const value = equals === -1 ? argv[++at] : word.slice(equals + 1);
    if (!value || (equals === -1 && value.startsWith('-'))) return undefined;
    if (option.choices && !option.choices.includes(value)) return undefined;
    flags[option.name] = value;
  }
  return { args: [], flags };
}

/**
 * This table has its own file, because `token get` is called in loops and must not load the table of all other
 * commands.
 */
export const TOKEN_GET: CommandSpec = {
  path: 'token get',
  summary: 'print a token: a held one while it lives, else a new one',
  examples: [
    'graphcred token get -o header | curl -H @- http://127.0.0.1:9000/echo',
    'graphcred token get -p prod --lifetime 15m -o json',
  ],
  notes:
    'Without a held token it needs a secret, or user name and password, and keeps the new token in the store.',
  options: [
    ...COMMON,
    ...TOKEN_GET_OUTPUT,
    LIFETIME,
    MIN_TTL,
    ALL_GRAPHS,
    { name: 'fresh', help: 'a token minted after this call began, never an older one' },
  ],
  load: () => import('../commands/token/get.js'),
};
