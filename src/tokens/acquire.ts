import type { Store } from '../store/store.js';
import { type HeldToken, readHeld, type Wanted } from './find.js';
import { type Identity, identityKey } from './identity.js';

export interface AcquireOptions extends Wanted {
  readonly identity: Identity;
  readonly host: string;
  /** The store was asked for by name: its failure is the call's. */
  readonly insist: boolean;
  readonly stateDir: string;
  readonly waitMs: number;
}

export interface AcquireDeps {
  readonly store: Store;
  now(): number;
  warn(message: string): void;
  /** Asks the server; loads the HTTP code, which those who only wait never need. */
  mint(): Promise<Omit<HeldToken, 'source'>>;
}

/**
 * The use case of the tool: a held token if it will do, else exactly one mint, however many ask at once.
 * @throws GraphException whatever the mint, an insisted-on store or the lock says
 */
export async function acquireToken(options: AcquireOptions, deps: AcquireDeps): Promise<HeldToken> {
  const key = identityKey(options.identity);
  const { store } = deps;
  if (store.name === 'none') return { ...(await deps.mint()), source: 'server' };
  const since = deps.now();
  // Whoever finds a token needs none of what follows.
  const minting = () => import('./mint-once.js');
  try {
    const held = await readHeld(key, options, deps);
    if (held) return held;
  } catch (error) {
    return (await minting()).mintUnkept(error, options, deps);
  }
  return (await minting()).mintOnce(key, since, options, deps);
}
