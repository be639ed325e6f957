import { knownServers } from './endpoints.js';
import { usageError } from './errors.js';
import type { HttpSettings } from './http/send.js';
import type { CallOptions, ConnectionOptions } from './options.js';
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
  const { timeoutMs = DEFAULT_TIMEOUT_MS, tls = {} } = options;
  const { deadline, signal, proxy, onStart, onRequest } = options;
  const http = { timeoutMs, deadline, signal, tls, proxy, onStart, onRequest };
  return {
    endpoints,
    serviceUrl,
    http,
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

/** Returns the settings of one call: those of the connection, within the limits given for the call. */
export function withLimits(http: HttpSettings, { signal, timeoutMs }: CallOptions): HttpSettings {
  const signals = [signal, http.signal].filter((one) => one !== undefined);
  return {
    ...http,
    timeoutMs: timeoutMs ?? http.timeoutMs,
    signal: signals.length > 1 ? AbortSignal.any(signals) : signals[0],
  };
}
