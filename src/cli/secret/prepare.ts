import { GraphException } from '../../core/errors.js';
import type { Credential } from '../../credentials/resolve.js';
import type { Store } from '../../store/store.js';
import type { Invocation } from '../command.js';
import { type Connected, connect, requireGraph } from '../session/connect.js';
import { findCredential } from '../session/credential.js';
import { askGraph } from '../session/prompts.js';
import { openSession } from '../session/session.js';
import { chooseStore } from '../session/store.js';
import type { Session } from '../session/types.js';

/** A connection with a login for the GSQL server. */
export interface Login extends Connected {
  readonly session: Session;
  readonly credential: Credential;
  readonly store: Store;
}

/**
 * Begins every secret command: opens a connection with a login and, on 3.x, a graph.
 * @param isStepwise whether the command has steps that must not be cut when its time is over
 */
export async function openLogin(invocation: Invocation, { isStepwise = false } = {}): Promise<Login> {
  const session = await openSession(invocation, { isStepwise });
  if (session.canPrompt) await askGraph(session);
  const login = await connectLogin(session, await chooseStore(session));
  if (login.version.secretsNeedGraph) requireGraph(session);
  return login;
}

export async function connectLogin(session: Session, store: Store): Promise<Login> {
  const credential = await findCredential(session, 'login', async () => store);
  return { ...(await connect(session, credential)), credential, session, store };
}

const ALIAS = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/**
 * Checks an alias before anything is sent.
 * @throws GraphException USAGE
 */
export function checkAlias(alias: string): void {
  if (ALIAS.test(alias)) return;
  throw new GraphException('USAGE', 'This alias cannot be used.', {
    hint: 'begin with a letter or _, then letters, digits and _, 128 characters at most',
  });
}

export function isPlainAlias(alias: string): boolean {
  return ALIAS.test(alias);
}
