import type { Sandbox } from '../../../src/sandbox/server.js';
import type { Result } from '../../helpers/cli.js';

/** Where a printed command ends and the sentence goes on. */
const END = / {2}|[;,)"`]|\. | or | then | prints | says | needs /;
/** Sentences about the program or a group of commands, and a server that runs until it is stopped. */
const NOT_TYPED = /^(does|is|knows|never)\b|^(config|profile|secret|token|sandbox)$/;

/** Returns the commands that an output tells its reader to type; none of a help text. */
export function printedCommands(typed: string, output: string): string[] {
  if (/^(\$ )?graphcred$|\b(help|completion|__complete)\b| -h\b/.test(typed)) return [];
  const found = [...output.matchAll(/\bgraphcred (?=[a-z])(.*?)(?= graphcred |$)/gm)].map(([, text = '']) =>
    (text.split(END)[0] as string).trim(),
  );
  return [...new Set(found)].filter((command) => !NOT_TYPED.test(command));
}

/** Splits a command line into words, as a shell does. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|((?:[^\s']|(?<=\S)'[^']*')+)/g)].map(
    ([, quoted, word]) => quoted ?? word?.replace(/'([^']*)'/g, '$1') ?? '',
  );
}

/** A secret that the copy of the servers has beside those of the session. */
export const OTHER_SECRET = { alias: 'other', value: 'other'.padEnd(32, '0') };

/** Returns the words of a printed command with something in place of `NAME`, `ALIAS` and the like. */
export async function fillIn(
  command: string,
  { username }: Sandbox,
  run: (words: readonly string[]) => Promise<Result>,
): Promise<string[]> {
  const filled: Record<string, string> = { ALIAS: OTHER_SECRET.alias, COMMAND: 'true', USER: username };
  if (/ ID\b/.test(command)) {
    const { stdout } = await run(['token', 'list', '-o', 'json']);
    filled.ID = JSON.parse(stdout).tokens[0].id;
  }
  return wordsOf(command.replace('--username NAME', `--username ${username}`)).map(
    (word) => filled[word] ?? word,
  );
}

/** Returns what is in `FILE`. */
export function fileFor(command: string, { password }: Sandbox): string {
  return command.includes('--password-file') ? password : '{}';
}

/** Printed commands that end with an error in the tests, and why that is right. */
const EXPECTED: Readonly<Record<string, string>> = {
  'secret rotate ci': 'the hint says to mend the name of the graph first',
  'secret drop other_next': 'the last of the steps of a rotation by hand',
  'secret drop own_next --owner ann': 'the last of the steps of a rotation by hand',
};

/** The sentence of an error, without the address that refused. */
const errorOf = ({ stderr }: Result) =>
  /^(?:graphcred: (.*)\nhint: |.*"message":"(.*?)","hint")/m
    .exec(stderr)
    ?.find((text, at) => at > 0 && text)
    ?.replace(/http:\S+/g, 'URL');

/** Says what is wrong with a printed command that was typed; nothing when it did what the hint meant. */
export function faultOf(command: string, step: Result, result: Result): string | undefined {
  const error = errorOf(result);
  if (result.status === 0 || error === undefined || command in EXPECTED) return undefined;
  if (result.status === 2) return `a usage error: ${error}`;
  if (error === errorOf(step)) return `the same error: ${error}`;
  return /^There is no (config file|profile|secret|token)|^No (saved|such)/.test(error) ? error : undefined;
}
