import { GraphException, usageError } from '../errors.js';
import { isReadOnly } from '../http/errors.js';
import type { Exchange, Operation } from '../http/types.js';
import type { Secret } from '../options.js';
import { maskSecret, withoutEscapes } from '../redact.js';
import { Sensitive } from '../sensitive.js';
import { meaningOf, withoutNames } from './meanings.js';
import { onlyOwnSecrets, refusal } from './refusals.js';
import { badResponse, FORM, notAnEnvelope, readEnvelope } from './reply.js';
import { gsqlLogin, type Protocol, type ServerSession } from './session.js';

/** The only names that may stand in a statement unquoted without being able to end it. */
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Matches what could end a statement, begin another, or split one name into two. */
const UNSAFE = /[\s;,'"`\\#\p{Cc}\p{Cf}]|\/[/*]/u;

export function isPlainAlias(alias: string): boolean {
  return typeof alias === 'string' && IDENTIFIER.test(alias) && alias.length <= 128;
}

export function requirePlainAlias(alias: string): void {
  const hint = 'begin with a letter or _, then letters, digits and _, 128 characters at most';
  if (!isPlainAlias(alias)) throw usageError('This alias cannot be used for a secret.', hint);
}

/** Returns the graph of the session. Throws USAGE when there is none, or its name is not a valid identifier. */
export function graphFor({ graph }: Pick<ServerSession, 'graph'>): string {
  if (graph === undefined)
    throw usageError('On a 3.x server this call needs a graph.', ['name one', { setting: 'graph' }]);
  if (IDENTIFIER.test(graph)) return graph;
  throw usageError('This graph name is not valid.', [
    'use letters, digits and _, and no digit at the beginning',
    { setting: 'graph' },
  ]);
}

const LIST_LINE = /^\s*-\s*(Secret|Alias|GraphName|Token):\s?(.*?)\s*$/;
const GRAPH_LINE = /^Using graph '/;
/** Matches the phrases by which existing clients recognize a line as an error. */
const ERROR_LINE =
  /semantic check fail|encountered "|failed to|does not exist|could not be|is not a valid|not found|no graph/i;

const isMessage = (line: string) => !LIST_LINE.test(line) && !GRAPH_LINE.test(line);

/** Reads an answer. Throws what the status, or a JSON answer in place of text, reports. */
function readOutput(exchange: Exchange) {
  const { request, reply } = exchange;
  const envelope = readEnvelope(reply);
  if (envelope?.refused) throw refusal(exchange, envelope.refused);
  if (reply.status !== 200 || envelope !== undefined || /^\s*</.test(reply.body))
    throw notAnEnvelope(exchange);
  const { lines, returnCode } = parseOutput(reply.body);
  const isError = (message: string) =>
    ERROR_LINE.test(withoutNames(message, request)) || meaningOf(exchange, { message }) !== undefined;
  const failed = lines.findIndex((line) => isMessage(line) && isError(line));
  const message = lines.filter(isMessage).join('\n');
  const last = reply.body.split('\n').at(-1) ?? '';
  return {
    lines,
    returnCode,
    /** The lines before the first error, which alone count as done. */
    done: failed === -1 ? lines : lines.slice(0, failed),
    wrong: failed !== -1 || returnCode ? failure(exchange, message, returnCode) : undefined,
    /** Whether the text ends in the middle of a line, so that more lines may be missing as well. */
    cutOff: returnCode === undefined && !/^(?:__GSQL__.*)?$/.test(last),
  };
}

/** Returns the return code, if there is one, and the lines but for those to the GSQL shell: one of them holds the login. */
function parseOutput(body: string) {
  const code = /^__GSQL__RETURN__CODE__,[ \t]*(-?\d{1,9})\s*$/m.exec(body)?.[1];
  return {
    lines: body.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('__GSQL__')),
    returnCode: code === undefined ? undefined : Number(code),
  };
}

/** Servers also run the statements after a failed one, so a write may have been done on another graph. */
function failure(exchange: Exchange, message: string, returnCode?: number): GraphException {
  const refused = { returnCode, message };
  const found = refusal(exchange, refused);
  if (meaningOf(exchange, refused) !== 'no-such-graph' || isReadOnly(exchange.request)) return found;
  const fix = ['check the name of the graph, and look for the secret on the other graphs'];
  const told = `${found.message} The server may have used another graph instead.`;
  return new GraphException(found.code, told, { ...found, fix, ambiguous: true });
}

/** Reads the answer to `SHOW SECRET`. The values are masked, even if the server sends them whole. */
function readList(exchange: Exchange): Secret[] {
  const { lines, returnCode, wrong, cutOff } = readOutput(exchange);
  const found: { alias: string; masked: string; graph?: string }[] = [];
  for (const line of lines) {
    const [, key, value = ''] = LIST_LINE.exec(line) ?? [];
    const current = found.at(-1);
    if (key === 'Secret') found.push({ alias: '', masked: masked(value) });
    else if (key === 'Alias' && current !== undefined) current.alias = withoutControls(value);
    else if (key === 'GraphName' && current !== undefined) current.graph = withoutControls(value);
  }
  // What follows a failed choice of the graph is the list of another one.
  if (wrong) throw wrong;
  if (cutOff) throw badResponse(exchange, 'the list is cut off');
  // How a server words an empty list is not known: it confirms the graph, or says that nothing failed.
  if (found.length === 0 && returnCode !== 0 && !lines.some((line) => GRAPH_LINE.test(line)))
    throw badResponse(exchange, 'the answer is not a list of secrets');
  return found;
}

