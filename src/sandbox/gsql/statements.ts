import { type Caller, seesGraph } from '../authenticate.js';
import { fill, type Text } from '../say.js';
import { ALIAS, dropSecret, findSecret, newSecret, secretsOf } from '../state.js';
import type { World } from '../world.js';
import { GSQL } from './texts.js';

/** The state of a client between two calls; on 3.x it is in a cookie. */
export interface Session {
  readonly login: Caller;
  graph: string | null;
}

/** A GSQL text, and where its answer goes. */
interface Run {
  readonly world: World;
  readonly session: Session;
  readonly source: string;
  readonly words: readonly Word[];
  readonly print: (line: string) => void;
  /** Prints a text; the last return code is that of the answer. */
  readonly say: (text: Text, values?: Record<string, string | number>) => void;
}

/** Where the next statement begins, or which word is wrong. */
type Next = number | { readonly wrongAt: number };

const STATEMENTS: Readonly<Record<string, (run: Run, at: number) => Next>> = {
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
 */
export function runGsql(world: World, session: Session, source: string): { text: string; code: number } {
  const words = scan(source);
  const lines: string[] = [];
  let code = 0;
  const say: Run['say'] = ({ message, returnCode }, values) => {
    lines.push(fill(message, values));
    code = returnCode ?? code;
  };
  const run: Run = { world, session, source, words, say, print: (line) => lines.push(line) };
  for (let at = 0; at < words.length; ) {
    const next = is(run, at, ';') ? at + 1 : statement(run, at);
    if (typeof next !== 'number') {
      say(GSQL.syntax, placeOf(run, next.wrongAt));
      break;
    }
    at = next;
  }
  return { text: lines.map((line) => `${line}\n`).join(''), code };
}

/** Returns a word with its line and column, which count from 1; the end of the text is on the line of the last word. */
function placeOf({ source, words }: Run, at: number): { token: string; line: number; column: number } {
  const word = words[at];
  const before = source.slice(0, (word ?? words.at(-1))?.start).split('\n');
  const column = (before.at(-1) ?? '').length + 1;
  return { token: word?.text ?? '<EOF>', line: before.length, column: word ? column : 1 };
}

/** Whether unquoted words at this place are these, in any case. */
function is({ words }: Run, at: number, wanted: string): boolean {
  return wanted.split(' ').every((one, i) => {
    const word = words[at + i];
    return word !== undefined && !word.quoted && word.text.toUpperCase() === one;
  });
}

/** Runs the statement that begins at this word. */
function statement(run: Run, at: number): Next {
  const [, play] = Object.entries(STATEMENTS).find(([start]) => is(run, at, start)) ?? [];
  if (play) return play(run, at + 2);
  const shown = run.words[at]?.text.slice(0, 20);
  run.world.options.warn?.(`The sandbox does not imitate the GSQL statement that begins with ${shown}.`);
  return { wrongAt: at };
}

function useGlobal(run: Run, at: number): Next {
  run.session.graph = null;
  run.say(GSQL.usingGlobal);
  return at;
}

/** Chooses a graph. After a failure the graph in use stays, and the statements that follow still run. */
function useGraph(run: Run, at: number): Next {
  const graph = run.words[at]?.text;
  if (graph === undefined || is(run, at, ';')) return { wrongAt: at };
  const isSeen = seesGraph(run.world, run.session.login, graph);
  if (isSeen) run.session.graph = graph;
  run.say(isSeen ? GSQL.usingGraph : GSQL.useGraphFailed, { graph });
  return at + 1;
}

/** Creates a secret. The alias is optional, so only a word on the same line can be one. */
function createSecret(run: Run, at: number): Next {
  const { world, session, words, source, say } = run;
  const [before, word] = [words[at - 1], words[at]];
  const isAlias =
    !source.slice(before?.start, word?.start).includes('\n') &&
    ![';', ...Object.keys(STATEMENTS)].some((start) => is(run, at, start));
  const alias = isAlias ? word?.text : undefined;
  if (alias !== undefined && !ALIAS.test(alias)) return { wrongAt: at };
  const next = alias === undefined ? at : at + 1;
  const graph = secretGraph(run);
  if (graph === undefined) return next;
  const { name: user, role } = session.login.user;
  if (role === 'reader') {
    say(graph === null ? GSQL.mayNotCreateGlobal : GSQL.mayNotCreate, { user, graph: graph ?? '' });
  } else if (alias !== undefined && secretsOf(world.state, user, graph).some((s) => s.alias === alias)) {
    say(GSQL.aliasTaken, { alias });
  } else {
    const secret = newSecret(world.state, user, graph, alias);
    say(GSQL.secretCreated, { secret: secret.value, user });
  }
  return next;
}

function dropSecrets(run: Run, first: number): Next {
  const { world, session, words, say } = run;
  for (let at = first; ; at += 2) {
    const alias = words[at]?.text;
    if (alias === undefined || is(run, at, ';') || is(run, at, ',')) return { wrongAt: at };
    const graph = secretGraph(run);
    if (graph !== undefined) {
      const secret = findSecret(secretsOf(world.state, session.login.user.name, graph), alias);
      if (secret) dropSecret(world.state, secret);
      say(secret ? GSQL.secretDropped : GSQL.secretNotDropped, { alias });
    }
    if (!is(run, at + 1, ',')) return at + 1;
  }
}

/** Returns the graph that secrets belong to: null on 4.x, and undefined, after an error text, without one on 3.x. */
function secretGraph({ world, session, say }: Run): string | null | undefined {
  if (world.version.generation === '4') return null;
  if (session.graph !== null) return session.graph;
  say(GSQL.noGraphInUse);
  return undefined;
}

function showSecrets(run: Run, at: number): Next {
  const { world, session, say, print } = run;
  const graph = secretGraph(run);
  if (graph === undefined) return at;
  const own = secretsOf(world.state, session.login.user.name, graph);
  if (own.length === 0) say(GSQL.noSecrets);
  for (const secret of own) {
    print(`    - Secret: ${secret.value.slice(0, 3)}****${secret.value.slice(-3)}`);
    print(`      - Alias: ${secret.alias}`);
    // A 4.x secret has no graph; whether the line is printed there at all is not known.
    if (secret.graph !== null && graph !== null) print(`      - GraphName: ${secret.graph}`);
    for (const token of world.state.tokens.values()) {
      if (token.secret !== secret.value || token.expiresAt * 1000 <= world.now()) continue;
      const end = new Date(token.expiresAt * 1000).toISOString().slice(0, 19).replace('T', ' ');
      print(`      - Token: ${token.value} expire at: ${end}`);
    }
  }
  return at;
}

function showUser({ world, session, print }: Run, at: number): Next {
  const { name, role } = session.login.user;
  print(`  - Name: ${name}`);
  print(`    - Global Roles: ${role === 'reader' ? '' : role}`);
  for (const graph of world.state.graphs)
    print(`    - Graph '${graph}' Roles: ${role === 'reader' ? 'queryreader' : 'admin'}`);
  print(`    - FailedAttempts: ${world.throttle.get(name)?.failures ?? 0}`);
  return at;
}

/** One word of a GSQL text; `;` and `,` are words of their own. */
interface Word {
  readonly text: string;
  readonly quoted: boolean;
  /** Where it begins in the source. */
  readonly start: number;
}

// Comments, quoted words, punctuation, and any other text between blanks.
const PIECE =
  /#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|[;,]|[^\s;,]+/g;

function scan(source: string): Word[] {
  const pieces = [...source.matchAll(PIECE)].filter(([piece]) => !/^(#|\/\/|\/\*)/.test(piece));
  return pieces.map(({ 0: piece, 1: double, 2: single, index: start }) => {
    const inner = double ?? single;
    return { text: inner?.replace(/\\(.)/g, '$1') ?? piece, quoted: inner !== undefined, start };
  });
}
