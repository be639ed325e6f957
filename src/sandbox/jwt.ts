import crypto from 'node:crypto';

/** What the sandbox reads of a JWT; only `sub` and `exp` are known to have these types. Times are epoch seconds. */
export interface Claims {
  readonly sub: string;
  readonly exp: number;
  readonly iat?: unknown;
  readonly iss?: unknown;
  readonly aud?: unknown;
  readonly graph?: unknown;
}

/** Signs with HS256, as the servers do. */
export function signJwt(claims: Claims, key: string): string {
  const parts = ['{"alg":"HS256"}', JSON.stringify(claims)];
  const unsigned = parts.map((part) => Buffer.from(part).toString('base64url')).join('.');
  return `${unsigned}.${crypto.createHmac('sha256', key).update(unsigned).digest('base64url')}`;
}

/** Returns the claims, or what is wrong but expiry. @param key PEM (RS256 to RS512) or a secret (HS256 to HS512) */
export function readJwt(token: string, key: string | Buffer): Claims | 'malformed' | 'signature' {
  const [header = '', payload = '', signature, ...rest] = token.split('.');
  if (signature === undefined || rest.length > 0) return 'malformed';
  let alg: unknown;
  let claims: Claims;
  try {
    alg = (JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg?: unknown }).alg;
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
  } catch {
    return 'malformed';
  }
  if (typeof claims?.sub !== 'string' || typeof claims.exp !== 'number') return 'malformed';
  const isPublic = key.includes('-----BEGIN ');
  // The kind of key decides, so that a public key never counts as the secret of an HMAC.
  const [, bits] = (isPublic ? /^RS(256|384|512)$/ : /^HS(256|384|512)$/).exec(String(alg)) ?? [];
  if (bits === undefined) return 'signature';
  const unsigned = Buffer.from(`${header}.${payload}`);
  const given = Buffer.from(signature, 'base64url');
  if (isPublic) return crypto.verify(`RSA-SHA${bits}`, unsigned, key, given) ? claims : 'signature';
  const right = crypto.createHmac(`sha${bits}`, key).update(unsigned).digest();
  return given.length === right.length && crypto.timingSafeEqual(given, right) ? claims : 'signature';
}
