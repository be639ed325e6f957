import type { GraphConnection } from '../core/connection.js';
import type { MintedToken } from '../core/options.js';
import type { ServerVersion } from '../core/protocol.js';
import { Sensitive } from '../core/sensitive.js';
import type { HeldToken } from './find.js';

export interface MintInput {
  readonly connection: GraphConnection;
  readonly version: ServerVersion;
  readonly secret: Sensitive | undefined;
  /** Seconds. */
  readonly lifetime: number;
  /** What is remembered of this server. */
  readonly lifetimeUnit: 's' | 'ms' | undefined;
}

export interface MintDeps {
  now(): number;
  warn(message: string): void;
  rememberUnit(unit: 's' | 'ms'): void;
}

/**
 * Mints a token and looks at the life the server gave it. A server that evidently counts milliseconds is
 * asked once more with a thousand times the number, and remembered; this is the only second mint there is.
 */
export async function mintToken(input: MintInput, deps: MintDeps): Promise<Omit<HeldToken, 'source'>> {
  const { connection, version, secret, lifetime } = input;
  const unit = version.generation === 'C' ? input.lifetimeUnit : undefined;
  let minted = await connection.mintToken({ secret, lifetime, lifetimeUnit: unit });
  const verdict = judgeLifetime(lifetime, minted.grantedSeconds);
  if (verdict === 'milliseconds' && version.generation === 'C' && unit !== 'ms') {
    minted = await connection.mintToken({ secret, lifetime, lifetimeUnit: 'ms' });
    if (judgeLifetime(lifetime, minted.grantedSeconds) === 'as-asked') deps.rememberUnit('ms');
  }
  return held(connection, version, minted, lifetime, deps);
}

async function held(
  connection: GraphConnection,
  version: ServerVersion,
  minted: MintedToken,
  lifetime: number,
  deps: Pick<MintDeps, 'now' | 'warn'>,
): Promise<Omit<HeldToken, 'source'>> {
  if (judgeLifetime(lifetime, minted.grantedSeconds) !== 'as-asked') {
    deps.warn(
      `the server gave the token a life of ${minted.grantedSeconds} s, not the ${lifetime} s asked for`,
    );
  }
  return {
    token: new Sensitive(minted.token),
    expiresAtUnix: localExpiry(minted, deps.now()),
    lifetimeSeconds: lifetime,
    serverVersion: version.version,
    restUrl: (await connection.baseUrls()).restUrl,
  };
}

/** The end of life by this machine's clock: the server's own words, less what its clock is ahead of ours. */
export function localExpiry(minted: MintedToken, nowMs: number): number {
  const ahead = minted.serverTimeUnix - Math.floor(nowMs / 1000);
  // The Date header counts whole seconds and the answer took a moment: a second or two is no skew.
  return Math.abs(ahead) <= 2 ? minted.expiresAtUnix : minted.expiresAtUnix - ahead;
}

export interface RenewInput extends Omit<MintInput, 'lifetimeUnit'> {
  readonly token: Sensitive;
}

/** Gives a token a new life, counted from now (3.x). */
export async function renewToken(
  input: RenewInput,
  deps: Pick<MintDeps, 'now' | 'warn'>,
): Promise<Omit<HeldToken, 'source'>> {
  const { connection, version, secret, token, lifetime } = input;
  const renewed = await connection.renewToken({ token, secret, lifetime });
  return held(connection, version, renewed, lifetime, deps);
}

/** What the lifetime the server granted says about the one that was asked for. */
function judgeLifetime(asked: number, granted: number): 'as-asked' | 'milliseconds' | 'other' {
  const off = Math.abs(granted - asked);
  if (off <= 10 || off <= asked * 0.1) return 'as-asked';
  // A server that reads milliseconds grants a thousandth; the clock's grain blurs short lifetimes.
  return Math.abs(granted - asked / 1000) <= Math.max(2, asked / 10_000) ? 'milliseconds' : 'other';
}
