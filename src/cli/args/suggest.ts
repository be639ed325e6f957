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
  const typed = words.filter((word) => !word.startsWith('-')).map((word) => word.toLowerCase());
  const [first = '', second = ''] = typed;
  return [...new Set(nearest(first, second))].slice(0, 3);
}

function nearest(first: string, second: string): string[] {
  const other = [`${first} ${second}`, first].find(isSynonym);
  if (other !== undefined) return [SYNONYMS[other] as string];
  const paths = [...COMMANDS.map(({ path }) => path), 'help'];
  // After a group the second word is part of the command; otherwise it may be an argument.
  const inGroup = Object.hasOwn(GROUPS, first) && second !== '';
  const typed = inGroup ? [`${first} ${second}`] : [`${first} ${second}`, `${second} ${first}`];
  const found = closest(
    paths.map((path) => {
      const leaf = path.split(' ').at(-1) as string;
      return {
        path,
        editDistance: Math.min(
          ...typed.map((one) => editDistance(one, path)),
          inGroup ? 9 : editDistance(first, leaf),
        ),
      };
    }),
  );
  if (found.length > 0 || inGroup) return found;
  return closest(Object.keys(GROUPS).map((path) => ({ path, editDistance: editDistance(first, path) })));
}

/** Returns the option that is most similar to a flag; undefined when none is. */
export function nearestFlag(flag: string, options: readonly OptionSpec[]): string | undefined {
  const all = options.map(({ name }) => ({
    path: `--${name}`,
    editDistance: editDistance(flag, `--${name}`),
  }));
  return closest(all)[0];
}

function closest(all: readonly { path: string; editDistance: number }[]): string[] {
  const least = Math.min(...all.map((one) => one.editDistance));
  return least > 2 ? [] : all.filter((one) => one.editDistance === least).map(({ path }) => path);
}

/**
 * Counts the letters that are missing, added, wrong or swapped with their neighbour; 9 when the words are not similar.
 */
function editDistance(typed: string, meant: string): number {
  if (Math.abs(typed.length - meant.length) > 2) return 9;
  const rows: number[][] = [Array.from({ length: meant.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= typed.length; row++) {
    const [above = [], twoAbove = []] = [rows[row - 1], rows[row - 2]];
    const line = [row];
    for (let column = 1; column <= meant.length; column++) {
      const same = typed[row - 1] === meant[column - 1];
      const swapped = typed[row - 1] === meant[column - 2] && typed[row - 2] === meant[column - 1];
      line.push(
        Math.min(
          (above[column] ?? 9) + 1,
          (line[column - 1] ?? 9) + 1,
          (above[column - 1] ?? 9) + (same ? 0 : 1),
          swapped ? (twoAbove[column - 2] ?? 9) + 1 : 9,
        ),
      );
    }
    rows.push(line);
  }
  const count = rows.at(-1)?.at(-1) ?? 9;
  return count * 3 > meant.length + 1 ? 9 : count;
}
