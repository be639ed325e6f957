import { GraphException } from '../core/errors.js';

const CREDENTIAL_FLAG = /^--(password|secret|token)(=|$)/;
const LOOKS_LIKE_A_SECRET = /^[a-z0-9]{32}$/;

/**
 * Refuses a credential among the arguments before anything else looks at them: every user of the machine
 * can read a command line, and it stays in the shell's history. The value is never repeated.
 * `sandbox` takes `--secret` for secrets it makes up itself.
 */
export function refuseCredentials(argv: readonly string[]): void {
  if (argv[0] === 'sandbox') return;
  const dashes = argv.indexOf('--');
  const end = dashes === -1 ? argv.length : dashes;
  // Behind `--` stand no options; but of `exec` alone they are another program's words.
  const own = argv[0] === 'exec' ? argv.slice(0, end) : argv;
  for (const [at, word] of own.entries()) {
    const match = at < end && word.startsWith('--') && CREDENTIAL_FLAG.exec(word);
    if (match) {
      const name = match[1];
      const file = name === 'token' ? '' : `, --${name}-file FILE or GRAPHCRED_${name?.toUpperCase()}`;
      throw new GraphException('USAGE', `--${name} is refused: other users can read a command line.`, {
        hint: `use --${name}-stdin${file}; change the ${name} if it was a real one`,
      });
    }
    if (word.length === 32 && LOOKS_LIKE_A_SECRET.test(word)) {
      throw new GraphException(
        'USAGE',
        'One of the arguments looks like a secret; a command line is no place for one.',
        {
          hint: 'name a secret by its alias: graphcred secret list',
        },
      );
    }
  }
}
