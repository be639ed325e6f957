import type { ConnectionOptions } from '../core/options.js';
import { BoundCredential } from '../core/sensitive.js';
import type { Run } from '../run/run.js';
import { findVersion, rememberVersion } from '../run/server.js';
import type { Credential } from './credential.js';

/** Opens a connection, and finds out the version. @param ownTimeoutMs in place of the limit of the run and its signal */
export async function connect(run: Run, credential: Credential | undefined, ownTimeoutMs?: number) {
  const bound = credential && (await bind(credential));
  // Servers take a JWT of an identity provider (`apiToken`) in place of a login.
  const login: ConnectionOptions =
    credential?.kind === 'password'
      ? { username: credential.username, password: bound }
      : { [credential?.kind === 'jwt' ? 'apiToken' : 'secret']: bound };
  const version = await findVersion(run);
  const own = { ...login, knownVersion: version.version, onVersion: rememberVersion(run) };
  return {
    connection: await (await import('../run/open-connection.js')).openConnection(run, own, ownTimeoutMs),
    version,
  };
}

export type Connected = Awaited<ReturnType<typeof connect>>;

/** Binds a saved credential to its pair. The connection binds any other, since the REST server depends on the version. */
export async function bind({ read, record }: Credential) {
  const value = await read();
  if (!record) return value;
  const { gsqlUrl, restUrl } = record.info;
  return new BoundCredential(value, { gsqlUrl, restUrl });
}
