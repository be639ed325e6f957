import { GraphException } from '../errors.js';
import { isHtml, isReadOnly, what } from '../http/errors.js';
import type { HttpReply, HttpRequest } from '../http/types.js';
import { Sensitive } from '../sensitive.js';
import { meaningOf, type Refused, refusal } from './meanings.js';
import type { Call, Session } from './types.js';

export type Fields = Readonly<Record<string, unknown>>;

/** A request and the answer to it. */
export interface Exchange {
  readonly request: HttpRequest;
  readonly reply: HttpReply;
}

export async function ask(session: Session, call: Call): Promise<Exchange> {
  const request = session.request(call);
  return { request, reply: await session.send(request) };
}

/** A JSON answer of either server. */
export interface Envelope {
  readonly refused: boolean;
  readonly code: string;
  readonly message: string;
  readonly fields: Fields;
}

/**
 * Returns the answer as JSON object with the keys both servers use; undefined when it is anything else. Every documented
 * success says that there was no error: a health page such as `{"status":"UP"}` does not.
 */
export function readEnvelope(reply: HttpReply): Envelope | undefined {
  const fields = parseLenient(reply.body);
  if (!isRecord(fields)) return undefined;
  const { error, code, message } = fields;
  // Servers write the flag as boolean, as text, or leave it empty.
  const isRefused = error === true || error === 'true';
  const saysNo = error === false || error === 'false' || error === '';
  if (!isRefused && !saysNo && !(error === undefined && reply.status >= 400)) return undefined;
  return {
    refused: isRefused || reply.status >= 400,
    code: typeof code === 'string' ? code : '',
    message: typeof message === 'string' ? message : '',
    fields,
  };
}

/**
 * Returns the fields of a successful answer. Throws the server's error, or BAD_RESPONSE when the answer does not come
 * from one of these servers.
 */
export function expectFields(request: HttpRequest, reply: HttpReply): Fields {
  const envelope = readEnvelope(reply);
  if (envelope === undefined) throw notAnEnvelope(request, reply);
  const { code, message } = envelope;
  if (envelope.refused) throw refusal(request, { status: reply.status, code, message });
  return envelope.fields;
}

/** Returns what the server refuses; undefined for a success. Throws when the answer does not come from one of these servers. */
export function readRefusal(request: HttpRequest, reply: HttpReply): Refused | undefined {
  const envelope = readEnvelope(reply);
  if (envelope === undefined) throw notAnEnvelope(request, reply);
  const { refused, code, message } = envelope;
  return refused ? { status: reply.status, code, message } : undefined;
}

/** Reads the answer to the deletion of a token. */
export function readDeletion({ request, reply }: Exchange): 'deleted' | 'missing' {
  const refused = readRefusal(request, reply);
  if (refused === undefined) return 'deleted';
  if (meaningOf(request, refused) === 'unknown-token') return 'missing';
  throw refusal(request, refused);
}

export function notAnEnvelope(request: HttpRequest, reply: HttpReply): GraphException {
  // A 401 or 403 is clear without JSON; with any other status such a text comes from a proxy or another program.
  if (reply.status === 401 || reply.status === 403) {
    return refusal(request, { status: reply.status, code: '', message: isHtml(reply) ? '' : reply.body });
  }
  return badResponse(
    request,
    reply,
    isHtml(reply) ? 'a web page came back' : 'the answer is not what was agreed',
  );
}

export function badResponse(request: HttpRequest, reply: HttpReply, problem: string): GraphException {
  return new GraphException('BAD_RESPONSE', `${what(request)}: ${problem} (HTTP ${reply.status}).`, {
    hint: 'Check the addresses and the version of the server.',
    // A 404 for a path of the protocol means that the server has another version.
    remedies: reply.status === 404 && request.operation ? ['examine', 'give-version'] : ['examine'],
    status: reply.status,
    ambiguous: reply.status < 400 && !isReadOnly(request),
  });
}

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Parses JSON as the servers write it, with raw line breaks inside strings. Control characters are replaced by blanks.
 */
function parseLenient(body: string): unknown {
  // A proxy or a web server may put a byte order mark before it.
  const text = body.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(text);
  } catch {
    try {
      return JSON.parse(text.replace(/\p{Cc}/gu, ' '));
    } catch {
      return undefined;
    }
  }
}

/** The end of the year 9999, the last that an ISO date can show. */
const LAST_SECOND = 253_402_300_799;
/** A 3.x server means "seconds from now" by a smaller number (a known defect of its refresh). */
const FIRST_EPOCH = 1_000_000_000;

/** Reads the token from an answer. It is at the top level for a secret, and under `results` for a password on 3.x. */
export function readToken(request: HttpRequest, reply: HttpReply, fields: Fields): Sensitive {
  const { results } = fields;
  const inner = Array.isArray(results) ? results[0] : results;
  const token = fields.token ?? (isRecord(inner) ? inner.token : undefined);
  // The token goes into a header, so it may hold only visible ASCII characters.
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token)) {
    throw badResponse(request, reply, 'there is no token in the answer');
  }
  return new Sensitive(token);
}

/**
 * Reads the expiry of a 3.x answer: Unix seconds, or seconds from now when the number is small. Undefined when it is
 * neither.
 */
export function readExpiration(value: unknown): { seconds: number; isRelative: boolean } | undefined {
  const seconds = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof seconds !== 'number' || !(seconds > 0)) return undefined;
  return seconds <= LAST_SECOND
    ? { seconds: Math.floor(seconds), isRelative: seconds < FIRST_EPOCH }
    : undefined;
}

/**
 * A clock that differs by more is taken to be wrong; then the `Date` header counts only if the token's life agrees with
 * it.
 */
const LARGEST_SKEW_SECONDS = 86_400;

/**
 * Returns the time by the server's clock. A `Date` header far from our clock may come from a proxy or be wrong.
 * @param expiresAtUnix the expiry of the new token, if the server gave one
 */
export function serverClock(reply: HttpReply, lifetime: number, expiresAtUnix: number | undefined): number {
  const now = Math.floor(Date.now() / 1000);
  if (Math.abs(reply.timeUnix - now) <= LARGEST_SKEW_SECONDS) return reply.timeUnix;
  if (expiresAtUnix === undefined) return now;
  const off = (clock: number) => Math.abs(expiresAtUnix - clock - lifetime);
  return off(reply.timeUnix) < off(now) ? reply.timeUnix : now;
}

export interface Claims {
  readonly exp: number;
  readonly iat: number | undefined;
  /** The user whom it names. */
  readonly sub: string | undefined;
  readonly iss: string | undefined;
  readonly aud: readonly string[];
}

/**
 * Reads the times of issue and expiry from a JWT, without verifying it. Undefined when the token is not a JWT or has no
 * such times.
 */
export function readClaims(token: Sensitive): Claims | undefined {
  const payload = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token.reveal())?.[1];
  if (payload === undefined) return undefined;
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!isRecord(claims)) return undefined;
  const exp = unixTime(claims.exp);
  const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const { sub, iss } = claims;
  const aud = [claims.aud].flat().flatMap((one) => textOf(one) ?? []);
  return exp === undefined
    ? undefined
    : { exp, iat: unixTime(claims.iat), sub: textOf(sub), iss: textOf(iss), aud };
}

function unixTime(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 && value <= LAST_SECOND ? Math.floor(value) : undefined;
}

/** Formats Unix seconds as `2023-11-21T22:13:20Z`. */
export function isoSeconds(unix: number): string {
  return new Date(unix * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
}