function readCreated(exchange: Exchange): Sensitive {
  const { done, wrong, cutOff } = readOutput(exchange);
  for (const line of done) {
    const [, value, end] = /\bThe secret: ([\x21-\x7e]{1,1024})(\s|$)/.exec(line) ?? [];
    // A value that may be cut off is not returned, because it would be saved as if it were whole.
    if (value !== undefined && !(end === '' && cutOff)) return new Sensitive(value);
  }
  throw wrong ?? badResponse(exchange, 'the answer does not say whether the secret was created');
}

/** Returns the value as the server masked it, or masks it here. */
export function masked(value: string): string {
  return /^[\x21-\x7e]{0,4}\*{4}[\x21-\x7e]{0,4}$/.test(value) ? value : maskSecret(value);
}

/** Removes control characters from a name, which is shown on terminals. */
export function withoutControls(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, '');
}

/** Returns the error of a caller's own statements: by the return code, on 4.x, which sends none, by the lines. */
export function failedStatement(exchange: Exchange): GraphException | undefined {
  const { reply } = exchange;
  if (reply.status !== 200 || readEnvelope(reply) !== undefined) return undefined;
  const { lines, returnCode } = parseOutput(reply.body);
  const isKnown = (message: string) => meaningOf(exchange, { message }) !== undefined;
  const message = returnCode === undefined ? lines.find(isKnown) : lines.join('\n');
  if (message === undefined || returnCode === 0) return undefined;
  const { code } = refusal(exchange, { returnCode, message });
  const shown = returnCode === undefined ? '' : ` (return code ${returnCode})`;
  return new GraphException(code, `A statement failed${shown}.`, {
    hint: 'read what the server answered; other statements may have run all the same',
    status: reply.status,
  });
}

export const BY_STATEMENT: Pick<Protocol, 'listSecrets' | 'createSecret' | 'dropSecret'> = {
  listSecrets: async (session) => readList(await runGsql(session, 'SHOW SECRET', 'list-secrets')),

  async createSecret(session, alias, wantAlias) {
    const statement = `CREATE SECRET ${alias}`.trim();
    const value = readCreated(await runGsql(session, statement, 'create-secret', alias));
    if (alias !== '' || !wantAlias) return { alias, value };
    // The answer does not name a generated alias, and an error here would lose the value, shown only once.
    const secrets = await BY_STATEMENT.listSecrets(session).catch((): Secret[] => []);
    const [found, another] = secrets.filter(({ masked }) => masked === maskSecret(value.reveal()));
    return { alias: found && !another ? found.alias : '', value };
  },

  async dropSecret(session, alias) {
    if (alias === '' || UNSAFE.test(alias))
      throw usageError(
        'This alias cannot be written in a GSQL statement.',
        'drop the secret in the Admin Portal of the database',
      );
    const exchange = await runGsql(session, `DROP SECRET ${alias}`, 'drop-secret', alias);
    const { done, wrong } = readOutput(exchange);
    if (done.some((line) => /^\s*Successfully dropped secrets?\b/i.test(line))) return undefined;
    if (!wrong) throw badResponse(exchange, 'the answer does not say whether the secret is gone');
    // Servers say the same of an unknown alias as of other errors, so the list shows whether the alias exists.
    if (wrong.code !== 'SERVER_ERROR') throw wrong;
    if ((await BY_STATEMENT.listSecrets(session)).some((listed) => listed.alias === alias)) throw wrong;
    return wrong;
  },
};

/** Runs a statement about secrets. USE GRAPH is tried alone before a write, which else may run on another graph. */
async function runGsql(session: ServerSession, statement: string, operation: Operation, alias?: string) {
  if (session.secretsOf !== undefined) throw onlyOwnSecrets();
  const choose = `USE GRAPH ${graphFor(session)}`;
  if (operation !== 'list-secrets' && !session.graphsSeen.has(choose)) await checkGraph(session);
  const answered = await sendStatements(session, `${choose}\n${statement}`, operation, alias);
  if (answered.reply.body.trimStart().startsWith("Using graph '")) session.graphsSeen.add(choose);
  return answered;
}

/** Checks the login and the graph of the session, by choosing that graph. Changes nothing. */
export async function checkGraph(session: ServerSession): Promise<void> {
  const choose = `USE GRAPH ${graphFor(session)}`;
  const exchange = await sendStatements(session, choose, 'list-secrets');
  const { done, wrong } = readOutput(exchange);
  if (wrong) throw wrong;
  if (!done.some((line) => GRAPH_LINE.test(line)))
    throw badResponse(exchange, 'the answer does not confirm that the graph was selected');
  session.graphsSeen.add(choose);
}

async function sendStatements(session: ServerSession, text: string, operation: Operation, alias = '') {
  const form = { headers: FORM, body: encodeURIComponent(text).replaceAll('%20', '+') };
  const { secretsNeedGraph } = session.version;
  const { request, reply } = await session.ask({
    server: 'service',
    method: 'POST',
    operation,
    names: [alias],
    authorization: gsqlLogin(session),
    ...(secretsNeedGraph
      ? { path: '/gsqlserver/gsql/file', ...form }
      : { path: '/gsql/v1/statements', headers: { 'content-type': 'text/plain' }, body: text }),
  });
  // Some servers of 3.x paint the lines as for a terminal.
  return { request, reply: { ...reply, body: withoutEscapes(reply.body) } };
}
