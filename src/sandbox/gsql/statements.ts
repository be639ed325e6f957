import { type Caller, seesGraph } from '../authenticate.js';
import { fill, type Text } from '../say.js';
import { ALIAS, dropSecret, findSecret, newSecret, secretsOf } from '../state.js';
import type { World } from '../world.js';
import { GSQL } from './texts.js';

/** One word of a GSQL text; `;` and `,` are words of their own. */
interface Word {
  readonly text: string;
  readonly quoted: boolean;
  readonly beginsLine: boolean;
}

interface Run {
  readonly world: World;
  readonly login: Caller;
  /** The one in use. */
  graph: string | null;
  readonly words: Word[];
  readonly print: (line: string) => void;
  /** Prints a text; the last return code is that of the answer. */
  readonly say: (text: Text, values?: Record<string, string | number>) => void;
}

/** Each runs the rest of a statement. It returns false, which ends the text, when the next word is wrong. */
const STATEMENTS: Readonly<Record<string, (run: Run) => boolean>> = {
  'USE GLOBAL': useGlobal,
  'USE GRAPH': useGraph,
  'CREATE SECRET': createSecret,
  'SHOW SECRET': showSecrets,
  'SHOW USER': showUser,
  'DROP SECRET': dropSecrets,
};

/**
 * Runs every statement of `source` in turn; a failed one does not stop the next, a syntax error does. The code is 0, 211
 * after a syntax error, 212 after a failed statement, and 213 without a graph in use.
 * @param graph the one in use at the beginning
 */
export function runGsql(world: World, login: Caller, graph: string | null, source: string) {
  const words = scan(source);
  const lines: string[] = [];
  let code = 0;
  const say: Run['say'] = ({ message, returnCode }, values) => {
    lines.push(fill(message, values));
    code = returnCode ?? code;
  };
  const run: Run = { world, login, graph, words, say, print: (line) => lines.push(line) };
  while (words.length > 0) {
    if (take(run, ';') || statement(run)) continue;
    say(GSQL.syntax, { token: words[0]?.text ?? '<EOF>' });
    break;
  }
  return { text: lines.map((line) => `${line}\n`).join(''), code };
}

/** Whether the next words are these, unquoted and in any case. */
function isNext({ words }: Run, wanted: string): boolean {
  return wanted.split(' ').every((one, i) => {
    const word = words[i];
    return word !== undefined && !word.quoted && word.text.toUpperCase() === one;
  });
}

/** Reads these words if they are the next ones. Returns whether they are. */
function take(run: Run, wanted: string): boolean {
  const isThere = isNext(run, wanted);
  if (isThere) run.words.splice(0, wanted.split(' ').length);
  return isThere;
}

function takeName(run: Run): string | undefined {
  return isNext(run, ';') || isNext(run, ',') ? undefined : run.words.shift()?.text;
}

function statement(run: Run): boolean {
  const [, play] = Object.entries(STATEMENTS).find(([start]) => take(run, start)) ?? [];
  if (play) return play(run);
  const shown = run.words[0]?.text.slice(0, 20);
  run.world.options.warn?.(`The sandbox does not imitate the GSQL statement that begins with ${shown}.`);
  return false;
}

function useGlobal(run: Run): boolean {
  run.graph = null;
  run.say(GSQL.usingGlobal);
  return true;
}

/** Chooses a graph. After a failure the graph in use stays, and the statements that follow still run. */
function useGraph(run: Run): boolean {
  const graph = takeName(run);
  if (graph === undefined) return false;
  const isSeen = seesGraph(run.world, run.login, graph);
  if (isSeen) run.graph = graph;
  run.say(isSeen ? GSQL.usingGraph : GSQL.useGraphFailed, { graph });
  return true;
}

/** Creates a secret. The alias is optional, so only a word on the same line can be one. */
function createSecret(run: Run): boolean {
  const { world, login, words, say } = run;
  const [word] = words;
  const isAlias =
    word && !word.beginsLine && ![';', ...Object.keys(STATEMENTS)].some((start) => isNext(run, start));
  if (isAlias && !ALIAS.test(word.text)) return false;
  const alias = isAlias ? takeName(run) : undefined;
  const graph = secretGraph(run);
  if (graph === undefined) return true;
  const { name: user, role } = login.user;
  if (role === 'reader') {
    say(graph === null ? GSQL.mayNotCreateGlobal : GSQL.mayNotCreate, { user, graph: graph ?? '' });
  } else if (alias !== undefined && secretsOf(world.state, user, graph).some((s) => s.alias === alias)) {
    say(GSQL.aliasTaken, { alias });
  } else {
    const secret = newSecret(world.state, user, graph, alias);
    say(GSQL.secretCreated, { secret: secret.value, user });
  }
  return true;
}

function dropSecrets(run: Run): boolean {
  const { world, login, say } = run;
  do {
    const alias = takeName(run);
    if (alias === undefined) return false;
    const graph = secretGraph(run);
    if (graph === undefined) continue;
    const secret = findSecret(secretsOf(world.state, login.user.name, graph), alias);
    if (secret) dropSecret(world.state, secret);
    say(secret ? GSQL.secretDropped : GSQL.secretNotDropped, { alias });
  } while (take(run, ','));
  return true;
}

/** Returns the graph that secrets belong to: null on 4.x, and undefined, after an error text, without one on 3.x. */
function secretGraph({ world, graph, say }: Run): string | null | undefined {
  if (world.version.generation === '4') return null;
  if (graph !== null) return graph;
  say(GSQL.noGraphInUse);
  return undefined;
}

function showSecrets(run: Run): boolean {
  const { world, login, say, print } = run;
  const graph = secretGraph(run);
  if (graph === undefined) return true;
  const own = secretsOf(world.state, login.user.name, graph);
  if (own.length === 0) say(GSQL.noSecrets);
  for (const secret of own) {
    print(`    - Secret: ${secret.value.slice(0, 3)}****${secret.value.slice(-3)}`);
    print(`      - Alias: ${secret.alias}`);
    // A 4.x secret has no graph; whether the line is printed there at all is not known.
    if (graph !== null) print(`      - GraphName: ${graph}`);
    for (const token of world.state.tokens.values()) {
      if (token.secret !== secret.value || token.expiresAt * 1000 <= world.now()) continue;
      const end = new Date(token.expiresAt * 1000).toISOString().slice(0, 19).replace('T', ' ');
      print(`      - Token: ${token.value} expire at: ${end}`);
    }
  }
  return true;
}

function showUser({ world, login, print }: Run): boolean {
  const { name, role } = login.user;
  print(`  - Name: ${name}`);
  print(`    - Global Roles: ${role === 'reader' ? '' : role}`);
  for (const graph of world.state.graphs)
    print(`    - Graph '${graph}' Roles: ${role === 'reader' ? 'queryreader' : 'admin'}`);
  print(`    - FailedAttempts: ${world.throttle.get(name)?.failures ?? 0}`);
  return true;
}

// Blanks, then a comment, a quoted word, punctuation, or any other text.
const PIECE =
  /(\s*)(#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|[;,]|[^\s;,]+)/g;

function scan(source: string): Word[] {
  const pieces = [...source.matchAll(PIECE)].filter(([, , piece = '']) => !/^(#|\/\/|\/\*)/.test(piece));
  return pieces.map(([, blanks = '', piece = '', double, single]) => {
    const inner = double ?? single;
    const text = inner?.replace(/\\(.)/g, '$1') ?? piece;
    return { text, quoted: inner !== undefined, beginsLine: blanks.includes('\n') };
  });
}
