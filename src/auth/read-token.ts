import { valueOfVariable } from '../config/keys.js';
import { Sensitive } from '../core/sensitive.js';
import { fromStdin } from './read.js';
import type { Run } from './run.js';

/** Reads the token given with `--token-stdin`, if it was. It belongs to the pair of base URLs in force. */
export async function tokenFromStdin(run: Run): Promise<Sensitive | undefined> {
  if (run.ports.stdin.holds !== 'token') return undefined;
  const flag = '--token-stdin';
  const token = await fromStdin(run.ports.stdin.read, flag, run.time.limitMs);
  return new Sensitive(token.reveal(), `from ${flag}`);
}

/** What helps first when the server refuses `TG_API_TOKEN`. */
export const UNSET_VARIABLE = 'unset TG_API_TOKEN, which is used in place of a cached token';

/**
 * Returns the token in `TG_API_TOKEN`, unless the `TG_*` variables are for another database, or are all ignored, since
 * --profile was typed.
 */
export function tokenFromVariable({ ports, settings }: Run): Sensitive | undefined {
  if (settings.profile.source === '--profile') return undefined;
  const value = valueOfVariable('TG_API_TOKEN', ports.env.TG_API_TOKEN, true);
  if (!value) return undefined;
  const isForeign = settings.leftOut.some(({ levels }) => levels.includes('tgVariable'));
  if (!isForeign) return new Sensitive(value, 'from TG_API_TOKEN');
  ports.reporter.note('TG_API_TOKEN is for the servers in TG_HOST and is not used here');
  return undefined;
}
