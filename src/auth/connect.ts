import type { GraphConnection } from '../core/connection.js';
import { GraphException } from '../core/errors.js';
import { parseVersionOption, type ServerVersion } from '../core/protocol/version.js';
import { BoundCredential } from '../core/sensitive.js';
import type { Call } from './call.js';
import type { Credential } from './credential.js';
import type { ConnectionLogin } from './open-connection.js';
import { isRecent, readServerCache } from './version-cache.js';

export interface Connected {
  readonly connection: GraphConnection;
  readonly version: ServerVersion;
}

/**
 * Opens a connection for this run, and finds out the server's version.
 * @param credential logs in; without one, requests that need a login fail
 * @param ownTimeoutMs the time limit of its requests, in place of that of the call
 * @throws GraphException
 */
export async function connect(
  call: Call,
  credential: Credential | undefined,
  ownTimeoutMs?: number,
): Promise<Connected> {
  const bound = credential && (await bind(credential));
  const login: ConnectionLogin =
    credential?.kind === 'password'
      ? { username: credential.username, password: bound }
      : { [credential?.kind === 'jwt' ? 'apiToken' : 'secret']: bound };
  const version = await findVersion(call);
  const { openConnection } = await import('./open-connection.js');
  return { connection: await openConnection(call, login, version.version, ownTimeoutMs), version };
}

/**
 * Returns the server's version: the one set, the one remembered for at most a day, or the one the server reports. It is
 * asked without a credential.
 */
export function findVersion(call: Call): Promise<ServerVersion> {
  call.learned.version ??= knownOrAskedVersion(call);
  return call.learned.version;
}

async function knownOrAskedVersion(call: Call): Promise<ServerVersion> {
  const { serverVersion, waitMs, stateDir, target, ports } = call;
  const { version, versionAtUnix } =
    serverVersion === 'auto' ? readServerCache(stateDir, target.gsqlUrl) : {};
  const recent = isRecent(versionAtUnix, ports.now()) ? version : undefined;
  // The server is asked whether it is up even if its version is known.
  if (waitMs > 0) await (await import('./open-connection.js')).waitUntilUp(call);
  const known = parseVersionOption(recent ?? serverVersion);
  return known ?? (await import('./open-connection.js')).askVersion(call, version);
}

/**
 * Binds the value of a credential to the pair of base URLs it belongs to. A credential of the pair in force is bound by
 * the connection itself, since the REST server depends on the version.
 */
export async function bind(credential: Pick<Credential, 'value' | 'servers'>) {
  const { servers } = credential;
  const value = await credential.value();
  return servers === 'in force' ? value : new BoundCredential(value, servers);
}

/** Requires a graph: 3.x binds secrets, and tokens minted with a password, to one. */
export function requireGraph(call: Call): void {
  if (call.graph !== undefined) return;
  throw new GraphException('USAGE', 'Which graph? A 3.x server needs one for this.', {
    hint: 'give --graph NAME, GRAPHCRED_GRAPH, or graph in the profile',
  });
}
