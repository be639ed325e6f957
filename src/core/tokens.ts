import { GraphException } from './errors.js';
import type { MintedToken, MintOptions } from './options.js';
import type { ServerSession } from './protocol/session.js';
import type { Protocol } from './protocol/types.js';
import { BoundCredential, Sensitive } from './sensitive.js';

export const DEFAULT_LIFETIME = 2_592_000;
/** A token that ends sooner is not revoked, because that takes a place on the block list. */
const SHORT_LIFE_SECONDS = 300;

/** Mints a token, in the unit given, or in the one that the server evidently uses. */
export async function mintToken(
  session: ServerSession,
  protocol: Protocol,
  { lifetime = DEFAULT_LIFETIME, lifetimeUnit, secret: given }: MintOptions,
): Promise<MintedToken> {
  const { servers, version } = session;
  const secret = session.secretOr(given);
  const mint = (unit: 's' | 'ms') => protocol.mintToken(session, secret, lifetime, unit);
  if (lifetimeUnit !== undefined || !version.lifetimeUnitVaries) return mint(lifetimeUnit ?? 's');
  const revoke = async ({ token }: MintedToken) => {
    const bound = new BoundCredential(new Sensitive(token), servers);
    await protocol.deleteToken(session, bound, secret).catch(() => undefined);
  };
  return mintInUnit({ lifetime, mint, revoke });
}

interface UnitSearch<T> {
  readonly lifetime: number;
  /** The unit in which the server recently counted lifetimes. */
  readonly lifetimeUnit?: 's' | 'ms' | undefined;
  mint(unit: 's' | 'ms'): Promise<T>;
  /** Deletes a token that is not used: nobody else knows it. */
  revoke(minted: T): Promise<void>;
  /** Told the unit that the server evidently uses; absent where nothing can remember it. */
  readonly remember?: ((unit: 's' | 'ms') => void) | undefined;
  /** Told why no second token could be minted, where the first one is used. */
  warn?(error: GraphException): void;
}

/**
 * Mints a token on 4.x, where servers differ in the unit of a lifetime, and only the granted life shows which one it is.
 * If the server evidently counts in the other unit, mints a second token in that unit. Nothing else mints twice.
 */
export async function mintInUnit<T extends { readonly grantedSeconds: number }>({
  lifetime,
  lifetimeUnit = 's',
  mint,
  revoke,
  remember,
  warn,
}: UnitSearch<T>): Promise<T> {
  const first = await mint(lifetimeUnit);
  const granted = judgeLifetime(lifetime, first.grantedSeconds);
  if (lifetimeUnit === 'ms') {
    if (granted !== 'longer') return first;
    // The server now counts seconds.
    remember?.('s');
    await revoke(first);
    return mint('s');
  }
  if (granted !== 'thousandth') return first;
  const second = await mint('ms').catch((error) => {
    // The first token is valid for a while, unless the clock, which counts whole seconds, has passed its end already.
    if (!(error instanceof GraphException) || first.grantedSeconds <= 1) throw error;
    warn?.(error);
  });
  if (second === undefined) return first;
  if (second.grantedSeconds > 2 * lifetime) {
    // The server counts seconds after all: the first token is the right one.
    await revoke(second);
    return first;
  }
  if (remember && judgeLifetime(lifetime, second.grantedSeconds) === 'as-asked') {
    remember('ms');
    // Only where the unit is remembered: else each mint would take a place on the block list, and a full one may
    // forget another token.
    if (first.grantedSeconds > SHORT_LIFE_SECONDS) await revoke(first);
  }
  return second;
}

/** Compares the lifetime that the server granted with the one requested. */
export function judgeLifetime(
  asked: number,
  granted: number,
): 'as-asked' | 'thousandth' | 'longer' | 'shorter' {
  // For a short lifetime, a tenth of it is less than the clock resolution.
  const thousandth = Math.abs(granted - asked / 1000) <= Math.max(2, asked / 10_000);
  if (thousandth && granted <= asked / 4) return 'thousandth';
  const off = Math.abs(granted - asked);
  if (off <= 10 || off <= asked * 0.1) return 'as-asked';
  return granted > asked ? 'longer' : 'shorter';
}

/** A 4.x server gives one token to all mints of one lifetime within one second, so this call gets its own lifetime. */
export function jitterLifetime(lifetime: number): number {
  if (lifetime < 2) return lifetime;
  const spread = Math.min(600, Math.ceil(lifetime / 10));
  return lifetime - 1 - Math.floor(Math.random() * spread);
}
