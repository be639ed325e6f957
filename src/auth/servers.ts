import type { LeftOut, Pair } from '../config/keys.js';
import { describePair } from '../config/target.js';
import { type Servers, serversOf } from '../core/endpoints.js';
import { GraphException } from '../core/errors.js';
import type { Call } from './call.js';
import { findVersion, knownVersion } from './connect.js';

/**
 * Creates the error for a credential of another database than the one in force. Sends no request.
 * @param what names the credential
 */
export function mismatch({ target }: Call, { pair }: LeftOut, what: string, hint: string): GraphException {
  const message = `${what} belongs to ${describePair(pair)}; it is not sent to ${describePair(target)}.`;
  return new GraphException('HOST_MISMATCH', message, { hint });
}

/** Returns the pair of base URLs in force, as far as it is known without asking the server. */
export function knownPair(call: Call): Pair {
  const { endpoints, gsqlUrl, restUrl } = call.target;
  const version = restUrl === undefined ? knownVersion(call, gsqlUrl, call.serverVersion) : undefined;
  return version ? serversOf(endpoints, version) : { gsqlUrl, restUrl };
}

/**
 * Returns the pair of base URLs in force. If the REST server's depends on an unknown version, the server is asked for
 * it without a credential.
 */
export async function serversInForce(call: Call): Promise<Servers> {
  const { endpoints, gsqlUrl, restUrl } = call.target;
  return restUrl === undefined ? serversOf(endpoints, await findVersion(call)) : { gsqlUrl, restUrl };
}
