import { badResponse, type Fields, isRecord } from './envelope.js';
import type { HttpReply, HttpRequest } from './http.js';
import { Sensitive } from './sensitive.js';

/** The end of the year 9999: no clock of ours goes further. */
const LAST_SECOND = 253_402_300_799;
/** Below it, 3.x means "seconds from now" (a known defect of its refresh). */
const FIRST_EPOCH = 1_000_000_000;

/** The token of an answer: top level for a secret, under `results` for a password on 3.x. */
export function readToken(request: HttpRequest, reply: HttpReply, fields: Fields): Sensitive {
  const { results } = fields;
  const inner = Array.isArray(results) ? results[0] : results;
  const token = fields.token ?? (isRecord(inner) ? inner.token : undefined);
  // It goes into a header, so it must be one visible word.
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token)) {
    throw badResponse(request, reply, 'there is no token in the answer');
  }
  return new Sensitive(token);
}

/** 3.x: Unix seconds, or seconds from now when small. Undefined when it is neither. */
export function readExpiration(value: unknown, nowUnix: number): number | undefined {
  const seconds = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof seconds !== 'number' || !(seconds > 0)) return undefined;
  const end = Math.floor(seconds < FIRST_EPOCH ? nowUnix + seconds : seconds);
  return end <= LAST_SECOND ? end : undefined;
}

export interface Claims {
  readonly exp: number;
  readonly iat: number | undefined;
}

/** What a JWT says of its own life; undefined when it is no JWT or does not say. Not a check of any kind. */
export function readClaims(token: Sensitive): Claims | undefined {
  const payload = token.reveal().split('.')[1];
  if (payload === undefined) return undefined;
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!isRecord(claims)) return undefined;
  const exp = unixTime(claims.exp);
  return exp === undefined ? undefined : { exp, iat: unixTime(claims.iat) };
}

function unixTime(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 && value <= LAST_SECOND ? Math.floor(value) : undefined;
}

/** Unix seconds as `2023-11-21T22:13:20Z`. */
export function isoSeconds(unix: number): string {
  return new Date(unix * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
}
