import { knownServers, type Servers } from './endpoints.js';
import { usageError } from './errors.js';
import type { HttpSettings } from './http/send.js';
import type { CallOptions, ConnectionOptions } from './options.js';
import { VersionFinder } from './protocol/detect-version.js';
import { checked } from './schema.js';
import { readGiven, type Sensitive } from './sensitive.js';

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
  const { timeoutMs = DEFAULT_TIMEOUT_MS, tls = {}, userAgent = 'graphcred' } = options;
  const { deadline, signal, proxy, agent, onStart, onRequest } = options;
  const http = { timeoutMs, deadline, signal, tls, proxy, userAgent, agent, onStart, onRequest };
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

/** Identifies a token in a cache: by its servers, graph, lifetime and owner. Tells nothing of a credential. */
export function cacheKey(
  { graph, username, password, secret: own }: ConnectionSettings,
  { restUrl, gsqlUrl }: Servers,
  given: Sensitive | undefined,
  lifetime = 0,
): string {
  const secret = given ?? (password === undefined ? own : undefined);
  const owner = secret === undefined ? ['user', username] : ['secret', secret.reveal()];
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  hash.update(JSON.stringify([restUrl, gsqlUrl, graph, lifetime, ...owner]));
  return `graphcred:${hash.digest('hex').slice(0, 32)}`;
}
