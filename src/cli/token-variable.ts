import { Sensitive } from '../core/sensitive.js';
import type { Session } from './session.js';

/** The token in `TG_API_TOKEN`. With `--profile` typed, the field's variables do not count. */
export function tokenFromVariable({ call }: Session): Sensitive | undefined {
  const value = call.flags.profile === undefined ? call.ctx.env.TG_API_TOKEN : undefined;
  return value ? new Sensitive(value) : undefined;
}
