import { checkRawCall } from './call-rules.js';
import { hiddenIn } from './http/errors.js';
import type { RawOptions, RawReply } from './options.js';
import { failedStatement } from './protocol/gsql.js';
import { LONGEST_REFUSAL, readRefusal } from './protocol/reply.js';
import type { ServerCall, ServerSession } from './protocol/session.js';
import { upTo, withoutCredentials } from './redact.js';

const RAW_MAX_BYTES = 64 * 1024 * 1024;
const STATEMENTS = /^\/(?:gsqlserver\/gsql\/(?:file|command)|gsql\/v1\/statements)(?:\?|$)/;
/** The GSQL server puts the login into its session cookie, and repeats the cookie in its texts. */
const COOKIES = /^__GSQL__COOKIES__.*\r?\n?/gm;

/** Sends one request as a user wrote it. Throws when the answer refuses the credential, unless `keepRefusal` is set. */
export async function sendRaw(
  session: ServerSession,
  { server, method, path, authorization }: Pick<ServerCall, 'server' | 'method' | 'path' | 'authorization'>,
  options: RawOptions,
): Promise<RawReply> {
  const { restUrl, gsqlUrl } = session.servers;
  const call = checkRawCall(server === 'rest' ? restUrl : gsqlUrl, method, path, options);
  const exchange = await session.ask({ ...call, server, authorization, maxBytes: RAW_MAX_BYTES });
  const { request, reply } = exchange;
  const { status, headers } = reply;
  // In latin1 each byte is a character, so that bytes that are no text stay as they are.
  const sent = Buffer.from(reply.bytes ?? reply.body).toString('latin1');
  const bytes = Buffer.from(sent.replace(COOKIES, ''), 'latin1');
  const body = bytes.toString();
  const refused = readRefusal(exchange);
  if (refused === undefined) {
    const failed = options.keepRefusal && STATEMENTS.test(request.path) && failedStatement(exchange);
    return { status, headers, body, bytes, ...(failed && { refusal: failed }) };
  }
  if (!options.keepRefusal) throw refused;
  // Servers quote the token that they refuse, and people share error messages.
  const short = body.length > LONGEST_REFUSAL ? `${upTo(body, LONGEST_REFUSAL)}…` : body;
  const hide = (text: string) => withoutCredentials(text, hiddenIn(request));
  const shown = hide(short);
  const shownHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, hide(value)]),
  );
  return { status, headers: shownHeaders, body: shown, bytes: Buffer.from(shown), refusal: refused };
}
