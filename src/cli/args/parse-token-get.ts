import type { Chosen, CommandSpec } from '../command.js';
import { ALL_GRAPHS, COMMON, LIFETIME, MIN_TTL, option, scan, TOKEN_GET_OUTPUT } from './options.js';

/** Hot path: reads `token get` without commander if it has one reading. Undefined: commander parses and reports it. */
export function parseTokenGet([group, command, ...argv]: readonly string[]): Chosen | undefined {
  if (group !== 'token' || command !== 'get') return undefined;
  const flags: Record<string, string | true> = {};
  for (const { option, value, isGlued } of scan(argv, TOKEN_GET.options)) {
    if (option === undefined || (option.value === undefined) !== (value === undefined)) return undefined;
    const isWrong = value === '' || (value?.startsWith('-') && !isGlued);
    if (isWrong || (value && option.choices?.includes(value) === false)) return undefined;
    flags[option.name] = value ?? true;
  }
  return { spec: TOKEN_GET, args: [], flags };
}

/** Stands alone, because `token get` is called in loops and must not load the table of all other commands. */
export const TOKEN_GET: CommandSpec = {
  path: 'token get',
  summary: 'print a token: the cached one while it is valid, else a new one',
  examples: [
    'graphcred token get -o header | curl -H @- http://127.0.0.1:9000/echo',
    'graphcred token get -p prod --lifetime 15m -o json',
  ],
  notes:
    'Without a cached token it needs a secret, or user name and password, and keeps the new token in the store.',
  options: [
    ...COMMON,
    ...TOKEN_GET_OUTPUT,
    LIFETIME,
    MIN_TTL,
    ALL_GRAPHS,
    option('--fresh', 'a new token, not one made before this call began'),
  ],
  load: async () => (await import('../print-token.js')).get,
};
