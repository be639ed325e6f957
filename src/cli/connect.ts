import path from 'node:path';
import { refuseValue } from '../config/faults.js';
import { isInFile } from '../config/level.js';
import type { ConfigKey } from '../config/schema.js';
import { isOn, settingText } from '../config/settings.js';
import type { GraphConnection } from '../core/connection.js';
import { GraphException } from '../core/errors.js';
import type { ServerVersion } from '../core/protocol.js';
import type { Sensitive } from '../core/sensitive.js';
import { readSmall } from '../credentials/read-small.js';
import type { Credential } from '../credentials/resolve.js';
import { readFacts, rememberFacts } from '../store/facts.js';
import { type Session, seconds } from './session.js';
import { createSpinner, type Spinner } from './spinner.js';

const DAY_SECONDS = 86_400;
/** A bundle of all the authorities there are has a quarter of it. */
const MAX_PEM_BYTES = 1_000_000;

export interface Connected {
  readonly connection: GraphConnection;
  readonly version: ServerVersion;
}

/**
 * A connection for this call, and which version answers. The version is asked without credentials and
 * remembered for a day.
 * @param keeps whether anything may be written down
 * @throws GraphException
 */
export async function connect(
  session: Session,
  credential: Credential | undefined,
  keeps: boolean,
): Promise<Connected> {
  const { call, settings, target, stateDir } = session;
  const { ctx, report } = call;
  const value = await credential?.value();
  const { GraphConnection } = await import('../core/connection.js');
  const serverVersion = settingText(settings, 'serverVersion') ?? 'auto';
  const facts = serverVersion === 'auto' ? readFacts(stateDir, target.gsqlUrl) : {};
  const now = ctx.now() / 1000;
  const recent = facts.versionAtUnix !== undefined && Math.abs(now - facts.versionAtUnix) < DAY_SECONDS;
  const known = recent ? facts.version : undefined;
  const spinner = createSpinner(call);
  const { HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy } = ctx.env;
  const connection = new GraphConnection({
    ...target.endpoints,
    graph: session.graph,
    username: credential?.kind === 'password' ? credential.username : undefined,
    password: credential?.kind === 'password' ? value : undefined,
    secret: credential?.kind === 'secret' ? value : undefined,
    serverVersion,
    knownVersion: known,
    timeoutMs: session.timeoutMs,
    timeLeft: session.timeLeft,
    tls: readTls(session),
    proxy: {
      http: HTTP_PROXY || http_proxy,
      https: HTTPS_PROXY || https_proxy,
      noProxy: NO_PROXY || no_proxy,
    },
    onStart: () => spinner.start(`waiting for ${target.host}`),
    onRequest: ({ method, path: route, status, ms }) => {
      spinner.stop();
      report.detail(`${method} ${route} ${status ?? 'no answer'} ${Math.round(ms)} ms`);
    },
  });
  await waitUntilUp(session, connection, spinner);
  const version = await connection.findVersion();
  if (serverVersion === 'auto' && known === undefined && keeps) {
    rememberFacts(stateDir, target.gsqlUrl, { version: version.version, versionAtUnix: Math.floor(now) });
  }
  return { connection, version };
}

/** With `--wait`: asks a server that is asleep or starting, without credentials, until it is up. */
async function waitUntilUp(session: Session, connection: GraphConnection, spinner: Spinner): Promise<void> {
  const { ctx, report } = session.call;
  const { timeLeft } = session;
  const { ms: left } = timeLeft;
  const wait = seconds(session.settings, 'wait');
  const until = ctx.now() + wait * 1000;
  for (let pause = 500; until > ctx.now(); pause = Math.min(pause * 1.5, 5000)) {
    // Who waits for a server has asked for longer, and not for less afterwards.
    timeLeft.ms = Number.POSITIVE_INFINITY;
    try {
      return await connection.ping();
    } catch (error) {
      const passing =
        error instanceof GraphException && ['SERVER_UNAVAILABLE', 'NETWORK', 'TIMEOUT'].includes(error.code);
      if (!passing) return;
      report.detail('the server is not up yet; waiting');
      spinner.start(`waiting for ${session.target.host} to be up`, wait);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(pause, until - ctx.now()))));
      spinner.stop();
    } finally {
      timeLeft.ms = left;
    }
  }
}

/** The certificates that the settings name. Throws USAGE or CONFIG_INVALID for a file that cannot be read. */
export function readTls(session: Session) {
  return {
    ca: pem(session, 'tls.ca'),
    cert: pem(session, 'tls.cert'),
    key: pem(session, 'tls.key'),
    insecure: isOn(session.settings, 'tls.insecure'),
  };
}

/** The whole path of a TLS file, wherever it was said. */
export function tlsFile({ settings, call }: Session, key: ConfigKey): string | undefined {
  const said = settings.all[key][0];
  if (said === undefined) return undefined;
  const base = isInFile(said.level) && settings.file ? path.dirname(settings.file.path) : call.ctx.cwd;
  return path.resolve(base, said.value as string);
}

function pem(session: Session, key: ConfigKey): string | undefined {
  const file = tlsFile(session, key);
  if (file === undefined) return undefined;
  try {
    return readSmall(file, MAX_PEM_BYTES);
  } catch {
    return refuseValue(
      session.settings,
      key,
      `names a file that cannot be read: ${file}`,
      'check the path, the mode and the size of the file',
    );
  }
}

/** The credential as the library's operations take it: a secret, or nothing when it is a password. */
export async function secretOf(credential: Credential): Promise<Sensitive | undefined> {
  return credential.kind === 'secret' ? credential.value() : undefined;
}
