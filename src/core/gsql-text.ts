import { badResponse, notAnEnvelope, readEnvelope } from './envelope.js';
import { GraphException } from './errors.js';
import type { HttpReply, HttpRequest } from './http.js';
import type { Secret } from './protocol.js';
import { refusal } from './refusal.js';
import { Sensitive } from './sensitive.js';
import { maskSecret } from './server-text.js';

/** The only names that may stand in a statement unquoted without being able to end it. */
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** What could end a statement, begin another or be read as two names. */
const UNSAFE = /[\s;,'"`\\#\p{Cc}\p{Cf}]|\/[/*]/u;

export const SHOW_SECRET = 'SHOW SECRET';

export function createSecretStatement(alias: string): string {
  return alias === '' ? 'CREATE SECRET' : `CREATE SECRET ${alias}`;
}

/** Throws USAGE for an alias that cannot be said in GSQL without changing the statement. */
export function dropSecretStatement(alias: string): string {
  if (alias === '' || UNSAFE.test(alias)) {
    throw new GraphException(
      'USAGE',
      'This alias cannot be named in a GSQL statement, so it is not dropped.',
      {
        hint: "Drop it with the database's own tools.",
      },
    );
  }
  return `DROP SECRET ${alias}`;
}

/** `statement` with the graph chosen first. Throws USAGE when the graph's name is no name. */
export function inGraph(graph: string, statement: string): string {
  if (!IDENTIFIER.test(graph)) {
    throw new GraphException('USAGE', 'This graph name is not one the server can have.', {
      hint: 'Check --graph: letters, digits and _, not beginning with a digit.',
    });
  }
  return `USE GRAPH ${graph}\n${statement}`;
}

interface Output {
  /** Without the lines that speak to the shell, among them a session cookie that holds the login. */
  readonly lines: readonly string[];
  /** Of the shell; undefined when the server sent none. */
  readonly returnCode: number | undefined;
  /** The text ends in the middle of a line, so more lines may be missing as well. */
  readonly cutOff: boolean;
}

/** The lines of an answer. Throws what the status or a JSON answer in place of the text says. */
function readOutput(request: HttpRequest, reply: HttpReply): Output {
  const envelope = readEnvelope(reply);
  if (envelope?.refused) {
    throw refusal(request, { status: reply.status, code: envelope.code, message: envelope.message });
  }
  if (reply.status !== 200 || envelope !== undefined || /^\s*</.test(reply.body)) {
    throw notAnEnvelope(request, reply);
  }
  const all = reply.body.split(/\r?\n/);
  const code = /^__GSQL__RETURN__CODE__,(\d{1,4})\s*$/m.exec(reply.body)?.[1];
  return {
    lines: all.filter((line) => line.trim() !== '' && !line.startsWith('__GSQL__')),
    returnCode: code === undefined ? undefined : Number(code),
    cutOff: code === undefined && !/^(?:__GSQL__.*)?$/.test(all.at(-1) ?? ''),
  };
}

const LIST_LINE = /^\s*-\s*(Secret|Alias|GraphName|Token):\s?(.*?)\s*$/;
const COMPLAINT =
  /semantic check fail|encountered "|failed to|does not exist|could not be|is not a valid|not found|permission|(?:don't|does not) have|denied|already exists|no graph/i;

/** The refusal hidden in a text that came with status 200; undefined when the text complains of nothing. */
function complaint(request: HttpRequest, reply: HttpReply, output: Output): GraphException | undefined {
  const said = output.lines.filter((line) => !LIST_LINE.test(line) && !/^Using graph '/.test(line)).join(' ');
  const failed = output.returnCode !== undefined && output.returnCode !== 0;
  if (!failed && !COMPLAINT.test(said)) return undefined;
  // The shell's code 41 is a refused login, or a graph named at login that is not there.
  const status = output.returnCode === 41 ? 401 : reply.status;
  return refusal(request, { status, code: '', message: said });
}

/** `SHOW SECRET`. Masked values, even if the server should send whole ones. */
export function parseSecretList(request: HttpRequest, reply: HttpReply): Secret[] {
  const output = readOutput(request, reply);
  const found: { alias: string; masked: string; graph?: string }[] = [];
  for (const line of output.lines) {
    const [, key, value = ''] = LIST_LINE.exec(line) ?? [];
    const current = found.at(-1);
    if (key === 'Secret') found.push({ alias: '', masked: masked(value) });
    else if (key === 'Alias' && current !== undefined) current.alias = withoutControls(value);
    else if (key === 'GraphName' && current !== undefined) current.graph = withoutControls(value);
  }
  const wrong = complaint(request, reply, output);
  if (output.cutOff && wrong === undefined) throw badResponse(request, reply, 'the list is cut off');
  if (wrong !== undefined && (found.length === 0 || output.returnCode)) throw wrong;
  const known =
    found.length > 0 ||
    output.returnCode === 0 ||
    output.lines.length === 0 ||
    output.lines.some((line) => /^Using graph '|\bno secrets?\b/i.test(line));
  if (!known) throw badResponse(request, reply, 'this is no list of secrets');
  return found;
}

/** `CREATE SECRET`: the value. */
export function parseCreated(request: HttpRequest, reply: HttpReply): Sensitive {
  const output = readOutput(request, reply);
  for (const line of output.lines) {
    const [, value, end] = /\bThe secret: ([\x21-\x7e]{1,1024})(\s|$)/.exec(line) ?? [];
    // Half a value that is saved as a whole one is worse than none.
    if (value !== undefined && !(end === '' && output.cutOff)) return new Sensitive(value);
  }
  throw (
    complaint(request, reply, output) ??
    new GraphException('BAD_RESPONSE', 'The server did not say whether the secret was created.', {
      hint: 'Look with: graphcred secret list',
      status: reply.status,
      ambiguous: true,
    })
  );
}

/**
 * `DROP SECRET`: undefined when it is gone, else the server's refusal. Servers refuse unknown aliases and all
 * else with the same words, so the caller looks whether the alias is still listed.
 */
export function parseDropped(request: HttpRequest, reply: HttpReply): GraphException | undefined {
  const output = readOutput(request, reply);
  const said = output.lines.join(' ');
  if (/\bsuccessfully dropped secrets?\b/i.test(said)) return undefined;
  const wrong = complaint(request, reply, output);
  if (wrong === undefined)
    throw badResponse(request, reply, 'the answer does not say whether the secret is gone');
  return wrong;
}

/** As the server masked it, or masked here. */
export function masked(value: string): string {
  return /^[\x21-\x7e]{0,4}\*{4}[\x21-\x7e]{0,4}$/.test(value) ? value : maskSecret(value);
}

/** Names come from the server and are shown on terminals. */
export function withoutControls(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, '');
}
