import { COMMANDS, GROUPS } from './catalogue.js';
import type { OptionSpec } from './options.js';

/** Maps names from other tools to our commands. */
const SYNONYMS: Readonly<Record<string, string>> = {
  'auth login': 'login',
  'auth logout': 'logout',
  'auth status': 'status',
  'auth token': 'token get',
  'secret add': 'secret create',
  'secret delete': 'secret drop',
  'secret new': 'secret create',
  'secret remove': 'secret drop',
  'token create': 'token get',
  'token drop': 'token delete',
  'token mint': 'token get',
  'token new': 'token get',
  'token renew': 'token refresh',
  'token revoke': 'token delete',
  'token verify': 'token check',
  revoke: 'token delete',
  run: 'exec',
  version: '--version',
  whoami: 'status',
};

/** Whether these words are a command of another tool. */
export function isSynonym(words: string): boolean {
  return Object.hasOwn(SYNONYMS, words);
}

/** Returns at most three commands similar to the unknown words. */
export function nearestCommands(words: readonly string[]): string[] {
  const lower = words.filter((word) => !word.startsWith('-')).map((word) => word.toLowerCase());
  const [first = '', second = ''] = lower;
  const other = [`${first} ${second}`, first].find(isSynonym);
  if (other !== undefined) return [SYNONYMS[other] as string];
  const paths = [...COMMANDS.map(({ path }) => path), 'help'];
  // After a group the second word is part of the command; otherwise it may be an argument.
  const inGroup = Object.hasOwn(GROUPS, first) && second !== '';
  const typed = inGroup ? [`${first} ${second}`] : [`${first} ${second}`, `${second} ${first}`];
  const found = closest(paths, (path) => {
    const leaf = path.split(' ').at(-1) as string;
    const wanted = typed.map((one) => editDistance(one, path));
    return Math.min(...wanted, inGroup ? 9 : editDistance(first, leaf));
  });
  if (found.length > 0 || inGroup) return found;
  return closest(Object.keys(GROUPS), (group) => editDistance(first, group));
}

/** Returns the option that is most similar to a flag; undefined when none is. */
export function nearestFlag(flag: string, options: readonly OptionSpec[]): string | undefined {
  // The dashes are left out, because with them any two short names are similar.
  const typed = flag.replace(/^-+/, '');
  const names = options.map(({ name }) => name);
  const [near] = closest(names, (name) => editDistance(typed, name));
  return near && `--${near}`;
}

function closest(names: readonly string[], distanceTo: (name: string) => number): string[] {
  const least = Math.min(...names.map(distanceTo));
  return least > 2 ? [] : names.filter((name) => distanceTo(name) === least).slice(0, 3);
}

/** Counts the letters that are missing, added, wrong or swapped; 9 when the words are not similar. */
function editDistance(typed: string, meant: string): number {
  const count = [0, 1, 2].find((edits) => areWithin(edits, typed, meant)) ?? 9;
  return count * 3 > meant.length + 1 ? 9 : count;
}

/** Whether so many edits make one text of the other. */
function areWithin(edits: number, one: string, other: string): boolean {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const rest = (skipped: number, skippedOfOther: number) =>
    areWithin(edits - 1, one.slice(at + skipped), other.slice(at + skippedOfOther));
  if (at === one.length || at === other.length) return Math.abs(one.length - other.length) <= edits;
  if (edits === 0) return false;
  const isSwapped = one[at] === other[at + 1] && one[at + 1] === other[at];
  return rest(1, 0) || rest(0, 1) || rest(1, 1) || (isSwapped && rest(2, 2));
}
