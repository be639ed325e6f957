import { GraphException } from '../errors.js';
import { isReadOnly } from '../http/errors.js';
import type { HttpReply, HttpRequest, Operation } from '../http/types.js';
import { maskSecret } from '../redact.js';
import { Sensitive } from '../sensitive.js';
import { meaningOf, refusal, withoutNames } from './meanings.js';
import { badResponse, type Exchange, notAnEnvelope, readEnvelope } from './reply.js';
import type { NewSecret, Protocol, Secret } from './types.js';

/** The only names that may stand in a statement unquoted without being able to end it. */
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Matches what could end a statement, begin another, or split one name into two. */
const UNSAFE = /[\s;,'"`\\#\p{Cc}\p{Cf}]|\/[/*]/u;

export const SHOW_SECRET = 'SHOW SECRET';

export function createSecretStatement(alias: string): string {
  return alias === '' ? 'CREATE SECRET' : `CREATE SECRET ${alias}`;
}

/** Throws USAGE for an alias that would change the GSQL statement. */
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

/** Returns the statement that chooses a graph. Throws USAGE when the name is not a valid identifier. */
export function useGraph(graph: string): string {
  if (!IDENTIFIER.test(graph)) {
    throw new GraphException('USAGE', 'This graph name is not one the server can have.', {
      hint: 'It has letters, digits and _, and does not begin with a digit.',
      option: 'graph',
    });
  }
  return `USE GRAPH ${graph}`;
}

interface Output {
  /** The lines without those meant for the GSQL shell, such as a session cookie that holds the login. */
  readonly lines: readonly string[];
  /** The return code of the GSQL shell; undefined when the server sent none. */
  readonly returnCode: number | undefined;
  /** Whether the text ends in the middle of a line, so that more lines may be missing as well. */
  readonly cutOff: boolean;
}

/** Reads the lines of an answer. Throws the error that the status, or a JSON answer in place of text, reports. */
function readOutput(request: HttpRequest, reply: HttpReply): Output {
  const envelope = readEnvelope(reply);
  if (envelope?.refused) {
    throw refusal(request, { status: reply.status, code: envelope.code, message: envelope.message });
  }
  if (reply.status !== 200 || envelope !== undefined || /^\s*</.test(reply.body)) {
    throw notAnEnvelope(request, reply);
  }
  return parseOutput(reply.body);
}

function parseOutput(body: string): Output {
  const all = body.split(/\r?\n/);
  const code = /^__GSQL__RETURN__CODE__,(\d{1,4})\s*$/m.exec(body)?.[1];
  return {
    lines: all.filter((line) => line.trim() !== '' && !line.startsWith('__GSQL__')),
    returnCode: code === undefined ? undefined : Number(code),
    cutOff: code === undefined && !/^(?:__GSQL__.*)?$/.test(all.at(-1) ?? ''),
  };
}

const LIST_LINE = /^\s*-\s*(Secret|Alias|GraphName|Token):\s?(.*?)\s*$/;
/** Matches the phrases by which existing clients recognize a line as an error. */
const ERROR_LINE =
  /semantic check fail|encountered "|failed to|does not exist|could not be|is not a valid|not found|no graph/i;

/** Returns the index of the first error line in a text with status 200, or -1. Nothing after it counts as done. */
function failedLine(request: HttpRequest, reply: HttpReply, { lines }: Output): number {
  return lines.findIndex(
    (line) =>
      !LIST_LINE.test(line) &&
      !/^Using graph '/.test(line) &&
      (ERROR_LINE.test(withoutNames(line, request)) ||
        meaningOf(request, { status: reply.status, code: '', message: line }) !== undefined),
  );
}

/**
 * Returns the error in a text that came with status 200, if a line is one. Servers also run the statements after a
 * failed one, so a write may have been done on another graph.
 */
function complaint(request: HttpRequest, reply: HttpReply, output: Output): GraphException | undefined {
  const { lines, returnCode } = output;
  if (failedLine(request, reply, output) === -1 && !returnCode) return undefined;
  const message = lines.filter((line) => !LIST_LINE.test(line) && !/^Using graph '/.test(line)).join('\n');
  const refused = { status: reply.status, code: '', returnCode, message };
  const found = refusal(request, refused);
  const graphFailed = ['no-such-graph', 'no-graph-in-use'].includes(meaningOf(request, refused) ?? '');
  if (!graphFailed || isReadOnly(request)) return found;
  const { code, status = 200, serverText = '' } = found;
  return new GraphException(
    code,
    `${found.message} The statement after it may have been run all the same, on another graph.`,
    {
      hint: 'Check the name of the graph, and look at the secrets of the others.',
      option: 'graph',
      status,
      serverText,
      ambiguous: true,
    },
  );
}

/** Reads the answer to `SHOW SECRET`. The values are masked, even if the server sends them whole. */
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
  const failed = failedLine(request, reply, output);
  const isOfAnotherGraph = failed !== -1 && failed < output.lines.findIndex((line) => LIST_LINE.test(line));
  if (wrong !== undefined && (found.length === 0 || output.returnCode || isOfAnotherGraph)) throw wrong;
  const known =
    found.length > 0 ||
    output.returnCode === 0 ||
    output.lines.length === 0 ||
    output.lines.some((line) => /^Using graph '|\bno secrets?\b/i.test(line));
  if (!known) throw badResponse(request, reply, 'this is no list of secrets');
  return found;
}

/** Reads the value of the new secret from the answer to `CREATE SECRET`. */
export function parseCreated(request: HttpRequest, reply: HttpReply): Sensitive {
  const output = readOutput(request, reply);
  const failed = failedLine(request, reply, output);
  for (const line of output.lines.slice(0, failed === -1 ? undefined : failed)) {
    const [, value, end] = /\bThe secret: ([\x21-\x7e]{1,1024})(\s|$)/.exec(line) ?? [];
    // A value that may be cut off is not returned, because it would be saved as if it were whole.
    if (value !== undefined && !(end === '' && output.cutOff)) return new Sensitive(value);
  }
  throw (
    complaint(request, reply, output) ??
    new GraphException('BAD_RESPONSE', 'The server did not say whether the secret was created.', {
      hint: 'Look at the list of secrets.',
      remedies: ['list-secrets'],
      status: reply.status,
      ambiguous: true,
    })
  );
}

/**
 * Reads the answer to `DROP SECRET`: undefined when the secret was dropped, else the server's error. Servers send the
 * same message for an unknown alias as for other errors, so the caller checks whether the alias is still listed.
 */
export function parseDropped(request: HttpRequest, reply: HttpReply): GraphException | undefined {
  const output = readOutput(request, reply);
  const failed = failedLine(request, reply, output);
  const counted = output.lines.slice(0, failed === -1 ? undefined : failed);
  if (counted.some((line) => /^\s*Successfully dropped secrets?\b/i.test(line))) return undefined;
  const wrong = complaint(request, reply, output);
  if (wrong === undefined)
    throw badResponse(request, reply, 'the answer does not say whether the secret is gone');
  return wrong;
}

/** Returns the value as the server masked it, or masks it here. */
export function masked(value: string): string {
  return /^[\x21-\x7e]{0,4}\*{4}[\x21-\x7e]{0,4}$/.test(value) ? value : maskSecret(value);
}

/** Removes control characters from a name, because names from the server are shown on terminals. */
export function withoutControls(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, '');
}

/** Reads the answer to a `USE GRAPH` that was sent alone. Throws when there is no such graph. */
export function checkGraphInUse(request: HttpRequest, reply: HttpReply): void {
  const wrong = complaint(request, reply, readOutput(request, reply));
  if (wrong !== undefined) throw wrong;
}

/**
 * Returns the error of a caller's own statements in a text that came with status 200: by the return code, or, where a
 * server sends none (4.x), by the lines.
 */
export function failedStatement(request: HttpRequest, reply: HttpReply): GraphException | undefined {
  if (reply.status !== 200 || readEnvelope(reply) !== undefined) return undefined;
  const { lines, returnCode } = parseOutput(reply.body);
  const base = { status: reply.status, code: '', returnCode };
  const asked = ['create-secret', 'drop-secret'] as const;
  const isKnown = (message: string) =>
    asked.some((operation) => meaningOf({ ...request, operation }, { ...base, message }) !== undefined);
  const message = returnCode === undefined ? lines.find(isKnown) : lines.join('\n');
  if (message === undefined || returnCode === 0) return undefined;
  const { code } = refusal(request, { ...base, message });
  const shown = returnCode === undefined ? '' : ` (return code ${returnCode})`;
  return new GraphException(code, `A statement failed${shown}.`, {
    hint: 'Read what the server answered; other statements may have run all the same.',
    status: reply.status,
  });
}

type Run = (statement: string, operation: Operation, alias?: string) => Promise<Exchange>;

const PLAIN_ALIAS = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Implements the three operations on secrets with GSQL statements. `run` sends one and chooses the graph if there is
 * one.
 */
export function gsqlSecrets(run: Run): Pick<Protocol, 'listSecrets' | 'createSecret' | 'dropSecret'> {
  const listSecrets = async (): Promise<Secret[]> => {
    const { request, reply } = await run(SHOW_SECRET, 'list-secrets');
    return parseSecretList(request, reply);
  };

  return {
    listSecrets,

    async createSecret(alias, wantAlias) {
      // The answer does not name a generated alias, so the lists before and after are compared.
      const before = alias === '' && wantAlias ? await listSecrets() : undefined;
      const { request, reply } = await run(createSecretStatement(alias), 'create-secret', alias);
      const value = parseCreated(request, reply);
      if (before === undefined) return { alias, value };
      return { alias: await newAlias(before, listSecrets, maskSecret(value.reveal())), value };
    },

    async dropSecret(alias) {
      if (!PLAIN_ALIAS.test(alias) && !isListed(await listSecrets(), alias)) return 'missing';
      const { request, reply } = await run(dropSecretStatement(alias), 'drop-secret', alias);
      const refused = parseDropped(request, reply);
      if (refused === undefined) return 'dropped';
      if (refused.code !== 'SERVER_ERROR' || isListed(await listSecrets(), alias)) throw refused;
      return 'missing';
    },
  };
}

export function isListed(secrets: readonly Secret[], alias: string): boolean {
  return secrets.some((secret) => secret.alias === alias);
}

/**
 * Finds the alias that the server generated; empty if it cannot. An error would lose the secret's value, shown only
 * once.
 */
async function newAlias(
  before: Secret[],
  list: () => Promise<Secret[]>,
  mask: string,
): Promise<NewSecret['alias']> {
  const after = await list().catch(() => list().catch((): Secret[] => []));
  const added = after.filter((secret) => secret.masked === mask && !isListed(before, secret.alias));
  return added.length === 1 ? (added[0]?.alias ?? '') : '';
}
