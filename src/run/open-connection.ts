import { GraphException, usageError } from '../core/errors.js';
import { readProxyVariables } from '../core/http/proxy.js';
import type { TlsOptions } from '../core/http/types.js';
import type { ConnectionOptions } from '../core/options.js';
import type { ServerVersion } from '../core/protocol/version.js';
import { uptimeMs } from '../core/time.js';
import { readPem } from './read.js';
import { graphOf, type Run } from './run.js';

/** Opens a connection to the servers of a run, and asks for no version. */
export async function openConnection(run: Run, own: ConnectionOptions, ownTimeoutMs?: number) {
  const { target, settings: set, asked } = run;
  const { GraphConnection } = await import('../core/connection.js');
  const settings = await requestSettings(run, target.gsqlUrl);
  return new GraphConnection({
    ...target.endpoints,
    ...own,
    graph: graphOf(run),
    secretsOf: set.secretsOf,
    serverVersion: set.serverVersion,
    ...settings,
    onRequest: (event) => {
      if (event.serverTimeUnix !== undefined) asked.serverTimeUnix = event.serverTimeUnix;
      settings.onRequest?.(event);
    },
    ...(ownTimeoutMs !== undefined && { timeoutMs: ownTimeoutMs, deadline: undefined, signal: own.signal }),
  });
}

/** Returns how the requests of a run are sent and shown. @param to names the server while it is waited for */
export async function requestSettings(run: Run, to: string) {
  const { ports, asked, time } = run;
  asked.tls ??= readTls(run);
  return {
    timeoutMs: time.limitMs,
    deadline: time.deadline,
    tls: await asked.tls,
    proxy: readProxyVariables(ports.env),
    signal: ports.interruption.signal,
    ...(await ports.reporter.requests(`waiting for ${to}`)),
  };
}

/** With `--wait`: asks a server that is asleep or starting, without credentials, until it is up. @param version of the REST server */
export async function waitUntilUp(run: Run, version?: ServerVersion): Promise<void> {
  const { ports, time, settings, target, asked } = run;
  const { signal } = ports.interruption;
  const spinner = await ports.reporter.spinner();
  asked.waitsUntilMs ??= uptimeMs() + settings.waitMs;
  const until = asked.waitsUntilMs;
  for (let pause = 500; until > uptimeMs(); pause = Math.min(pause * 1.5, 5000)) {
    // `--wait` does not count against `--timeout`.
    const own = { signal, knownVersion: version?.version };
    const connection = await openConnection(run, own, Math.min(time.limitMs, until - uptimeMs()));
    try {
      return void (await (version ? connection.restAuthentication() : connection.ping()));
    } catch (error) {
      // A suspended workspace does not start by itself.
      if (!isAway(error) || !error.retryable) return;
      ports.reporter.detail('the server is not up yet; waiting');
      spinner.start(`waiting for ${target.gsqlUrl} to be up`);
      // A server that says when to come back is not asked sooner.
      const rest = Math.max(pause, (error.retryAfterSeconds ?? 0) * 1000);
      await new Promise<unknown>((resolve) => {
        setTimeout(resolve, Math.max(0, Math.min(rest, until - uptimeMs())));
        // The next request ends with CANCELLED then.
        signal.addEventListener('abort', resolve, { once: true });
      });
      spinner.stop();
    }
  }
}

export async function readTls(run: Run): Promise<TlsOptions> {
  const ca = await readPem(run, 'tls.ca');
  const cert = await readPem(run, 'tls.cert');
  const key = await readPem(run, 'tls.key');
  const giveBoth = ['give both', { setting: 'tls.cert' }];
  if ((cert === undefined) !== (key === undefined))
    throw usageError('A client certificate needs its key, and a key its certificate.', giveBoth);
  return { ca, cert, key, insecure: run.settings.insecure };
}

export function isAway(error: unknown): error is GraphException {
  return error instanceof GraphException && ['NETWORK', 'TIMEOUT', 'SERVER_UNAVAILABLE'].includes(error.code);
}
