import { type Servers, serversOf } from './endpoints.js';
import { GraphException, usageError } from './errors.js';
import type { Authorization, HttpRequest, HttpSettings, Send } from './http/types.js';
import type { CallOptions, ConnectionOptions } from './options.js';
import { fitsVersion, VersionFinder } from './protocol/detect-version.js';
import type { Session } from './protocol/types.js';
import { protocolV3 } from './protocol/v3.js';
import { protocolV4 } from './protocol/v4.js';
import { parseVersionOption } from './protocol/version.js';
import { type BoundCredential, bindTo, readGiven, type Sensitive, sensitiveOf } from './sensitive.js';

/** What a connection was given, checked, and its current token. Nothing in it depends on the server's version. */
export type ConnectionSettings = ReturnType<typeof readOptions>;

const DEFAULT_TIMEOUT_MS = 30_000;
/** Timers cannot count further. */
const LONGEST_TIMEOUT_MS = 0x7fff_ffff;
const PROTOCOLS = { '3.0': protocolV3, '3.5': protocolV3, '4': protocolV4 } as const;

/** A number is no version: 3.10 is 3.1. */
const TEXTS = ['host', 'restUrl', 'gsqlUrl', 'graph', 'username', 'secretsOf', 'serverVersion'] as const;

/** Callers without types pass null for what they do not give. */
export function withoutNulls<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== null)) as T;
}

/** Checks the options of a connection. Throws USAGE. */
export function readOptions(given: ConnectionOptions) {
  const options = withoutNulls(given);
  for (const name of TEXTS)
    if (typeof (options[name] ?? '') !== 'string')
      throw usageError(`${name} must be a string.`, 'Put it in quotes.');
  const { host, restPort, gsqlPort, restUrl, gsqlUrl, knownVersion } = options;
  if (options.username !== undefined) checkUsername(options.username);
  const onVersion = ignoreErrorsOf(options.onVersion);
  const endpoints = { host, restPort, gsqlPort, restUrl, gsqlUrl };
  // A wrong address is refused now, not at the first call.
  const serviceUrl = serversOf(endpoints).gsqlUrl;
  const serverVersion = options.serverVersion ?? 'auto';
  parseVersionOption(serverVersion);
  const timeoutMs = checkTimeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  if (options.signal !== undefined) allowListeners(options.signal);
  const http: HttpSettings = {
    timeoutMs,
    deadline: options.deadline,
    tls: options.tls ?? {},
    proxy: options.proxy,
    userAgent: options.userAgent ?? 'graphcred',
    signal: options.signal,
    agent: options.agent,
    onStart: ignoreErrorsOf(options.onStart),
    onRequest: ignoreErrorsOf(options.onRequest),
  };
  return {
    endpoints,
    serviceUrl,
    http,
    graph: options.graph === '' ? undefined : options.graph,
    username: options.username === '' ? undefined : options.username,
    secretsOf: options.secretsOf === '' ? undefined : options.secretsOf,
    password: readGiven(options.password),
    secret: readGiven(options.secret),
    versions: new VersionFinder({ serviceUrl, serverVersion, knownVersion, onVersion }),
    graphsSeen: new Set<string>(),
    token: readGiven(options.apiToken ?? options.jwtToken),
  };
}

function checkTimeout(timeoutMs: number): number {
  if (timeoutMs > 0 && timeoutMs <= LONGEST_TIMEOUT_MS) return timeoutMs;
  throw usageError(
    `timeoutMs must be a number of milliseconds above 0, and at most ${LONGEST_TIMEOUT_MS}.`,
    'For example 30000.',
    { option: 'timeoutMs' },
  );
}

/** Returns the settings of one call: those of the connection, within the limits given for the call. */
export function withLimits(http: HttpSettings, { signal, timeoutMs }: CallOptions): HttpSettings {
  if (signal !== undefined) allowListeners(signal);
  const signals = [signal, http.signal].filter((one) => one !== undefined);
  return {
    ...http,
    timeoutMs: timeoutMs === undefined ? http.timeoutMs : checkTimeout(timeoutMs),
    signal: signals.length > 1 ? AbortSignal.any(signals) : signals[0],
  };
}

/** Identifies a token in a cache: by its servers, graph, lifetime and owner. Tells nothing of a credential. */
export async function cacheKey(
  { graph, username, password, secret: own }: ConnectionSettings,
  { restUrl, gsqlUrl }: Servers,
  given: Sensitive | BoundCredential | undefined,
  lifetime = 0,
): Promise<string> {
  const secret = given ?? (password === undefined ? own : undefined);
  const owner = secret === undefined ? ['user', username] : ['secret', sensitiveOf(secret).reveal()];
  const text = JSON.stringify([restUrl, gsqlUrl, graph, lifetime, ...owner]);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return `graphcred:${Buffer.from(digest).toString('hex').slice(0, 32)}`;
}

