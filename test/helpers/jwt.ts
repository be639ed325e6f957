// JWTs as an identity provider makes them, made with Node's own functions and none of the product.
import crypto from 'node:crypto';

/** The keys of the provider, and of a client for which a JWT stands. */
export const { publicKey, privateKey } = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 });

/** The public key, as the server is given it. */
export const PEM = publicKey.export({ type: 'spki', format: 'pem' }).toString();

const unsignedOf = (header: object, claims: object) =>
  [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');

export function rsaJwt(
  claims: object,
  header: object = { alg: 'RS256', kid: 'one' },
  key: crypto.KeyLike = privateKey,
): string {
  const unsigned = unsignedOf(header, claims);
  return `${unsigned}.${crypto.sign('RSA-SHA256', Buffer.from(unsigned), key).toString('base64url')}`;
}

export function hmacJwt(claims: object, secret: string): string {
  const unsigned = unsignedOf({ alg: 'HS256' }, claims);
  return `${unsigned}.${crypto.createHmac('sha256', secret).update(unsigned).digest('base64url')}`;
}
