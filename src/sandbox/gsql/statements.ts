import { messageText, wording } from '../say.js';
import { dropSecret, findSecret, maskSecret, newSecret, type User } from '../state.js';
import type { TextId } from '../texts.js';
import type { World } from '../world.js';
import { scan, type Word } from './words.js';

/** The state of a client between two calls; on 3.x it is in a cookie. */
export interface Session {
  readonly user: User;
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
  const found = scan(source);
  const lines: string[] = [];
  let code = 0;
  let at = 0;

  const is = (offset: number, keyword: string) => {
    const word = found[at + offset];
    return word !== undefined && !word.quoted && word.text.toUpperCase() === keyword;
  };
  const startsStatement = (offset: number) =>
    (is(offset, 'USE') && (is(offset + 1, 'GRAPH') || is(offset + 1, 'GLOBAL'))) ||
    ((is(offset, 'CREATE') || is(offset, 'SHOW') || is(offset, 'DROP')) &&
      (is(offset + 1, 'SECRET') || (is(offset, 'SHOW') && is(offset + 1, 'USER'))));
  const say: Say = (id, values) => {
    lines.push(messageText(world, id, values));
    code = wording(world, id).returnCode ?? code;
  };
  const print: Print = (line) => lines.push(line);
  const answer = () => ({ text: lines.map((line) => `${line}\n`).join(''), code });
  const syntaxError = (word: Word | undefined): GsqlAnswer => {
    const { text, line, column } = word ?? { text: '<EOF>', line: found.at(-1)?.line ?? 1, column: 1 };
    say('syntax', { token: text, line, column });
    return answer();
  };

  while (at < found.length) {
    if (is(0, ';')) {
      at++;
    } else if (is(0, 'USE') && is(1, 'GLOBAL')) {
      session.graph = null;
      say('usingGlobal');
      at += 2;
    } else if (is(0, 'USE') && is(1, 'GRAPH')) {
      const graph = found[at + 2];
      if (!graph || is(2, ';')) return syntaxError(graph);
      useGraph(world, session, graph.text, say);
      at += 3;
    } else if (is(0, 'CREATE') && is(1, 'SECRET')) {
      // The alias is optional, so only a word on the same line can be one.
      const next = found[at + 2];
      const hasAlias =
        next !== undefined && next.line === found[at + 1]?.line && !is(2, ';') && !startsStatement(2);
      if (hasAlias && !ALIAS.test(next.text)) return syntaxError(next);
      createSecret(world, session, hasAlias ? next.text : undefined, say);
      at += hasAlias ? 3 : 2;
    } else if (is(0, 'SHOW') && is(1, 'SECRET')) {
      showSecrets(world, session, say, print);
      at += 2;
    } else if (is(0, 'SHOW') && is(1, 'USER')) {
      showUser(world, session, print);
      at += 2;
    } else if (is(0, 'DROP') && is(1, 'SECRET')) {
      at += 2;
      for (;;) {
        const name = found[at];
        if (!name || is(0, ';') || is(0, ',')) return syntaxError(name);
        dropOne(world, session, name.text, say);
        at++;
        if (!is(0, ',')) break;
        at++;
      }
    } else {
      world.warn(
        `The sandbox does not imitate the GSQL statement that begins with ${found[at]?.text.slice(0, 20)}.`,
      );
      return syntaxError(found[at]);
    }
  }
  return answer();
}

type Say = (id: TextId, values?: Record<string, string | number>) => void;
type Print = (line: string) => void;

/** Chooses a graph. After a failure the graph in use stays, and the statements that follow still run. */
function useGraph(world: World, session: Session, graph: string, say: Say): void {
  if (!world.state.graphs.includes(graph)) {
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
  const user = session.user.name;
  if (session.user.role === 'reader') {
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
    (s) => s.user === session.user.name && (graph === null || s.graph === graph),
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
  const { name, role } = session.user;
  print(`  - Name: ${name}`);
  print(`    - Global Roles: ${role === 'reader' ? '' : role}`);
  for (const graph of world.state.graphs)
    print(`    - Graph '${graph}' Roles: ${role === 'reader' ? 'queryreader' : 'admin'}`);
  print(`    - FailedAttempts: ${world.throttle.get(name)?.failures ?? 0}`);
}

function dropOne(world: World, session: Session, name: string, say: Say): void {
  const graph = secretGraph(world, session, say);
  if (graph === undefined) return;
  const secret = findSecret(world.state, session.user.name, graph, name);
  if (!secret) {
    say('secretNotDropped', { alias: name });
    return;
  }
  dropSecret(world.state, secret);
  world.changed();
  say('secretDropped', { alias: name });
}