/** Each request in progress listens to the signal, and Node warns of the eleventh listener. */
function allowListeners(signal: AbortSignal): void {
  if (!(signal instanceof AbortSignal)) {
    throw usageError('signal must be an AbortSignal.', 'pass controller.signal or AbortSignal.timeout(ms)');
  }
  process.getBuiltinModule('node:events').setMaxListeners(0, signal);
}

/** Lets a callback of the caller fail without harm: what it throws must not cost a token that is already minted. */
function ignoreErrorsOf<A extends unknown[]>(
  callback: ((...args: A) => unknown) | undefined,
): ((...args: A) => void) | undefined {
  return (
    callback &&
    ((...args) => {
      // The promise catches what the callback throws, and the rejection of a promise that it returns.
      new Promise((resolve) => resolve(callback(...args))).catch(() => {});
    })
  );
}

/**
 * Thrown when the first answer of a call shows that the server has another version than before. Nothing was changed.
 */
export class VersionChanged extends Error {}

/** @param recheck whether to ask for the version again when the first answer does not fit it */
export async function openProtocol(
  settings: ConnectionSettings,
  send: Send,
  recheck: boolean,
): Promise<Session> {
  const { graph, username, secretsOf, endpoints, versions } = settings;
  const version = await versions.find(send);
  const servers = serversOf(endpoints, version);
  const password = bindTo(servers, settings.password);
  const secret = bindTo(servers, settings.secret);
  const token = () => bindTo(servers, settings.token);

  const hasChanged = async (): Promise<boolean> => {
    const now = await versions.recheck(send);
    if (now === undefined) return false;
    return now.generation !== version.generation || serversOf(endpoints, now).restUrl !== servers.restUrl;
  };
  const sendCall = recheck ? noticeNewVersion(send, hasChanged) : send;
  const session: Session = {
    version,
    servers,
    graph,
    graphsSeen: settings.graphsSeen,
    secret,
    secretsOf,
    token,
    confirmVersion: () => versions.confirm(version, send),
    basicLogin: () => password && basicLogin(username, password),
    ask: async (call) => {
      const request: HttpRequest = {
        ...call,
        servers,
        names: [...(call.names ?? []), graph ?? '', username ?? '', secretsOf ?? ''],
        base: call.server === 'rest' ? servers.restUrl : servers.gsqlUrl,
        // A password equal to the user name is not hidden, since the user name is not secret.
        hide: [secret, password?.value.reveal() === username ? undefined : password, token()],
      };
      return { request, reply: await sendCall(request) };
    },
    get protocol() {
      return PROTOCOLS[version.generation](session);
    },
    secretOr: (given) => bindTo(servers, readGiven(given)) ?? (password === undefined ? secret : undefined),
    tokenOr(given, verb) {
      const used = bindTo(servers, readGiven(given)) ?? token();
      if (used !== undefined) return used;
      throw usageError(`There is no token to ${verb}.`, 'Give one, or get one first with getToken.');
    },
  };
  return session;
}

/** Sends requests, and throws VersionChanged when the first answer shows another version. */
function noticeNewVersion(send: Send, hasChanged: () => Promise<boolean>): Send {
  let isFirst = true;
  return async (request) => {
    if (!isFirst) return send(request);
    isFirst = false;
    try {
      const reply = await send(request);
      if (!fitsVersion(request, reply) && (await hasChanged())) throw new VersionChanged();
      return reply;
    } catch (error) {
      // The address of the REST server depends on the version, so after an upgrade the old address may not answer.
      const nobodyThere = error instanceof GraphException && error.code === 'NETWORK' && !error.ambiguous;
      if (nobodyThere && request.server === 'rest' && (await hasChanged())) throw new VersionChanged();
      throw error;
    }
  };
}

/**
 * Creates the error for a credential that belongs to the base URLs of the old version. The next call uses a credential
 * of the new ones.
 */
export function belongsToOldVersion(
  error: unknown,
  { version, servers }: Session,
): GraphException | undefined {
  if (!(error instanceof GraphException) || error.code !== 'HOST_MISMATCH') return undefined;
  return new GraphException(
    'HOST_MISMATCH',
    `This server is ${version.version} now, and its REST server is ${servers.restUrl}. ${error.message}`,
    { hint: 'Try again: what belongs to the old address is then left out.' },
  );
}

function basicLogin(username: string | undefined, credential: BoundCredential): Authorization {
  if (username === undefined) {
    throw usageError('A password was given, but no user name.', 'Give it as well.', { option: 'username' });
  }
  return { scheme: 'Basic', username, credential };
}

function checkUsername(username: string): void {
  if (!username.includes(':')) return;
  throw usageError('A user name cannot hold a colon.', 'Check it.', { option: 'username' });
}
