import { type Caller, seesGraph } from '../authenticate.js';
import { messageText, wording } from '../say.js';
import { dropSecret, findSecret, maskSecret, newSecret } from '../state.js';
import type { TextId } from '../texts.js';
import type { World } from '../world.js';

/** The state of a client between two calls; on 3.x it is in a cookie. */
export interface Session {
  readonly login: Caller;
  graph: string | null;
}

export interface GsqlAnswer {
  readonly text: string;
  /** 0, 211 syntax error, 212 failed statement, 213 no graph in use. */
  readonly code: number;
}

const ALIAS = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Runs every statement of `source` in turn; a failed one does not stop the next, a syntax error does. */
export function runGsql(world: World, session: Session, source: string): GsqlAnswer {
  const words = scan(source);
  const lines: string[] = [];
  let code = 0;
  const say: Say = (id, values) => {
    lines.push(messageText(world, id, values));
    code = wording(world, id).returnCode ?? code;
  };
  const run: Run = { world, session, words, say, print: (line) => lines.push(line) };
  for (let at = 0; at < words.length; ) {
    const done = is(run, at, ';') ? { next: at + 1 } : statement(run, at);
    if ('wrongAt' in done) {
      const last = words.at(-1)?.line ?? 1;
      const { text, line, column } = words[done.wrongAt] ?? { text: '<EOF>', line: last, column: 1 };
      say('syntax', { token: text, line, column });
      break;
    }
    at = done.next;
  }
  return { text: lines.map((line) => `${line}\n`).join(''), code };
}

/** A GSQL text on its way: its words, and where its answer goes. */
interface Run {
  readonly world: World;
  readonly session: Session;
  readonly words: readonly Word[];
  readonly say: Say;
  readonly print: Print;
}

/** Where the next statement begins, or which word is wrong. */
type Done = { readonly next: number } | { readonly wrongAt: number };

const STARTS = ['USE GLOBAL', 'USE GRAPH', 'CREATE SECRET', 'SHOW SECRET', 'SHOW USER', 'DROP SECRET'];

/** Whether unquoted words at this place are these, in any case. */
function is({ words }: Run, at: number, wanted: string): boolean {
  return wanted.split(' ').every((one, i) => {
    const word = words[at + i];
    return word !== undefined && !word.quoted && word.text.toUpperCase() === one;
  });
}

/** Runs the statement that begins at this word. */
function statement(run: Run, at: number): Done {
  const { world, session, words, say, print } = run;
  const next = at + 2;
  switch (STARTS.find((start) => is(run, at, start))) {
    case 'USE GLOBAL':
      session.graph = null;
      say('usingGlobal');
      return { next };
    case 'USE GRAPH': {
      const graph = words[next];
      if (!graph || is(run, next, ';')) return { wrongAt: next };
      useGraph(world, session, graph.text, say);
      return { next: next + 1 };
    }
    case 'CREATE SECRET':
      return create(run, next);
    case 'SHOW SECRET':
      showSecrets(world, session, say, print);
      return { next };
    case 'SHOW USER':
      showUser(world, session, print);
      return { next };
    case 'DROP SECRET':
      return drop(run, next);
    default:
      world.warn(
        `The sandbox does not imitate the GSQL statement that begins with ${words[at]?.text.slice(0, 20)}.`,
      );
      return { wrongAt: at };
  }
}

/** Creates a secret. The alias is optional, so only a word on the same line can be one. */
function create(run: Run, at: number): Done {
  const { world, session, words, say } = run;
  const alias = words[at];
  const starts = [';', ...STARTS].some((start) => is(run, at, start));
  if (!alias || alias.line !== words[at - 1]?.line || starts) {
    createSecret(world, session, undefined, say);
    return { next: at };
  }
  if (!ALIAS.test(alias.text)) return { wrongAt: at };
  createSecret(world, session, alias.text, say);
  return { next: at + 1 };
}

/** Drops the secrets of a list, one after another. */
function drop(run: Run, first: number): Done {
  for (let at = first; ; at += 2) {
    const name = run.words[at];
    if (!name || is(run, at, ';') || is(run, at, ',')) return { wrongAt: at };
    dropOne(run.world, run.session, name.text, run.say);
    if (!is(run, at + 1, ',')) return { next: at + 1 };
  }
}

type Say = (id: TextId, values?: Record<string, string | number>) => void;
type Print = (line: string) => void;

