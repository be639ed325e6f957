/** Smallest rest of life at which a held token is still handed out: min(60 s, 10 % of its life). */
export function defaultMinTtl(lifetime: number): number {
  return Math.min(60, lifetime * 0.1);
}

/**
 * Whether a token has enough life left.
 * @param expiresAtUnix in this machine's time, seconds
 * @param nowMs milliseconds since 1970
 */
export function hasEnoughLife(expiresAtUnix: number, minTtl: number, nowMs: number): boolean {
  return expiresAtUnix - nowMs / 1000 >= minTtl;
}

/** What the lifetime the server granted says about the one that was asked for. */
export function judgeLifetime(asked: number, granted: number): 'as-asked' | 'milliseconds' | 'other' {
  const off = Math.abs(granted - asked);
  if (off <= 10 || off <= asked * 0.1) return 'as-asked';
  // A server that reads milliseconds grants a thousandth; the clock's grain blurs short lifetimes.
  return Math.abs(granted - asked / 1000) <= Math.max(2, asked / 10_000) ? 'milliseconds' : 'other';
}
