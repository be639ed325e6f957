import type { GraphConnection } from '../core/connection.js';
import { GraphException } from '../core/errors.js';
import { readProxyVariables } from '../core/http/proxy.js';
import type { TlsOptions } from '../core/http/types.js';
import type { ConnectionOptions } from '../core/options.js';
import { Deadline, uptimeMs } from '../core/time.js';
import type { Call } from './call.js';
import { readPem } from './read.js';

/**
 * What the connection logs in with, and what is known of the server's version. Servers take a JWT of an identity provider
 * (`apiToken`) in place of a login.
 */
export type OwnOptions = Pick<
  ConnectionOptions,
  'username' | 'password' | 'secret' | 'apiToken' | 'knownVersion' | 'onVersion'
>;

/**
 * Opens a connection to the pair of base URLs in force. Sends no request.
 * @param ownTimeoutMs the time limit of its requests, in place of that of the call
 */
export async function openConnection(
  call: Call,
  own: OwnOptions,
  ownTimeoutMs?: number,
): Promise<GraphConnection> {
  const { target, learned } = call;
  const { GraphConnection } = await import('../core/connection.js');
  const settings = await requestSettings(call, target.host);
  return new GraphConnection({
    ...target.endpoints,
    ...own,
    graph: call.graph,
    secretsOf: call.secretsOf,
    serverVersion: call.serverVersion,
    ...settings,
    onRequest: (event) => {
      if (event.serverTimeUnix !== undefined) learned.serverTimeUnix = event.serverTimeUnix;
      settings.onRequest?.(event);
    },
    ...(ownTimeoutMs !== undefined && { timeoutMs: ownTimeoutMs, deadline: undefined }),
  });
}

/**
 * Returns how the requests of a call are sent and shown, which share one time limit.
 * @param to names the server while it is waited for
 */
export async function requestSettings(call: Call, to: string) {
  const { ports, learned, timeoutMs, interruption } = call;
  learned.deadline ??= new Deadline(timeoutMs, !call.isStepwise);
  learned.tls ??= readTls(call);
  return {
    timeoutMs,
    deadline: learned.deadline,
    tls: await learned.tls,
    proxy: readProxyVariables(ports.env),
    signal: interruption?.signal,
    ...(await ports.reporter.requests(call.progress, `waiting for ${to}`)),
  };
}

/** With `--wait`: asks a server that is asleep or starting, without credentials, until it is up. */
export async function waitUntilUp(call: Call): Promise<void> {
  const { ports, timeoutMs, waitMs, target } = call;
  const spinner = await ports.reporter.spinner();
  const until = uptimeMs() + waitMs;
  for (let pause = 500; until > uptimeMs(); pause = Math.min(pause * 1.5, 5000)) {
    // `--wait` does not count against `--timeout`.
    const connection = await openConnection(call, {}, Math.min(timeoutMs, until - uptimeMs()));
    try {
      return await connection.ping();
    } catch (error) {
      // A suspended workspace does not start by itself.
      if (!isAway(error) || !error.retryable) return;
      ports.reporter.detail('the server is not up yet; waiting');
      spinner.start(`waiting for ${target.host} to be up`, waitMs / 1000);
      // A server that says when to come back is not asked sooner.
      const rest = Math.max(pause, (error.retryAfterSeconds ?? 0) * 1000);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(rest, until - uptimeMs()))));
      spinner.stop();
    }
  }
}

/** Reads the certificates that the settings name. Throws USAGE or CONFIG_INVALID for a file that cannot be read. */
export async function readTls(call: Call): Promise<TlsOptions> {
  const { insecure, timeoutMs } = call;
  return {
    ca: await readPem(call, 'tls.ca', timeoutMs),
    cert: await readPem(call, 'tls.cert', timeoutMs),
    key: await readPem(call, 'tls.key', timeoutMs),
    insecure,
  };
}

/** Whether a server cannot be reached for now. */
export function isAway(error: unknown): error is GraphException {
  return error instanceof GraphException && ['NETWORK', 'TIMEOUT', 'SERVER_UNAVAILABLE'].includes(error.code);
}
