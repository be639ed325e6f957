import { readPem } from '../config/settings.js';
import type { GraphConnection } from '../core/connection.js';
import { Deadline } from '../core/deadline.js';
import { GraphException } from '../core/errors.js';
import { readProxyVariables } from '../core/http/proxy.js';
import type { TlsOptions } from '../core/http/types.js';
import type { ServerVersion } from '../core/protocol/types.js';
import type { BoundCredential, Sensitive } from '../core/sensitive.js';
import { STORES } from '../store/store.js';
import type { Call } from './call.js';
import { updateServerCache } from './version-cache.js';

export interface Login {
  readonly username?: string | undefined;
  readonly password?: Sensitive | BoundCredential | undefined;
  readonly secret?: Sensitive | BoundCredential | undefined;
  /** A JWT of an identity provider, which servers take in place of a login. */
  readonly apiToken?: Sensitive | BoundCredential | undefined;
}

/** The time limit of each call, and of all calls together. */
export interface Limits {
  readonly timeoutMs: number;
  readonly deadline?: Deadline;
}

/** Opens a connection to the pair of base URLs in force. Sends no request. */
export async function openConnection(
  call: Call,
  login: Login,
  knownVersion: string | undefined,
  limits?: Limits,
): Promise<GraphConnection> {
  const { ports, target, learned, timeoutMs } = call;
  learned.deadline ??= new Deadline(timeoutMs, !call.isStepwise);
  const { GraphConnection } = await import('../core/connection.js');
  learned.tls ??= readTls(call);
  return new GraphConnection({
    ...target.endpoints,
    ...login,
    graph: call.graph,
    secretsOf: call.secretsOf,
    serverVersion: call.serverVersion,
    knownVersion,
    ...(limits ?? { timeoutMs, deadline: learned.deadline }),
    tls: await learned.tls,
    proxy: readProxyVariables(ports.env),
    onVersion: (version) => rememberVersion(call, version),
    signal: call.interruption?.signal,
    ...(await ports.reporter.requests(call.progress, `waiting for ${target.host}`)),
  });
}

/** With `--wait`: asks a server that is asleep or starting, without credentials, until it is up. */
async function waitUntilUp(call: Call): Promise<void> {
  const { ports, timeoutMs, waitMs, target } = call;
  const spinner = await ports.reporter.spinner();
  const now = () => process.uptime() * 1000;
  const until = now() + waitMs;
  for (let pause = 500; until > now(); pause = Math.min(pause * 1.5, 5000)) {
    // `--wait` does not count against `--timeout`.
    const limits = { timeoutMs: Math.min(timeoutMs, until - now()) };
    const connection = await openConnection(call, {}, undefined, limits);
    try {
      return await connection.ping();
    } catch (error) {
      // A suspended workspace does not start by itself.
      if (!isAway(error) || !error.retryable) return;
      ports.reporter.detail('the server is not up yet; waiting');
      spinner.start(`waiting for ${target.host} to be up`, waitMs / 1000);
      // A server that says when to come back is not asked sooner.
      const rest = Math.max(pause, (error.retryAfterSeconds ?? 0) * 1000);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(rest, until - now()))));
      spinner.stop();
    }
  }
}

/** Reads the certificates that the settings name. Throws USAGE or CONFIG_INVALID for a file that cannot be read. */
export async function readTls(call: Call): Promise<TlsOptions> {
  const { settings, timeoutMs, tls } = call;
  const { ca, cert, key, insecure } = tls;
  return {
    ca: await readPem(settings, 'tls.ca', ca, timeoutMs),
    cert: await readPem(settings, 'tls.cert', cert, timeoutMs),
    key: await readPem(settings, 'tls.key', key, timeoutMs),
    insecure,
  };
}

/**
 * Asks the server for its version, without a credential.
 * @param recent the version in the server cache, if it is not older than a day
 * @param old the same, however old it is: it counts while the server cannot be reached
 */
export async function askVersion(
  call: Call,
  recent: string | undefined,
  old: string | undefined,
): Promise<ServerVersion> {
  if (call.waitMs > 0) await waitUntilUp(call);
  try {
    return await (await openConnection(call, {}, recent)).findVersion();
  } catch (error) {
    // A cached token stays usable while the server cannot be reached, so the remembered version is used.
    if (old === undefined || !isAway(error)) throw error;
    return (await openConnection(call, {}, old)).findVersion();
  }
}

/**
 * Stores the version in the server cache. This is also called when the version turns out, during a call, to differ from
 * the remembered one.
 */
function rememberVersion(call: Call, version: ServerVersion): void {
  const { stateDir, target, ports, store } = call;
  call.learned.version = Promise.resolve(version);
  if (stateDir === undefined || !STORES[store.name].keeps.tokens) return;
  const versionAtUnix = Math.floor(ports.now() / 1000);
  updateServerCache(stateDir, target.gsqlUrl, { version: version.version, versionAtUnix });
}

function isAway(error: unknown): error is GraphException {
  return error instanceof GraphException && ['NETWORK', 'TIMEOUT', 'SERVER_UNAVAILABLE'].includes(error.code);
}
