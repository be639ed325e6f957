import { knownServers } from './endpoints.js';
import { usageError } from './errors.js';
import type { ConnectionOptions } from './options.js';
import { VersionFinder } from './protocol/detect-version.js';
import { checked } from './schema.js';
import { readGiven } from './sensitive.js';

/** What a connection was given, checked, and its current token. Nothing in it depends on the server's version. */
export type ConnectionSettings = ReturnType<typeof readOptions>;

const DEFAULT_TIMEOUT_MS = 30_000;

/** Checks the options of a connection. Throws USAGE. */
export function readOptions(given: ConnectionOptions) {
  const options = checked(given);
  if (options.username?.includes(':'))
    throw usageError('A user name cannot hold a colon.', ['give it without one', { setting: 'username' }]);
  const { host, restPort, gsqlPort, restUrl, gsqlUrl, serverVersion, knownVersion, onVersion } = options;
  const endpoints = { host, restPort, gsqlPort, restUrl, gsqlUrl };
  // A wrong address is refused now, not at the first call.
  const serviceUrl = knownServers(endpoints).gsqlUrl;
  const { timeoutMs = DEFAULT_TIMEOUT_MS, deadline, signal, tls = {}, proxy, onStart, onRequest } = options;
  return {
    endpoints,
    serviceUrl,
    timeoutMs,
    deadline,
    http: { signal, tls, proxy, onStart, onRequest },
    graph: options.graph || undefined,
    username: options.username || undefined,
    secretsOf: options.secretsOf || undefined,
    password: readGiven(options.password),
    secret: readGiven(options.secret),
    token: readGiven(options.apiToken ?? options.jwtToken),
    versions: new VersionFinder({ serviceUrl, serverVersion, knownVersion, onVersion }),
    graphsSeen: new Set<string>(),
  };
}
