import { GraphException } from '../errors.js';
import { addressOf, hiddenIn, isHtml, isReadOnly, what } from '../http/errors.js';
import type { Exchange, HttpReply } from '../http/types.js';
import type { MintedToken } from '../options.js';
import { withoutCredentials } from '../redact.js';
import { Sensitive } from '../sensitive.js';
import { LAST_SECOND } from '../time.js';
import { meaningOf, NO_TOKEN } from './meanings.js';
import { refusal } from './refusals.js';

export const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

type Json = Readonly<Record<string, unknown>>;

/**
 * Returns the answer as JSON object with the keys both servers use, and what the server refuses; undefined when it is
 * anything else. Every documented success says that there was no error: a health page such as `{"status":"UP"}` does not.
 */
export function readEnvelope({ status, body }: Pick<HttpReply, 'status' | 'body'>) {
  // Servers write raw line breaks inside strings: blanks take the place of control characters.
  const fields = parseJson(body) ?? parseJson(body.replace(/\p{Cc}/gu, ' '));
  if (!isJsonTable(fields)) return undefined;
  const { error, code, message } = fields;
  // Servers write the flag as boolean, as text, or leave it empty.
  const isRefused = error === true || error === 'true';
  const saysNo = error === false || error === 'false' || error === '';
  if (!isRefused && !saysNo && !(error === undefined && status >= 400)) return undefined;
  if (!isRefused && status < 400) return { fields, refused: undefined };
  const refused = { code: textIn(code), message: textIn(message) ?? '' };
  // Without the flag it may be the answer of a gateway in front of the server.
  return { fields, refused, isSure: isRefused };
}

/** Returns a success, or a refusal with its error and meaning. Throws when the answer is of neither of these servers. */
export function expectEnvelope(exchange: Exchange) {
  const envelope = readEnvelope(exchange.reply);
  if (envelope === undefined) throw notAnEnvelope(exchange);
  const { fields, refused, isSure } = envelope;
  if (refused === undefined) return { fields };
  return { refused, isSure, error: refusal(exchange, refused), means: meaningOf(exchange, refused) };
}

export function expectFields(exchange: Exchange): Json {
  const { fields, error } = expectEnvelope(exchange);
  if (fields) return fields;
  throw error;
}

/** Reads the answer to the deletion of a token. Returns the refusal of a token that the server does not know. */
export function readDeletion(exchange: Exchange): GraphException | undefined {
  const { error, means, isSure } = expectEnvelope(exchange);
  if (error && !(isSure && means === 'unknown-token')) throw error;
  return error;
}

/** Refusals are short: a larger answer is not parsed, and no more of one is read before it is passed on. */
export const LONGEST_REFUSAL = 16_384;

/** What a server says of a token that has expired, that it does not know, or that lacks a privilege. */
const OF_TOKEN = /^REST-1001[689]$/;

/** Returns the error with which an answer refuses the credential, rather than what was asked for with it. */
export function readRefusal(exchange: Exchange): GraphException | undefined {
  const { reply } = exchange;
  const { refused: told, isSure } = (reply.body.length <= LONGEST_REFUSAL && readEnvelope(reply)) || {};
  // The code of a gateway in front of the server says nothing about the token.
  const refused = isSure === false ? { ...told, message: told?.message ?? '', code: undefined } : told;
  const byStatus = reply.status === 401 || reply.status === 403;
  if (refused && (byStatus || OF_TOKEN.test(refused.code ?? ''))) return refusal(exchange, refused);
  return byStatus ? notAnEnvelope(exchange) : undefined;
}

/** Whether the server says of a token that it has expired, or that it does not know it; not that none came. */
export function isTokenEnded(error: GraphException | undefined): boolean {
  const isOfToken = error?.code === 'AUTH_FAILED' && OF_TOKEN.test(error.serverCode ?? '');
  return isOfToken && !NO_TOKEN.test(error.serverText ?? '');
}

