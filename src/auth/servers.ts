import type { LeftOut, Pair } from '../config/keys.js';
import { describePair } from '../config/target.js';
import { type Servers, serversOf } from '../core/endpoints.js';
import { GraphException } from '../core/errors.js';
import { findVersion, knownVersion } from './connect.js';
import type { Run } from './run.js';

/**
 * Creates the error for a credential of another database than the one in force. Sends no request.
 * @param what names the credential
 */
export function mismatch({ target }: Run, { pair }: LeftOut, what: string, hint: string): GraphException {
  const message = `${what} belongs to ${describePair(pair)}; it is not sent to ${describePair(target)}.`;
  return new GraphException('HOST_MISMATCH', message, { hint });
}

/** Returns the pair of base URLs in force, as far as it is known without asking the server. */
export function knownPair(run: Run): Pair {
  const { endpoints, gsqlUrl, restUrl } = run.target;
  const version = restUrl === undefined ? knownVersion(run, gsqlUrl, run.settings.serverVersion) : undefined;
  return version ? serversOf(endpoints, version) : { gsqlUrl, restUrl };
}

/**
 * Returns the pair of base URLs in force. If the REST server's depends on an unknown version, the server is asked for
 * it without a credential.
 */
export async function serversInForce(run: Run): Promise<Servers> {
  const { endpoints, gsqlUrl, restUrl } = run.target;
  return restUrl === undefined ? serversOf(endpoints, await findVersion(run)) : { gsqlUrl, restUrl };
}
