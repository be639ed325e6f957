import type { Credential } from '../credentials/resolve.js';
import { readFacts, rememberFacts } from '../store/facts.js';
import type { HeldToken } from '../tokens/find.js';
import { mintToken } from '../tokens/mint.js';
import { connect, secretOf } from './connect.js';
import { requireGraph } from './require.js';
import type { Session } from './session.js';

/**
 * Asks the server for a token. The only file on the way to a token that loads HTTP code.
 * @param apart the token is to be revoked, so it must be nobody else's as well
 */
export async function mintFor(
  session: Session,
  credential: Credential,
  keeps: boolean,
  apart = false,
): Promise<Omit<HeldToken, 'source'>> {
  const { call, target, stateDir } = session;
  const { ctx, report } = call;
  const { connection, version } = await connect(session, credential, keeps);
  const secret = await secretOf(credential);
  if (version.generation !== 'C' && credential.kind === 'password') requireGraph(session);
  const lifetime = apart && version.generation === 'C' ? unlike(session.lifetime) : session.lifetime;
  const minted = await mintToken(
    { connection, version, secret, lifetime, lifetimeUnit: readFacts(stateDir, target.gsqlUrl).lifetimeUnit },
    {
      now: ctx.now,
      warn: report.warn,
      rememberUnit: (lifetimeUnit) => {
        if (keeps) rememberFacts(stateDir, target.gsqlUrl, { lifetimeUnit });
      },
    },
  );
  if (version.generation === 'C' && credential.kind === 'password') {
    report.note(
      'the server made a secret of its own for this token; to mint from one you know: graphcred secret create NAME --save',
    );
  }
  return minted;
}

/**
 * 4.x makes one and the same token for all who ask in one second for the same lifetime. A little less, by
 * chance, keeps a token apart from those held and, nearly always, from those of other runs.
 */
function unlike(lifetime: number): number {
  if (lifetime < 2) return lifetime;
  const spread = Math.min(600, Math.ceil(lifetime / 10));
  return lifetime - 1 - Math.floor(Math.random() * spread);
}
