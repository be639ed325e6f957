import { refuseValue } from '../../config/errors.js';
import type { ConfigKey } from '../../config/keys.js';
import type { GraphConnection } from '../../core/connection.js';
import { GraphException } from '../../core/errors.js';
import { readProxyVariables } from '../../core/http/proxy.js';
import type { TlsOptions } from '../../core/http/types.js';
import { parseVersionOption, type ServerVersion } from '../../core/protocol/version.js';
import { BoundCredential, type Sensitive } from '../../core/sensitive.js';
import { readBounded } from '../../credentials/readers.js';
import type { BoundTo, Credential } from '../../credentials/resolve.js';
import { listEntries } from '../../store/records.js';
import { readServerCache, updateServerCache } from '../../store/server-cache.js';
import type { Session } from './types.js';

const DAY_SECONDS = 86_400;
/** The limit for a PEM file. A bundle of all public CAs is a quarter of this size. */
const MAX_PEM_BYTES = 1_000_000;

export interface Connected {
  readonly connection: GraphConnection;
  readonly version: ServerVersion;
}

/**
 * Opens a connection for this run, and finds out the server's version.
 * @param credential logs in; without one, requests that need a login fail
 * @throws GraphException
 */
export async function connect(session: Session, credential: Credential | undefined): Promise<Connected> {
  const bound = credential && (await bind(credential));
  const login: Login =
    credential?.kind === 'password' ? { username: credential.username, password: bound } : { secret: bound };
  const version = await findVersion(session);
  return { connection: await openConnection(session, login, version.version), version };
}

/**
 * Returns the server's version: the one set, the one remembered for at most a day, or the one the server reports. It is
 * asked without a credential.
 */
export function findVersion(session: Session): Promise<ServerVersion> {
  session.learned.version ??= askVersion(session);
  return session.learned.version;
}

async function askVersion(session: Session): Promise<ServerVersion> {
  const { serverVersion, waitMs } = session;
  const { recent, any } = serverVersion === 'auto' ? rememberedVersion(session) : {};
  // With `--wait` the server is asked whether it is up, even if its version is known.
  const known = waitMs > 0 ? undefined : parseVersionOption(recent ?? serverVersion);
  if (known !== undefined) return known;
  const connection = await openConnection(session, {}, recent);
  if (waitMs > 0) await waitUntilUp(session, connection);
  try {
    return await connection.findVersion();
  } catch (error) {
    // A cached token stays usable while the server cannot be reached, so the remembered version is used.
    if (any === undefined || !isAway(error)) throw error;
    return (await openConnection(session, {}, any)).findVersion();
  }
}

/** Reads the server cache: `any` is the version it holds, `recent` the same if it is not older than a day. */
function rememberedVersion({ stateDir, target, invocation }: Session): { recent?: string; any?: string } {
  if (stateDir === undefined) return {};
  const { version, versionAtUnix } = readServerCache(stateDir, target.gsqlUrl);
  if (version === undefined || versionAtUnix === undefined) return {};
  const isRecent = Math.abs(invocation.ctx.now() / 1000 - versionAtUnix) < DAY_SECONDS;
  return isRecent ? { recent: version, any: version } : { any: version };
}

/**
 * Stores the version in the server cache. This is also called when the version turns out, during a call, to differ from
 * the remembered one.
 */
function rememberVersion(session: Session, version: ServerVersion): void {
  const { stateDir, target, invocation, store } = session;
  session.learned.version = Promise.resolve(version);
  if (stateDir === undefined || store.name === 'none') return;
  const versionAtUnix = Math.floor(invocation.ctx.now() / 1000);
  updateServerCache(stateDir, target.gsqlUrl, { version: version.version, versionAtUnix });
}

function isAway(error: unknown): error is GraphException {
  return error instanceof GraphException && ['NETWORK', 'TIMEOUT', 'SERVER_UNAVAILABLE'].includes(error.code);
}

/**
 * Binds the value of a credential to the pair of base URLs it belongs to. A credential of the pair in force is bound by
 * the connection itself, since the REST server depends on the version.
 */
export async function bind(credential: {
  value(): Promise<Sensitive>;
  servers(): Promise<BoundTo>;
}): Promise<Sensitive | BoundCredential> {
  const value = await credential.value();
  const servers = await credential.servers();
  return servers === 'in force' ? value : new BoundCredential(value, servers);
}

interface Login {
  readonly username?: string | undefined;
  readonly password?: Sensitive | BoundCredential | undefined;
  readonly secret?: Sensitive | BoundCredential | undefined;
}

