import type { Credential } from '../credentials/resolve.js';
import type { Store } from '../store/store.js';
import type { Call } from './call.js';
import { type Connected, connect } from './connect.js';
import { findCredential, refuseUntrusted } from './credential.js';
import { mayAsk } from './may-ask.js';
import { requireGraph } from './require.js';
import { openSession, type Session } from './session.js';
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
  const connected = await connectLogin(session, store);
  if (connected.version.generation !== 'C') requireGraph(session);
  return { ...connected, session, store };
}

/** A connection for the service server. 3.x takes no secret there, so a person, if there is one, is asked for the password. */
export async function connectLogin(
  session: Session,
  store: Store,
): Promise<Connected & Pick<LoggedIn, 'credential'>> {
  const keeps = store.name !== 'none';
  const credential = await findCredential(session, 'login', async () => store);
  const connected = await connect(session, credential, keeps);
  const fits = credential.kind === 'password' || connected.version.generation === 'C';
  if (fits || !mayAsk(session.call.ctx, session.settings)) return { ...connected, credential };
  const { promptedCredential } = await import('./credential-prompt.js');
  const asked = await promptedCredential(session, 'login', undefined);
  await refuseUntrusted(session, asked);
  return { ...(await connect(session, asked, keeps)), credential: asked };
}
