import { isBelow } from './endpoints.js';
import { type GraphException, usageError } from './errors.js';
import { hiddenIn } from './http/errors.js';
import type { Exchange } from './http/types.js';
import type { RawOptions, RawReply } from './options.js';
import { failedStatement } from './protocol/gsql.js';
import { refusal } from './protocol/meanings.js';
import { notAnEnvelope, readEnvelope } from './protocol/reply.js';
import type { ServerCall, ServerSession } from './protocol/session.js';
import { upTo, withoutCredentials } from './redact.js';

const RAW_MAX_BYTES = 64 * 1024 * 1024;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Headers that the connection sets itself, or that could redirect the request. */
const OWN_HEADERS =
  /^(?:authorization|connection|content-length|cookie|host|proxy-authorization|te|trailer|transfer-encoding|upgrade)$/;
/** Codes with which a server refuses a token that has expired or that it does not know. */
const EXPIRED_CODES = new Set(['REST-10016', 'REST-10019']);
const TOKEN_CODES = new Set(['REST-10016', 'REST-10018', 'REST-10019']);
const NOT_HERE = 'use the tools of the database itself, as an administrator who means it';
const STATEMENTS = /^\/(?:gsqlserver\/gsql\/(?:file|command)|gsql\/v1\/statements)(?:\?|$)/;
/** The GSQL server puts the login into its session cookie, and repeats the cookie in its texts. */
const COOKIES = /^__GSQL__COOKIES__.*\r?\n?/gm;
/** Refusals are short: a larger answer is not parsed, and no more of one is read before it is passed on. */
export const LONGEST_REFUSAL = 16_384;

/** Turns what a user wrote into a request to `base`. Throws USAGE for what must not be sent. */
export function checkRawCall(
  server: ServerCall['server'],
  base: string,
  method: string,
  path: string,
  { body, headers = {} }: RawOptions,
): ServerCall {
  const verb = method.toUpperCase();
  if (!METHODS.has(verb))
    throw usageError('This HTTP method is not supported.', `choose one of: ${[...METHODS].join(', ')}`);
  const target = resolveInside(base, path);
  refuseDangerous(verb, target);
  const checked = Object.fromEntries(Object.entries(headers).map(checkHeader));
  return { server, method: verb, path: target.href.slice(base.length), headers: checked, body };
}

function checkHeader([name, value]: [string, string]): [string, string] {
  const key = name.toLowerCase();
  const isName = /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(key);
  if (!isName || !/^[\t\x20-\x7e]*$/.test(value))
    throw usageError(
      'A header holds characters that no header may have.',
      'keep to letters, digits and plain punctuation',
    );
  if (OWN_HEADERS.test(key))
    throw usageError(`The header ${key} is set by graphcred itself.`, 'leave it out');
  return [key, value];
}

/** Returns the URL of a path below `base`. Throws USAGE for one that a server could read as leading elsewhere. */
export function resolveInside(base: string, path: string): URL {
  // The URL class drops line breaks and tabs and reads \ as /, so these checks and the server could read such a path
  // differently.
  if (!/^\/(?!\/)[^\\\p{Cc}]*$/u.test(path)) throw leadsElsewhere(path);
  const odd = /[^\x21-\x7e]/u.exec(path)?.[0];
  if (odd !== undefined) {
    const encoded = encodeURIComponent(Buffer.from(odd).toString());
    throw usageError(
      'A path has no blanks and no letters outside ASCII.',
      `write ${encoded} for the first of them`,
    );
  }
  if (path.includes('#'))
    throw usageError('A # would cut the path off, so this is not sent.', 'write %23 for it');
  const target = new URL(base + path);
  // A server that decodes before it routes, or drops what follows a ; as Tomcat does, would leave the base by such a
  // segment. The URL class has removed it.
  const [written = ''] = path.split('?', 1);
  if (/(?:^|[/\\])\.\.?(?:[/\\;]|$)/.test(decodeFully(written))) throw leadsElsewhere();
  if (!isBelow(base, target)) throw leadsElsewhere();
  return target;
}

