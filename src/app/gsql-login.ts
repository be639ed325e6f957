import type { Call } from '../auth/call.js';
import { findCredential } from '../auth/choose.js';
import { type Connected, connect, findVersion, requireGraph } from '../auth/connect.js';
import type { Credential } from '../auth/credential.js';
import { askGraph } from '../auth/prompts.js';
import { chooseStore } from '../auth/stores.js';
import { onlyOwnSecrets } from '../core/protocol/meanings.js';
import { noneStore, type Store } from '../store/store.js';
import { tokenSource } from './tokens/get-token.js';

/** A connection with a login for the GSQL server. */
export interface Login extends Connected {
  readonly call: Call;
  readonly credential: Credential;
  readonly store: Store;
}

/** Begins every secret command: opens a connection with a login and, on 3.x, a graph. */
export async function openLogin(call: Call): Promise<Login> {
  const others = call.secretsOf !== undefined;
  if (others && (await findVersion(call)).secretsNeedGraph) throw onlyOwnSecrets();
  if (call.canPrompt) await askGraph(call);
  const store = await chooseStore(call);
  const credential = await findLogin(call, async () => store);
  const connected = await connect(call, credential);
  if (connected.version.secretsNeedGraph) requireGraph(call);
  // The values of another user's secrets are never saved here.
  return { ...connected, credential, call, store: others ? noneStore : store };
}

/** Returns the login of this run. A JWT is checked before it is sent, and that of a program or a provider is cached. */
export async function findLogin(call: Call, openStore: () => Promise<Store>): Promise<Credential> {
  const credential = await findCredential(call, 'login', openStore);
  if (credential.kind !== 'jwt') return credential;
  const value = async () => (await (await tokenSource(call)).obtain()).token;
  return { ...credential, value };
}
