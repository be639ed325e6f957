import { isOn, type Settings } from '../config/settings.js';
import type { Context } from './context.js';

/** Whether a person is there to be asked: both ends a terminal, no CI, nobody said no. */
export function mayAsk(ctx: Context, settings: Settings): boolean {
  return ctx.stdin.isTTY && ctx.stderr.isTTY && !inCi(ctx.env) && !isOn(settings, 'noInput');
}

/** `CI` counts as set unless it is empty, `0` or `false`. */
export function inCi(env: Context['env']): boolean {
  const ci = env.CI?.toLowerCase();
  return ci !== undefined && ci !== '' && ci !== '0' && ci !== 'false';
}
