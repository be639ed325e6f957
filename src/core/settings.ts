import { type Servers, serversOf } from './endpoints.js';
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
  const { host, restPort, gsqlPort, restUrl, gsqlUrl, knownVersion, serverVersion = 'auto' } = options;
  const { deadline, tls = {}, proxy, userAgent = 'graphcred', agent } = options;
  const endpoints = { host, restPort, gsqlPort, restUrl, gsqlUrl };
  // A wrong address is refused now, not at the first call.
  const serviceUrl = serversOf(endpoints).gsqlUrl;
  const onVersion = ignoreErrorsOf(options.onVersion);
  const onStart = ignoreErrorsOf(options.onStart);
  const onRequest = ignoreErrorsOf(options.onRequest);
  const timeoutMs = DEFAULT_TIMEOUT_MS;
  const http = { timeoutMs, deadline, tls, proxy, userAgent, agent, onStart, onRequest };
  return {
    endpoints,
    serviceUrl,
    http: withLimits(http, options),
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

/** Returns the limits of one call. Throws USAGE for what is none. */
export function readLimits(options: CallOptions): CallOptions {
  const limits = checked(options);
  // Each request in progress listens to the signal, and Node warns of the eleventh listener.
  if (limits.signal) process.getBuiltinModule('node:events').setMaxListeners(0, limits.signal);
  return limits;
}

/** Returns the settings of one call: those of the connection, within the limits given for the call. */
export function withLimits(http: HttpSettings, options: CallOptions): HttpSettings {
  const { signal, timeoutMs = http.timeoutMs } = readLimits(options);
  const signals = [signal, http.signal].filter((one) => one !== undefined);
  return { ...http, timeoutMs, signal: signals.length > 1 ? AbortSignal.any(signals) : signals[0] };
}

/** Identifies a token in a cache: by its servers, graph, lifetime and owner. Tells nothing of a credential. */
export async function cacheKey(
  { graph, username, password, secret: own }: ConnectionSettings,
  { restUrl, gsqlUrl }: Servers,
  given: Sensitive | undefined,
  lifetime = 0,
): Promise<string> {
  const secret = given ?? (password === undefined ? own : undefined);
  const owner = secret === undefined ? ['user', username] : ['secret', secret.reveal()];
  const text = JSON.stringify([restUrl, gsqlUrl, graph, lifetime, ...owner]);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return `graphcred:${Buffer.from(digest).toString('hex').slice(0, 32)}`;
}

/** Lets a callback of the caller fail without harm: what it throws must not cost a token that is already minted. */
export function ignoreErrorsOf<A extends unknown[]>(callback: ((...args: A) => unknown) | undefined) {
  if (callback === undefined) return undefined;
  // The promise also takes the rejection of one that the callback returns.
  const call = async (...args: A) => callback(...args);
  return (...args: A): void => void call(...args).catch(() => {});
}
