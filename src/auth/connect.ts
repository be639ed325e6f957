import type { ConnectionOptions } from '../core/options.js';
import type { Run } from '../run/run.js';
import { findVersion, rememberVersion } from '../run/server.js';
import type { Credential } from './credential.js';

/** Opens a connection, and finds out the version. @param ownTimeoutMs in place of the limit of the run and its signal */
export async function connect(run: Run, credential: Credential | undefined, ownTimeoutMs?: number) {
  const value = await credential?.read();
  // Servers take a JWT of an identity provider (`apiToken`) in place of a login.
  const login: ConnectionOptions =
    credential?.kind === 'password'
      ? { username: credential.username, password: value }
      : { [credential?.kind === 'jwt' ? 'apiToken' : 'secret']: value };
  const version = await findVersion(run);
  const own = { ...login, knownVersion: version.version, onVersion: rememberVersion(run) };
  return {
    connection: await (await import('../run/open-connection.js')).openConnection(run, own, ownTimeoutMs),
    version,
  };
}

export type Connected = Awaited<ReturnType<typeof connect>>;
