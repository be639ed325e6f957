import { Sensitive } from '../core/sensitive.js';
import type { Session } from './session.js';

/**
 * The token in `TG_API_TOKEN`. With `--profile` typed, the field's variables do not count; where a flag leads
 * away from `TG_HOST`, it is another host's.
 */
export function tokenFromVariable({ call, target }: Session): Sensitive | undefined {
  const value = call.ctx.env.TG_API_TOKEN;
  if (!value || call.flags.profile !== undefined) return undefined;
  if (!target.awayFromFields) return new Sensitive(value);
  call.report.note('TG_API_TOKEN is for the host in TG_HOST and is not used here');
  return undefined;
}
