import { findCredential, refuseOtherUser } from '../auth/choose.js';
import { connect } from '../auth/connect.js';
import type { Credential } from '../auth/credential.js';
import { askNeededGraph } from '../auth/prompts.js';
import { onlyOwnSecrets } from '../core/protocol/refusals.js';
import { readClaims } from '../core/protocol/reply.js';
import type { Run } from '../run/run.js';
import { findVersion, requireGraph } from '../run/server.js';
import { noneStore } from '../store/store.js';
import { getToken } from './tokens/get-token.js';

/** Begins every secret command: opens a connection with a login (`given`, else that in force) and, on 3.x, a graph. */
export async function openLogin(run: Run, given?: Credential) {
  const others = run.settings.secretsOf !== undefined;
  if (others && (await findVersion(run)).secretsNeedGraph) throw onlyOwnSecrets();
  if (run.ports.canPrompt) await askNeededGraph(run);
  const store = await run.stores.chosen();
  const credential = given ?? (await findLogin(run));
  const connected = await connect(run, credential);
  if (connected.version.secretsNeedGraph) requireGraph(run);
  // The values of another user's secrets are never saved here.
  return { ...connected, credential, run, store: others ? noneStore : store };
}

export type Login = Awaited<ReturnType<typeof openLogin>>;

/** Returns the login of this run. A JWT is checked before it is sent, and that of a program or a provider is cached. */
export async function findLogin(run: Run): Promise<Credential> {
  const credential = await findCredential(run, 'login');
  if (credential.kind !== 'jwt') return credential;
  const { token } = await getToken(run);
  // Of a program's, and of a job's at a provider, only the token says whose it is.
  const username = readClaims(token)?.sub ?? credential.username;
  refuseOtherUser(run, credential.label, username);
  return { ...credential, username, owner: username ?? credential.owner, read: async () => token };
}
