import type { Credential } from '../credentials/resolve.js';
import type { Store } from '../store/store.js';
import type { Call } from './call.js';
import { type Connected, connect } from './connect.js';
import { findCredential } from './credential.js';
import { openSession, requireGraph, type Session } from './session.js';
import { chooseStore } from './stores.js';

export interface LoggedIn extends Connected {
  readonly session: Session;
  readonly credential: Credential;
  readonly store: Store;
}

/** What every secret command begins with: a connection with a login, and on 3.x a graph. */
export async function loggedIn(call: Call): Promise<LoggedIn> {
  const session = await openSession(call);
  const { store } = await chooseStore(session);
  const credential = await findCredential(session, 'login', async () => store);
  const connected = await connect(session, credential, store.name !== 'none');
  if (connected.version.generation !== 'C') requireGraph(session);
  return { ...connected, session, credential, store };
}
