import { GraphException } from '../core/errors.js';
import type { Store } from '../store/store.js';
import type { Session } from './session.js';

/** 3.x binds secrets, and tokens minted with a password, to a graph. */
export function requireGraph(session: Session): void {
  if (session.graph !== undefined) return;
  throw new GraphException('USAGE', 'Which graph? On a 3.x server this needs one.', {
    hint: 'give --graph NAME, GRAPHCRED_GRAPH, or graph in the profile',
  });
}

/**
 * Before it is said that nothing is held: a keychain that is locked or gone is never reported as an empty one.
 * @throws GraphException STORE_UNAVAILABLE, STORE_LOCKED
 */
export async function requireReadable(store: Store): Promise<void> {
  if (store.name === 'keychain') await store.check();
}

/** @throws GraphException STORE_UNAVAILABLE when the store keeps nothing */
export function requireKeeping(store: Store, what: string): void {
  if (store.name !== 'none') return;
  throw new GraphException('USAGE', `${what} needs a store that keeps something; this one is none.`, {
    hint: 'choose one with --store keychain or --store file',
  });
}