/** Chooses a graph. After a failure the graph in use stays, and the statements that follow still run. */
function useGraph(world: World, session: Session, graph: string, say: Say): void {
  if (!seesGraph(world, session.login, graph)) {
    say('useGraphFailed', { graph });
    return;
  }
  session.graph = graph;
  say('usingGraph', { graph });
}

/**
 * Returns the graph that secrets belong to; null on 4.x. Returns undefined, after an error text, when no graph is in
 * use on 3.x.
 */
function secretGraph(world: World, session: Session, say: Say): string | null | undefined {
  if (world.version.generation === '4') return null;
  if (session.graph !== null) return session.graph;
  say('noGraphInUse');
  return undefined;
}

function createSecret(world: World, session: Session, alias: string | undefined, say: Say): void {
  const graph = secretGraph(world, session, say);
  if (graph === undefined) return;
  const user = session.login.user.name;
  if (session.login.user.role === 'reader') {
    if (graph === null) say('mayNotCreateGlobal', { user });
    else say('mayNotCreate', { user, graph });
    return;
  }
  if (
    alias !== undefined &&
    world.state.secrets.some(
      (s) => s.user === user && s.alias === alias && (graph === null || s.graph === graph),
    )
  ) {
    say('aliasTaken', { alias });
    return;
  }
  const secret = newSecret(world.state, user, graph, alias);
  world.changed();
  say('secretCreated', { secret: secret.value, user });
}

function showSecrets(world: World, session: Session, say: Say, print: Print): void {
  const graph = secretGraph(world, session, say);
  if (graph === undefined) return;
  const own = world.state.secrets.filter(
    (s) => s.user === session.login.user.name && (graph === null || s.graph === graph),
  );
  if (own.length === 0) say('noSecrets');
  for (const secret of own) {
    print(`    - Secret: ${maskSecret(secret.value)}`);
    print(`      - Alias: ${secret.alias}`);
    // A 4.x secret has no graph; whether the line is printed there at all is not known.
    if (secret.graph !== null && graph !== null) print(`      - GraphName: ${secret.graph}`);
    for (const token of world.state.tokens.values()) {
      if (token.secret !== secret.value || token.expiresAt * 1000 <= world.now()) continue;
      const end = new Date(token.expiresAt * 1000).toISOString().slice(0, 19).replace('T', ' ');
      print(`      - Token: ${token.value} expire at: ${end}`);
    }
  }
}

function showUser(world: World, session: Session, print: Print): void {
  const { name, role } = session.login.user;
  print(`  - Name: ${name}`);
  print(`    - Global Roles: ${role === 'reader' ? '' : role}`);
  for (const graph of world.state.graphs)
    print(`    - Graph '${graph}' Roles: ${role === 'reader' ? 'queryreader' : 'admin'}`);
  print(`    - FailedAttempts: ${world.throttle.get(name)?.failures ?? 0}`);
}

function dropOne(world: World, session: Session, name: string, say: Say): void {
  const graph = secretGraph(world, session, say);
  if (graph === undefined) return;
  const secret = findSecret(world.state, session.login.user.name, graph, name);
  if (!secret) {
    say('secretNotDropped', { alias: name });
    return;
  }
  dropSecret(world.state, secret);
  world.changed();
  say('secretDropped', { alias: name });
}

/** One word of a GSQL text; `;` and `,` are words of their own. Lines and columns count from 1. */
interface Word {
  readonly text: string;
  readonly quoted: boolean;
  readonly line: number;
  readonly column: number;
}

// Comments, quoted words, punctuation, and any other text between blanks.
const PIECE =
  /#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|[;,]|[^\s;,]+/g;

function scan(source: string): Word[] {
  const words: Word[] = [];
  let line = 1;
  let lineStart = 0;
  let from = 0;
  for (const match of source.matchAll(PIECE)) {
    for (let i = source.indexOf('\n', from); i >= 0 && i < match.index; i = source.indexOf('\n', i + 1)) {
      line++;
      lineStart = i + 1;
    }
    from = match.index;
    const piece = match[0];
    if (piece.startsWith('#') || piece.startsWith('//') || piece.startsWith('/*')) continue;
    const inner = match[1] ?? match[2];
    words.push({
      text: inner === undefined ? piece : inner.replace(/\\(.)/g, '$1'),
      quoted: inner !== undefined,
      line,
      column: match.index - lineStart + 1,
    });
  }
  return words;
}
