import { isCredentialKey, type LeftOut, valueOfVariable } from '../config/keys.js';
import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import { mismatch } from './prompts.js';
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

/** Returns the text of `TG_API_TOKEN`, which is ignored if --profile was typed, as all `TG_*` variables. */
function variable({ ports, settings }: Run): string | undefined {
  if (settings.profile.source === '--profile') return undefined;
  return valueOfVariable('TG_API_TOKEN', ports.env.TG_API_TOKEN, true);
}

/** Returns the token in `TG_API_TOKEN`, unless it is ignored or the `TG_*` variables are for another database. */
export function tokenFromVariable(run: Run): Sensitive | undefined {
  const value = variable(run);
  if (!value) return undefined;
  if (!foreignVariables(run)) return new Sensitive(value, 'from TG_API_TOKEN');
  run.ports.reporter.note('TG_API_TOKEN is for the servers in TG_HOST and is not used here');
  return undefined;
}

function foreignVariables({ settings }: Run): LeftOut | undefined {
  return settings.leftOut.find(({ levels }) => levels.includes('tgVariable'));
}

/**
 * Looks for another credential or token when the token in `TG_API_TOKEN` belongs to other servers.
 * @throws GraphException HOST_MISMATCH when nothing else is found and the variable belongs to other servers
 */
export async function explainForeignVariable<T>(run: Run, find: () => Promise<T>): Promise<T> {
  try {
    return await find();
  } catch (error) {
    const foreign = variable(run) ? foreignVariables(run) : undefined;
    const isMissing =
      error instanceof GraphException && /^(?:INPUT_REQUIRED|HOST_MISMATCH)$/.test(error.code);
    if (!foreign || !isMissing || foreign.set.some(({ key }) => isCredentialKey(key))) throw error;
    const hint = 'give a credential for these servers: --secret-stdin, --password-stdin or GRAPHCRED_SECRET';
    throw mismatch(run, foreign, 'TG_API_TOKEN', hint);
  }
}
