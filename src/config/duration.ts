import { GraphException } from '../core/errors.js';

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;
/** A hundred years; anything longer is a slip of the keyboard. */
const MAX_SECONDS = 100 * 365 * 86_400;

/**
 * A length of time as people write it: `90` (seconds), `90s`, `15m`, `12h`, `30d`, `1w`.
 * @returns whole seconds, 0 or more
 * @throws GraphException USAGE naming the setting, when it is none of these
 */
export function parseDuration(text: string, name: string): number {
  const match = /^(\d{1,12})([smhdw]?)$/.exec(text);
  const seconds = match ? Number(match[1]) * SECONDS[(match[2] || 's') as keyof typeof SECONDS] : Number.NaN;
  if (!(seconds <= MAX_SECONDS)) {
    throw new GraphException('USAGE', `${name} is not a length of time graphcred understands.`, {
      hint: 'write seconds, or a number with a unit: 90, 15m, 12h, 30d, 1w',
    });
  }
  return seconds;
}
