import { GraphException } from '../../core/errors.js';
import type { RedisAddress } from '../store.js';
import { ServerRefusal } from './connection.js';
import { InvalidReply } from './replies.js';
import { addressText } from './url.js';

/** Matches the codes of a failed TLS handshake. */
const ABOUT_TLS = /CERT|SIGNATURE|SIGNED|^ERR_(SSL|TLS)|^EPROTO$/;

/** Whether the connection failed because of TLS or of a certificate. */
export function isAboutTls(error: unknown): boolean {
  return ABOUT_TLS.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

const HINTS: Readonly<Record<string, string>> = {
  NOAUTH: 'set GRAPHCRED_REDIS_PASSWORD_FILE, and GRAPHCRED_REDIS_USERNAME if the server has users',
  WRONGPASS: 'check GRAPHCRED_REDIS_USERNAME and GRAPHCRED_REDIS_PASSWORD_FILE',
  NOPERM: 'give the Redis user the rights that docs/fleet.md lists',
  OOM: 'raise the maxmemory of the server: it has no memory left',
  READONLY: 'let GRAPHCRED_REDIS_URL name the master: this is a replica',
  NOREPLICAS: 'connect its replicas, or lower its min-replicas-to-write',
  'no such master': 'check GRAPHCRED_REDIS_SENTINEL_MASTER',
  CERT_HAS_EXPIRED: 'ask the administrator of the server to renew it',
  ERR_TLS_CERT_ALTNAME_INVALID: 'write the host in GRAPHCRED_REDIS_URL as the certificate names it',
};

function tlsHint(code: string): string {
  return /CERT|SIGN/.test(code)
    ? 'set GRAPHCRED_REDIS_CA to the PEM file of the CA'
    : 'check that this port speaks TLS: rediss:// is for one that does, redis:// for one that does not';
}

/**
 * Creates the error without the server's own text: a hostile server may send anything, and may repeat what it was sent.
 */
export function unavailable(error: unknown, addresses: readonly RedisAddress[]): GraphException {
  const server = addresses.map(addressText).join(', ');
  const code = codeOf(error);
  const isAnswer = error instanceof ServerRefusal || error instanceof InvalidReply;
  const broken = REASONS[code] ?? (code || (error instanceof Error ? error.message : 'unknown error'));
  const hint = HINTS[code] ?? (isAboutTls(error) ? tlsHint(code) : undefined);
  const problem = isAnswer
    ? `use the Redis server ${server}: ${error.message}`
    : `reach the Redis server ${server}: ${broken}`;
  return new GraphException('STORE_UNAVAILABLE', `cannot ${problem}`, {
    ...(hint === undefined
      ? { hint: 'check GRAPHCRED_REDIS_URL and that the server is up', remedies: ['examine'] }
      : { hint }),
    ...(error instanceof ServerRefusal && { serverCode: code }),
    ...(isAboutTls(error) && { setting: 'redis.ca' }),
  });
}

const UNKNOWN_CA = 'the certificate is self-signed or its CA is unknown';
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'it closed the connection',
  ENOENT: 'there is no such socket',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be looked up',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'there is no route to it',
  EACCES: 'permission denied',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate belongs to another host',
};
