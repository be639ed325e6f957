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