/** Whether the server, or one in front of it, refused a token, perhaps without a reason. */
export function isTokenRefused(error: GraphException | undefined): boolean {
  return isTokenEnded(error) || (error?.code === 'AUTH_FAILED' && error.status === 401);
}

export function notAnEnvelope(exchange: Exchange): GraphException {
  const { reply } = exchange;
  // A 401 or 403 is clear without JSON; with any other status such a text comes from a proxy or another program.
  if (reply.status === 401 || reply.status === 403)
    return refusal(exchange, { message: isHtml(reply) ? '' : reply.body });
  const problem = isHtml(reply) ? 'a web page came back' : 'the answer does not have the expected form';
  return badResponse(exchange, problem);
}

export function badResponse({ request, reply: { status } }: Exchange, problem: string): GraphException {
  const message = `${what(request)} to ${addressOf(request)}: ${problem} (HTTP ${status}).`;
  return new GraphException('BAD_RESPONSE', message, {
    hint: ['check the addresses and the version of the server', { command: 'doctor' }],
    status,
    // With 4xx it was refused, by whatever has answered.
    ambiguous: (status < 400 || status >= 500) && !isReadOnly(request),
  });
}

export function isJsonTable(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A 3.x server means "seconds from now" by a smaller number (a known defect of its refresh). */
const FIRST_EPOCH = 1_000_000_000;
/** 4.x servers set a token's time of issue five seconds into the past. */
const BACKDATED_SECONDS = 5;

/** Reads a new token, by default with the life asked for. @param expiryIn in the token (4.x) or beside it (3.x) */
export function readMinted(exchange: Exchange, lifetime: number, expiryIn: 'token' | 'answer'): MintedToken {
  const { serverTimeUnix = Math.floor(Date.now() / 1000) } = exchange.reply;
  const { expiration, token: direct, results } = expectFields(exchange);
  // The token is at the top level for a secret, and under `results` for a password on 3.x.
  const inner = Array.isArray(results) ? results[0] : results;
  const token = direct ?? (isJsonTable(inner) ? inner.token : undefined);
  // It goes into a header, so it may hold only visible ASCII characters.
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token))
    throw badResponse(exchange, 'there is no token in the answer');
  const isJwt = expiryIn === 'token';
  const { exp, iat } = (isJwt && readClaims(new Sensitive(token))) || {};
  const told = isJwt ? exp : unixTime(expiration);
  const isEpoch = told !== undefined && (isJwt || told >= FIRST_EPOCH);
  const expiresAtUnix = isEpoch ? told : serverTimeUnix + (told ?? lifetime);
  const issuedAt = iat === undefined ? serverTimeUnix : iat + BACKDATED_SECONDS;
  const grantedSeconds = Math.max(0, expiresAtUnix - issuedAt);
  const text = typeof expiration === 'object' ? '' : String(expiration ?? '');
  const serverText = withoutCredentials(text, hiddenIn(exchange.request));
  return { token, expiresAtUnix, grantedSeconds, serverTimeUnix, serverText };
}

/** Reads a JWT without verifying it; `sub` is the user whom it names. Undefined when the token is no JWT, or one without an expiry. */
export function readClaims(token: Sensitive) {
  const payload = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token.reveal())?.[1] ?? '';
  const claims = parseJson(Buffer.from(payload, 'base64url').toString());
  const exp = isJsonTable(claims) ? unixTime(claims.exp) : undefined;
  if (!isJsonTable(claims) || exp === undefined) return undefined;
  const { iat, sub, iss } = claims;
  const aud = [claims.aud].flat().flatMap((one) => textIn(one) ?? []);
  return { exp, iat: unixTime(iat), sub: textIn(sub), iss: textIn(iss), aud };
}

/** Returns whole seconds from 1970 to the year 9999; undefined for anything else. */
function unixTime(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 && value <= LAST_SECOND ? Math.floor(value) : undefined;
}
