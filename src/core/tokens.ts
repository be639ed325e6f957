import { expected, whyFailed } from './errors.js';
import type { MintedToken, MintOptions } from './options.js';
import type { Protocol, ServerSession } from './protocol/session.js';

export const DEFAULT_LIFETIME = 2_592_000;
/** A token that ends sooner is not revoked, because that takes a place on the block list. */
const SHORT_LIFE_SECONDS = 300;

/** Mints a token, and on 4.x a second one where the life granted shows that the server counts in the other unit. */
export async function mintInUnit(session: ServerSession, protocol: Protocol, options: MintOptions) {
  const { lifetime = DEFAULT_LIFETIME, lifetimeUnit = 's', onLifetimeUnit, onWarning } = options;
  const secret = session.secretOr(options.secret);
  const mint = (unit: 's' | 'ms') => protocol.mint(session, secret, lifetime, unit);
  const revoke = async ({ token, grantedSeconds }: MintedToken) => {
    const why = await whyFailed(protocol.deleteToken(session, session.tokenOr(token, 'delete'), secret));
    const what = `a token that is not needed was made, is valid for ${grantedSeconds} s`;
    if (why) onWarning?.(`${what} and could not be revoked: ${why.message}`);
  };
  const first = await mint(lifetimeUnit);
  const ofOtherUnit = lifetimeUnit === 's' ? 'thousandth' : 'longer';
  const isOther = judgeLifetime(lifetime, first.grantedSeconds) === ofOtherUnit;
  if (!session.version.lifetimeUnitVaries || !isOther) return first;
  if (lifetimeUnit === 'ms') {
    // The server now counts seconds.
    onLifetimeUnit?.('s');
    await revoke(first);
    return mint('s');
  }
  const second = await mint('ms').catch((error) => {
    // The first token is valid for a while, unless the clock, which counts whole seconds, has passed its end already.
    if (first.grantedSeconds <= 1) throw error;
    onWarning?.(
      `this token ends sooner than asked for, since a longer one could not be made: ${expected(error).message}`,
    );
  });
  if (second === undefined) return first;
  if (second.grantedSeconds > 2 * lifetime) {
    await revoke(second);
    return first;
  }
  if (onLifetimeUnit && judgeLifetime(lifetime, second.grantedSeconds) === 'as-asked') {
    onLifetimeUnit('ms');
    // Where the unit is not remembered, each mint would take a place on the block list.
    if (first.grantedSeconds > SHORT_LIFE_SECONDS) await revoke(first);
  }
  return second;
}

export function judgeLifetime(asked: number, granted: number) {
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