async function openConnection(
  session: Session,
  login: Login,
  knownVersion: string | undefined,
): Promise<GraphConnection> {
  const { invocation, target } = session;
  const { env } = invocation.ctx;
  const { GraphConnection } = await import('../../core/connection.js');
  const { showRequests } = await import('../output/spinner.js');
  session.learned.tls ??= readTls(session);
  return new GraphConnection({
    ...target.endpoints,
    ...login,
    graph: session.graph,
    serverVersion: session.serverVersion,
    knownVersion,
    timeoutMs: session.timeoutMs,
    timeLeft: session.timeLeft,
    tls: await session.learned.tls,
    proxy: readProxyVariables(env),
    onVersion: (version) => rememberVersion(session, version),
    signal: invocation.interruption?.signal,
    ...showRequests(invocation, session.progress, `waiting for ${target.host}`),
  });
}

/** With `--wait`: asks a server that is asleep or starting, without credentials, until it is up. */
async function waitUntilUp(session: Session, connection: GraphConnection): Promise<void> {
  const { invocation, timeLeft, waitMs, target } = session;
  const { createSpinner } = await import('../output/spinner.js');
  const spinner = createSpinner(invocation);
  const { ms: left } = timeLeft;
  const now = () => performance.now();
  const until = now() + waitMs;
  for (let pause = 500; until > now(); pause = Math.min(pause * 1.5, 5000)) {
    // `--wait` does not count against `--timeout`.
    timeLeft.ms = until - now();
    try {
      return await connection.ping();
    } catch (error) {
      // A suspended workspace does not start by itself.
      if (!isAway(error) || error.retryable === false) return;
      invocation.report.detail('the server is not up yet; waiting');
      spinner.start(`waiting for ${target.host} to be up`, waitMs / 1000);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(pause, until - now()))));
      spinner.stop();
    } finally {
      timeLeft.ms = left;
    }
  }
}

/** Reads the certificates that the settings name. Throws USAGE or CONFIG_INVALID for a file that cannot be read. */
export async function readTls(session: Session): Promise<TlsOptions> {
  const { ca, cert, key, insecure } = session.tls;
  return {
    ca: await readPem(session, 'tls.ca', ca),
    cert: await readPem(session, 'tls.cert', cert),
    key: await readPem(session, 'tls.key', key),
    insecure,
  };
}

async function readPem(
  { settings, timeoutMs }: Session,
  setting: ConfigKey,
  file: string | undefined,
): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return (await readBounded(file, { maxBytes: MAX_PEM_BYTES, timeoutMs })).toString('utf8');
  } catch {
    return refuseValue(
      settings,
      setting,
      `names a file that cannot be read: ${file}`,
      'check the path, the mode and the size of the file',
    );
  }
}

/** Requires a graph: 3.x binds secrets, and tokens minted with a password, to one. */
export function requireGraph(session: Session): void {
  if (session.graph !== undefined) return;
  throw new GraphException('USAGE', 'Which graph? A 3.x server needs one for this.', {
    hint: 'give --graph NAME, GRAPHCRED_GRAPH, or graph in the profile',
  });
}

/** Asks for the graph if a 3.x server needs one, none is set, and a prompt is possible. */
export async function askGraph(session: Session): Promise<void> {
  if (session.graph !== undefined || !session.canPrompt) return;
  if (!(await findVersion(session)).secretsNeedGraph) return;
  const { askText } = await import('../output/prompt.js');
  const suggestion = lastUsed(session, 'graph');
  session.graph = await askText(
    session.invocation,
    'Which graph?',
    suggestion === undefined ? {} : { suggestion },
  );
}

/** Asks for the user name at the server in force. */
export async function askUsername(session: Session): Promise<string> {
  const { askText } = await import('../output/prompt.js');
  const suggestion = lastUsed(session, 'username');
  const question = `User name at ${session.target.host}`;
  return askText(session.invocation, question, suggestion === undefined ? {} : { suggestion });
}

/** Returns the default for a prompt: the value in the newest record of this machine for the GSQL server in force. */
function lastUsed({ stateDir, target }: Session, name: 'graph' | 'username'): string | undefined {
  if (stateDir === undefined) return undefined;
  const values = listEntries(stateDir, () => {})
    .map(({ record }) => record)
    .filter(({ info }) => info.gsqlUrl === target.gsqlUrl && typeof info[name] === 'string')
    .sort((a, b) => b.createdAtUnix - a.createdAtUnix)
    .map(({ info }) => String(info[name]));
  // An empty user name means a secret whose owner is not known.
  return values.find((value) => value !== '');
}
