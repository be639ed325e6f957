import { GraphException } from '../../core/errors.js';
import type { Credential } from '../../credentials/resolve.js';
import { readServerCache, updateServerCache } from '../../store/server-cache.js';
import { STORES } from '../../store/store.js';
import type { CachedToken } from '../../tokens/cache.js';
import { mintToken } from '../../tokens/mint.js';
import type { Interruption } from '../command.js';
import { EndOfSignal, endOfInterrupted, listenForInterruption } from '../output/report.js';
import { connect, requireGraph } from '../session/connect.js';
import type { Session } from '../session/types.js';

const DAY_SECONDS = 86_400;

/**
 * Asks the server for a token, and listens for signals meanwhile: a request that is broken off may have made a token that
 * nobody knows, which is said.
 * @throws EndOfSignal after that
 */
export async function mintInterruptibly(
  session: Session,
  credential: Credential,
): Promise<{ token: Omit<CachedToken, 'source'>; interruption: Interruption }> {
  const { invocation } = session;
  const interruption = listenForInterruption(invocation.report);
  interruption.begin();
  try {
    const token = await mintFor({ ...session, invocation: { ...invocation, interruption } }, credential);
    return { token, interruption };
  } catch (error) {
    if (interruption.status === undefined) throw error;
    invocation.report.error(endOfInterrupted(mayHaveMinted(error)), interruption.status);
    throw new EndOfSignal(interruption.status);
  } finally {
    interruption.stop();
  }
}

/** Adds to an error that the server may have made a token. */
function mayHaveMinted(error: unknown): unknown {
  if (!(error instanceof GraphException) || !error.ambiguous) return error;
  return new GraphException(
    error.code,
    `${error.message} A token may have been made, which lives until it expires.`,
    {
      hint: 'on 4.x a mint by password may have made a secret too: graphcred secret prune --dry-run',
    },
  );
}

/**
 * Asks the server for a token. The only file on the way to a token that loads HTTP code.
 * @param unique the token will be revoked, so no other process may have the same one
 */
export async function mintFor(
  session: Session,
  credential: Credential,
  unique = false,
): Promise<Omit<CachedToken, 'source'>> {
  const { invocation, target, stateDir } = session;
  const { ctx, report } = invocation;
  const { connection, version } = await connect(session, credential);
  const { secretsNeedGraph, sameTokenWithinOneSecond, mintByPasswordCreatesSecret } = version;
  const byPassword = credential.kind === 'password';
  if (secretsNeedGraph && byPassword) requireGraph(session);
  const lifetime = unique && sameTokenWithinOneSecond ? jitterLifetime(session.lifetime) : session.lifetime;
  const keeps = stateDir !== undefined && STORES[session.store.name].keeps.tokens;
  const { lifetimeUnit, lifetimeUnitAtUnix = 0 } =
    stateDir === undefined ? {} : readServerCache(stateDir, target.gsqlUrl);
  const nowUnix = Math.floor(ctx.now() / 1000);
  // A server can be upgraded or replaced, so the detected unit is used for a day.
  const recent = Math.abs(nowUnix - lifetimeUnitAtUnix) < DAY_SECONDS;
  const minted = await mintToken(
    { connection, version, lifetime, lifetimeUnit: recent ? lifetimeUnit : undefined },
    {
      now: ctx.now,
      warn: report.warn,
      rememberUnit: (unit) => {
        if (keeps)
          updateServerCache(stateDir, target.gsqlUrl, { lifetimeUnit: unit, lifetimeUnitAtUnix: nowUnix });
      },
    },
  );
  if (mintByPasswordCreatesSecret && byPassword) {
    report.note(
      'Minting with a password makes a 4.x server create a secret (AUTO_GENERATED_ALIAS_*). To avoid that: graphcred secret create NAME --save',
    );
  }
  return minted;
}

/**
 * A 4.x server gives the same token to all requests of one second with the same lifetime. A slightly shorter random
 * lifetime gives this call a token of its own.
 */
function jitterLifetime(lifetime: number): number {
  if (lifetime < 2) return lifetime;
  const spread = Math.min(600, Math.ceil(lifetime / 10));
  return lifetime - 1 - Math.floor(Math.random() * spread);
}
