import crypto from 'node:crypto';

/** Exactly the claims of the servers' sample tokens. Times are epoch seconds. */
export interface Claims {
  sub: string;
  iat: number;
  exp: number;
  iss: string;
  graph?: string;
}

const HEADER = Buffer.from('{"alg":"HS256"}').toString('base64url');

function sign(unsigned: string, key: string): Buffer {
  return crypto.createHmac('sha256', key).update(unsigned).digest();
}

/** An identity provider whose JWTs the server takes: the key of `Security.JWT`, and what is checked besides. */
export interface Provider {
  /** PEM of a public key (RS256 to RS512), or the secret of HS256 to HS512. */
  readonly key: string;
  readonly issuer?: string;
  readonly audience?: string;
}

/** What a provider's JWT says; each may be anything but `sub` and `exp`. */
export interface ProviderClaims {
  readonly sub: string;
  readonly exp: number;
  readonly iss?: unknown;
  readonly aud?: unknown;
  readonly graph?: unknown;
}

/** Returns the claims of a provider's JWT, or why its form or signature is wrong. */
export function readProviderJwt(
  token: string,
  { key }: Provider,
): ProviderClaims | 'malformed' | 'signature' {
  const [header = '', payload = '', signature = '', ...rest] = token.split('.');
  if (rest.length > 0) return 'malformed';
  let alg: unknown;
  let claims: ProviderClaims;
  try {
    alg = (JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg?: unknown }).alg;
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as ProviderClaims;
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

export function signJwt(claims: Claims, key: string): string {
  const unsigned = `${HEADER}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${unsigned}.${sign(unsigned, key).toString('base64url')}`;
}

/** Whether a text has the form of a JWT: three parts, the first of which begins a JSON object. */
export function isJwt(token: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(token);
}

/** Returns the claims, or the reason why the token is not from this sandbox. It does not check the expiry. */
export function readJwt(token: string, key: string): Claims | 'malformed' | 'signature' {
  const [header, payload, signature, ...rest] = token.split('.');
  if (!header || !payload || !signature || rest.length > 0) return 'malformed';
  let claims: Claims;
  try {
    const head = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg?: unknown };
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
    if (head?.alg !== 'HS256' || typeof claims?.sub !== 'string' || typeof claims.exp !== 'number')
      return 'malformed';
  } catch {
    return 'malformed';
  }
  const given = Buffer.from(signature, 'base64url');
  const right = sign(`${header}.${payload}`, key);
  return given.length === right.length && crypto.timingSafeEqual(given, right) ? claims : 'signature';
}
