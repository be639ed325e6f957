import type { Call } from '../auth/call.js';
import { findVersion } from '../auth/connect.js';
import type { Credential } from '../auth/credential.js';
import { serversInForce } from '../auth/servers.js';
import { GraphException } from '../core/errors.js';
import { readClaims } from '../core/protocol/reply.js';
import type { ServerVersion } from '../core/protocol/types.js';
import { isoSeconds } from '../core/time.js';
import type { NewToken } from './token-cache.js';

/** @throws GraphException USAGE when a lifetime was typed */
export function refuseLifetime({ settings }: Call, label: string): void {
  if (settings.all.lifetime[0]?.level !== 'flag') return;
  throw new GraphException('USAGE', `The JWT from ${label} has its own end; --lifetime cannot change it.`, {
    hint: 'leave --lifetime out',
  });
}

/**
 * Returns an identity provider's JWT as the token that it is: nothing is minted. Its signature is the server's to
 * check.
 * @throws GraphException AUTH_FAILED before any request when it is no JWT or ends too soon; USAGE, UNSUPPORTED
 */
export async function identityToken(
  call: Call,
  { value, label }: Pick<Credential, 'value' | 'label'>,
): Promise<NewToken> {
  const { ports, minTtl } = call;
  refuseLifetime(call, label);
  const requestedAtMs = ports.now();
  const token = await value();
  const claims = readClaims(token);
  const now = ports.now() / 1000;
  const refuse = (problem: string, or = '') =>
    new GraphException('AUTH_FAILED', `The JWT from ${label} ${problem}.`, {
      hint: `get a new one from the identity provider${or}`,
    });
  if (claims === undefined) throw refuse('is no JWT with an end (exp)');
  const end = isoSeconds(claims.exp);
  if (claims.exp <= now) throw refuse(`expired at ${end}`);
  if (claims.exp <= now + minTtl)
    throw refuse(`expires at ${end}, sooner than in ${minTtl} s (--min-ttl)`, ', or ask for less: --min-ttl');
  const version = await requireJwtServer(call);
  return {
    token,
    expiresAtUnix: claims.exp,
    lifetimeSeconds: Math.round(claims.exp - now),
    serverVersion: version.version,
    servers: await serversInForce(call),
    requestedAtMs,
  };
}

/** @throws GraphException UNSUPPORTED when the server takes no JWT */
export async function requireJwtServer(call: Call): Promise<ServerVersion> {
  const version = await findVersion(call);
  if (version.takesJwt) return version;
  throw new GraphException('UNSUPPORTED', `A ${version.version} server takes no JWT: 3.10 and later do.`, {
    hint: 'use a secret: --secret-stdin, --secret-file, GRAPHCRED_SECRET',
  });
}
