import { isUtf8 } from 'node:buffer';
import path from 'node:path';
import { callRest } from '../../app/call-rest.js';
import { findLogin } from '../../app/gsql-login.js';
import { connect } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import { checkRawCall } from '../../core/call-rules.js';
import { GraphException, usageError } from '../../core/errors.js';
import type { RawReply } from '../../core/options.js';
import { LONGEST_REFUSAL, readEnvelope } from '../../core/protocol/reply.js';
import type { Sensitive } from '../../core/sensitive.js';
import { readBounded, whyUnreadable } from '../../files/private-files.js';
import type { Invocation } from '../command.js';
import { escapeControls } from '../output/plain.js';
import { openRun } from '../session.js';

/** Servers of version 3.x decode the body of these like a form. */
const DECODED = /^\/gsqlserver\/gsql\/(?:file|command)(?:\?|$)/;
const MAX_BODY_BYTES = 64 * 1024 * 1024;
const NOT_REST = '; the REST and the GSQL URL are the same: on 4.x add /restpp to the REST URL';

export async function execute(invocation: Invocation): Promise<undefined> {
  const run = await openRun(invocation);
  const { flags, args } = invocation;
  const [route = ''] = args;
  const isService = flags.service === true;
  const typed = await bodyOf(invocation, run.time.limitMs);
  const body = isService && DECODED.test(route) && typed ? encoded(typed) : typed;
  const method = (flags.method as string | undefined) ?? (body === undefined ? 'GET' : 'POST');
  // A request that is not allowed is refused before a token is minted for it.
  checkRawCall(run.target.gsqlUrl, method, route, {});
  const ask = async (credential: Credential | undefined, token?: Sensitive) => {
    const { connection } = await connect(run, credential);
    // Without a token the connection keeps its login, which may be a JWT.
    if (token) connection.apiToken = token;
    const server = isService ? 'service' : 'rest';
    const reply = await connection[server](method, route, { body, keepRefusal: true });
    const { restUrl, gsqlUrl } = await connection.baseUrls();
    const about = !isService && restUrl === gsqlUrl ? NOT_REST : '';
    return { ...reply, from: isService ? gsqlUrl : restUrl, hint: `read the answer on stdout${about}` };
  };
  const answer = isService
    ? await ask(await findLogin(run))
    : await callRest(run, (token) => ask(undefined, token));
  print(invocation, answer);
}

/** Encodes each byte that the server would decode, so that `+` and `%` arrive as they were written. */
function encoded(body: string | Buffer): string {
  const hex = (letter: string) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`;
  const bytes = Buffer.from(body as string).toString('latin1');
  return bytes.replace(/[^\w.*-]/g, hex);
}

/** Returns the request's body: the typed words, a file's content, or stdin (`-`, and `@-` as curl has it). */
async function bodyOf({ ctx, flags }: Invocation, timeoutMs: number): Promise<string | Buffer | undefined> {
  const data = flags.data as string | undefined;
  if (data === '-' || data === '@-') return ctx.stdin.read({ maxBytes: MAX_BODY_BYTES, timeoutMs });
  if (!data?.startsWith('@')) return data;
  const file = path.resolve(ctx.cwd, data.slice(1));
  try {
    return (await readBounded(file, { maxBytes: MAX_BODY_BYTES, timeoutMs })).bytes;
  } catch (error) {
    if (error instanceof GraphException) throw error;
    const hint = 'check the path, the mode and the size of the file (64 MB at most)';
    throw usageError(`${file} cannot be read: ${whyUnreadable(error)}.`, hint);
  }
}

/** Prints the body unchanged, and throws when it reports an error: servers send errors with status 200 too. */
function print({ ctx, report, flags }: Invocation, answer: RawReply & Record<'from' | 'hint', string>): void {
  const { from, hint, status, headers, body, bytes, refusal } = answer;
  const isRefused = body.length <= LONGEST_REFUSAL && readEnvelope(answer)?.refused !== undefined;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  // A pipe gets exactly what the server sent; a terminal gets it with control characters escaped.
  const { isTTY } = ctx.stdout;
  const write = (text: string) =>
    isTTY ? report.result(escapeControls(text.replace(/\r\n/g, '\n'))) : report.raw(text);
  if (flags.include === true) write(`HTTP/1.1 ${status}\n${lines.join('')}\n`);
  if (body !== '' && (isTTY || isUtf8(bytes))) write(body);
  else if (body !== '') report.result(bytes);
  if (refusal) throw refusal;
  if (status < 400 && !isRefused) return;
  const code = status === 404 ? 'NOT_FOUND' : 'SERVER_ERROR';
  throw new GraphException(code, `${from} answered with an error (HTTP ${status}).`, { hint, status });
}
