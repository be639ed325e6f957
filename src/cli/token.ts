import { settingText } from '../config/settings.js';
import type { Sensitive } from '../core/sensitive.js';
import { acquireToken } from '../tokens/acquire.js';
import { defaultMinTtl } from '../tokens/expiry.js';
import type { HeldToken } from '../tokens/find.js';
import { findCredential } from './credential.js';
import { type Session, seconds } from './session.js';
import { chooseStore } from './stores.js';

/** Where the tokens of a session come from, for a call that may need more than one. */
export interface TokenSource {
  /** Whether anything may be written down on this machine. */
  readonly keeps: boolean;
  /** Held, or minted once and kept. */
  obtain(options?: { fresh: boolean }): Promise<HeldToken>;
  /** Forgets a held token here. One that another process has put in its place meanwhile stays. */
  forget(token: Sensitive): Promise<void>;
}

/** The token of this session: held, or minted once and kept. */
export async function obtainToken(session: Session, options: { fresh: boolean }): Promise<HeldToken> {
  return (await tokenSource(session)).obtain(options);
}

export async function tokenSource(session: Session): Promise<TokenSource> {
  const { call, settings, target, lifetime } = session;
  const { ctx, report } = call;
  const { store, named } = await chooseStore(session);
  const credential = await findCredential(session, 'mint', async () => store);
  const minTtl =
    settingText(settings, 'minTtl') === undefined ? defaultMinTtl(lifetime) : seconds(settings, 'minTtl');
  const { gsqlUrl, restUrl } = target;
  const base = { gsqlUrl, restUrl, graph: session.graph, principal: credential.principal };
  const keeps = store.name !== 'none';
  return {
    keeps,
    obtain: ({ fresh } = { fresh: false }) =>
      acquireToken(
        {
          identity: { ...base, lifetime },
          host: target.host,
          minTtl,
          freshSince: fresh ? ctx.startedAt : undefined,
          insist: named && store.name === 'keychain',
          stateDir: session.stateDir,
          waitMs: session.timeoutMs + 5000,
        },
        {
          store,
          now: ctx.now,
          warn: report.warn,
          mint: async () => {
            const { mintFor } = await import('./mint.js');
            return mintFor(session, credential, keeps);
          },
        },
      ),
    forget: async (token) => (await import('../tokens/held.js')).forgetHeld(store, base, token),
  };
}