function leadsElsewhere(path = ''): GraphException {
  return usageError(
    'The path must begin with one / and stay on this server.',
    /^[a-z]:\//i.test(path)
      ? 'Git Bash makes a file name of such a path: type MSYS_NO_PATHCONV=1 before the command'
      : 'give /graph/demo/vertices/Person?limit=2, for example; the address comes from the settings',
  );
}

/** @throws GraphException USAGE for a request that destroys the database or makes revoked tokens valid again */
export function refuseDangerous(method: string, target: URL): void {
  const path = decodeFully(target.pathname).toLowerCase();
  if (path.includes('drop-all'))
    throw usageError('This call wipes the whole database, so graphcred does not send it.', NOT_HERE);
  const query = decodeFully(target.search.replaceAll('+', ' ')).toLowerCase();
  if (method === 'DELETE' && /\/tokens\b/.test(path) && /[?&;\s]clear\b/.test(path + query))
    throw usageError('This call brings revoked tokens back, so graphcred does not send it.', NOT_HERE);
}

/** Decodes until nothing changes, since each of several servers in a chain decodes once. */
function decodeFully(text: string): string {
  let current = text;
  for (let round = 0; round < 8; round++) {
    const decoded = current.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (decoded === current) return current;
    current = decoded;
  }
  throw usageError(
    'The path is encoded too many times.',
    'write it as the server shall read it, encoded once',
  );
}

/** Whether the server says of a token that it has expired, or that it does not know it. */
export function isTokenEnded(error: GraphException | undefined): boolean {
  return error?.code === 'AUTH_FAILED' && EXPIRED_CODES.has(error.serverCode ?? '');
}

/** Whether the server, or one in front of it, refused a token, perhaps without a reason. */
export function isTokenRefused(error: GraphException | undefined): boolean {
  return isTokenEnded(error) || (error?.code === 'AUTH_FAILED' && error.status === 401);
}

/** Sends one request as a user wrote it. Throws when the answer refuses the credential, unless `keepRefusal` is set. */
export async function sendRaw(
  session: ServerSession,
  { server, method, path, authorization }: Pick<ServerCall, 'server' | 'method' | 'path' | 'authorization'>,
  options: RawOptions,
): Promise<RawReply> {
  const { restUrl, gsqlUrl } = session.servers;
  const call = checkRawCall(server, server === 'rest' ? restUrl : gsqlUrl, method, path, options);
  const exchange = await session.ask({ ...call, authorization, maxBytes: RAW_MAX_BYTES, reuses: true });
  const { request, reply } = exchange;
  const { status, headers } = reply;
  const body = reply.body.replace(COOKIES, '');
  const refused = refusalOf(exchange);
  if (refused === undefined) {
    const failed = options.keepRefusal && STATEMENTS.test(request.path) && failedStatement(exchange);
    const sent = reply.bytes ?? Buffer.from(reply.body);
    const bytes = body === reply.body ? sent : withoutCookies(sent);
    return { status, headers, body, bytes, ...(failed && { refusal: failed }) };
  }
  if (!options.keepRefusal) throw refused;
  // Servers quote the token that they refuse, and people share error messages.
  const short = body.length > LONGEST_REFUSAL ? `${upTo(body, LONGEST_REFUSAL)}…` : body;
  const shown = withoutCredentials(short, hiddenIn(request));
  return { status, headers, body: shown, bytes: Buffer.from(shown), refusal: refused };
}

function withoutCookies(bytes: Uint8Array): Uint8Array {
  // In latin1 each byte is a character, so that bytes that are no text stay as they are.
  return Buffer.from(Buffer.from(bytes).toString('latin1').replace(COOKIES, ''), 'latin1');
}

/** Returns the error with which an answer refuses the credential, rather than what was asked for with it. */
export function refusalOf(exchange: Exchange): GraphException | undefined {
  const { reply } = exchange;
  const refused = reply.body.length <= LONGEST_REFUSAL ? readEnvelope(reply)?.refused : undefined;
  const byStatus = reply.status === 401 || reply.status === 403;
  if (refused && (byStatus || TOKEN_CODES.has(refused.code ?? ''))) return refusal(exchange, refused);
  return byStatus ? notAnEnvelope(exchange) : undefined;
}
