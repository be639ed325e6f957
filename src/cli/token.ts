import { settingText } from '../config/settings.js';
import { acquireToken, type HeldToken } from '../tokens/acquire.js';
import { defaultMinTtl } from '../tokens/expiry.js';
import { findCredential } from './credential.js';
import { type Session, seconds } from './session.js';
import { chooseStore } from './stores.js';

/** The token of this session: held, or minted once and kept. */
export async function obtainToken(session: Session, { fresh }: { fresh: boolean }): Promise<HeldToken> {
  const { call, settings, target, lifetime } = session;
  const { ctx, report } = call;
  const { store, named } = await chooseStore(session);
  const credential = await findCredential(session, 'mint', async () => store);
  const minTtl =
    settingText(settings, 'minTtl') === undefined ? defaultMinTtl(lifetime) : seconds(settings, 'minTtl');
  const { gsqlUrl, restUrl } = target;
  return acquireToken(
    {
      identity: { gsqlUrl, restUrl, graph: session.graph, principal: credential.principal, lifetime },
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
        return mintFor(session, credential, store.name !== 'none');
      },
    },
  );
}
