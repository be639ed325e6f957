import { GraphException } from '../../core/errors.js';
import { GROUPS } from './catalogue.js';
import { optionsAt, SHARED } from './options.js';

/**
 * Moves options that stand before the command behind it, where every command expects them. If one of them is not a
 * shared option, the line is left unchanged, and the parser reports the error.
 * @throws GraphException USAGE when no command follows
 */
export function commandFirst(argv: readonly string[]): readonly string[] {
  const at = leadingOptions(argv);
  if (at === 0) return argv;
  const rest = argv.slice(at);
  const [first] = rest;
  if (first === undefined)
    throw new GraphException('USAGE', 'A command is missing.', { hint: 'see: graphcred --help' });
  const words = Object.hasOwn(GROUPS, first) ? 2 : 1;
  // Help and a group without a command have no options.
  if (first === 'help' || rest.length < words) return rest;
  return [...rest.slice(0, words), ...argv.slice(0, at), ...rest.slice(words)];
}

/** Counts the words at the beginning that are shared options and their values; 0 when another option is among them. */
export function leadingOptions(argv: readonly string[]): number {
  let at = 0;
  while (argv[at]?.startsWith('-')) {
    const typed = optionsAt(argv, at, SHARED);
    if (typed === undefined) return 0;
    at += typed.words;
  }
  return at;
}
