import { settingText } from '../../../config/settings.js';
import { acquireToken, type HeldToken } from '../../../tokens/acquire.js';
import { defaultMinTtl } from '../../../tokens/expiry.js';
import type { Call } from '../../call.js';
import { findCredential } from '../../credential.js';
import { openSession, type Session, seconds } from '../../session.js';
import { chooseStore } from '../../stores.js';
import { checkOutput, printToken } from '../../token-output.js';

/** `graphcred token get` */
export async function run(call: Call): Promise<undefined> {
  const session = await openSession(call);
  await checkOutput(session);
  const held = await obtainToken(session, { fresh: call.flags.fresh === true });
  await printToken(session, held);
}

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
        const { mintFor } = await import('../../mint.js');
        return mintFor(session, credential, store.name !== 'none');
      },
    },
  );
}
