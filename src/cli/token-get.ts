import type { CommandSpec } from './commands.js';
import { COMMON, LIFETIME, MIN_TTL, TOKEN_OUTPUT } from './options.js';

/** Apart from the table of all others, which would be loaded with it: this command stands in loops. */
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
    ...TOKEN_OUTPUT,
    LIFETIME,
    MIN_TTL,
    { name: 'fresh', help: 'a token minted after this call began, never an older one' },
  ],
  load: () => import('./commands/token/get.js'),
};
