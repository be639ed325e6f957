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

export function signJwt(claims: Claims, key: string): string {
  const unsigned = `${HEADER}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${unsigned}.${sign(unsigned, key).toString('base64url')}`;
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
