import { readPem } from '../../config/settings.js';
import type { GraphConnection } from '../../core/connection.js';
import { Deadline } from '../../core/deadline.js';
import { GraphException } from '../../core/errors.js';
import { readProxyVariables } from '../../core/http/proxy.js';
import type { TlsOptions } from '../../core/http/types.js';
import type { ServerVersion } from '../../core/protocol/types.js';
import type { BoundCredential, Sensitive } from '../../core/sensitive.js';
import { updateServerCache } from '../../store/server-cache.js';
import { STORES } from '../../store/store.js';
import { createSpinner, showRequests } from '../output/spinner.js';
import type { RememberedVersion, Session } from './types.js';

/** The limit for a PEM file. A bundle of all public CAs is a quarter of this size. */

export interface Login {
  readonly username?: string | undefined;
  readonly password?: Sensitive | BoundCredential | undefined;
  readonly secret?: Sensitive | BoundCredential | undefined;
}

/** The time limit of each call, and of all calls together. */
export interface Limits {
  readonly timeoutMs: number;
  readonly deadline?: Deadline;
}

/** Opens a connection to the pair of base URLs in force. Sends no request. */
export async function openConnection(
  session: Session,
  login: Login,
  knownVersion: string | undefined,
  limits?: Limits,
): Promise<GraphConnection> {
  const { invocation, target, learned, timeoutMs } = session;
  const { env } = invocation.ctx;
  learned.deadline ??= new Deadline(timeoutMs, !session.isStepwise);
  const { GraphConnection } = await import('../../core/connection.js');
  learned.tls ??= readTls(session);
  return new GraphConnection({
    ...target.endpoints,
    ...login,
    graph: session.graph,
    serverVersion: session.serverVersion,
    knownVersion,
    ...(limits ?? { timeoutMs, deadline: learned.deadline }),
    tls: await learned.tls,
    proxy: readProxyVariables(env),
    onVersion: (version) => rememberVersion(session, version),
    signal: invocation.interruption?.signal,
    ...showRequests(invocation, session.progress, `waiting for ${target.host}`),
  });
}

/** With `--wait`: asks a server that is asleep or starting, without credentials, until it is up. */
async function waitUntilUp(session: Session): Promise<void> {
  const { invocation, timeoutMs, waitMs, target } = session;
  const spinner = createSpinner(invocation);
  const now = () => process.uptime() * 1000;
  const until = now() + waitMs;
  for (let pause = 500; until > now(); pause = Math.min(pause * 1.5, 5000)) {
    // `--wait` does not count against `--timeout`.
    const limits = { timeoutMs: Math.min(timeoutMs, until - now()) };
    const connection = await openConnection(session, {}, undefined, limits);
    try {
      return await connection.ping();
    } catch (error) {
      // A suspended workspace does not start by itself.
      if (!isAway(error) || error.retryable === false) return;
      invocation.report.detail('the server is not up yet; waiting');
      spinner.start(`waiting for ${target.host} to be up`, waitMs / 1000);
      // A server that says when to come back is not asked sooner.
      const rest = Math.max(pause, error.retryAfterMs ?? 0);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(rest, until - now()))));
      spinner.stop();
    }
  }
}

/** Reads the certificates that the settings name. Throws USAGE or CONFIG_INVALID for a file that cannot be read. */
export async function readTls(session: Session): Promise<TlsOptions> {
  const { settings, timeoutMs, tls } = session;
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
 * @param remembered an old version in the server cache, which counts while the server cannot be reached
 */
export async function askVersion(
  session: Session,
  { recent, any }: RememberedVersion,
): Promise<ServerVersion> {
  if (session.waitMs > 0) await waitUntilUp(session);
  try {
    return await (await openConnection(session, {}, recent)).findVersion();
  } catch (error) {
    // A cached token stays usable while the server cannot be reached, so the remembered version is used.
    if (any === undefined || !isAway(error)) throw error;
    return (await openConnection(session, {}, any)).findVersion();
  }
}

/**
 * Stores the version in the server cache. This is also called when the version turns out, during a call, to differ from
 * the remembered one.
 */
function rememberVersion(session: Session, version: ServerVersion): void {
  const { stateDir, target, invocation, store } = session;
  session.learned.version = Promise.resolve(version);
  if (stateDir === undefined || !STORES[store.name].keeps.tokens) return;
  const versionAtUnix = Math.floor(invocation.ctx.now() / 1000);
  updateServerCache(stateDir, target.gsqlUrl, { version: version.version, versionAtUnix });
}

function isAway(error: unknown): error is GraphException {
  return error instanceof GraphException && ['NETWORK', 'TIMEOUT', 'SERVER_UNAVAILABLE'].includes(error.code);
}
