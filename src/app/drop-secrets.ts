import { GraphException } from '../core/errors.js';
import type { DropResult } from '../core/options.js';
import type { Login } from './gsql-login.js';

export interface Dropping extends DropResult {
  /** The aliases after the one at which an error ended the work. */
  readonly untried: readonly string[];
}

/** Drops one secret after the other, and shows how many are done. Each has the full time limit: the call is stepwise. */
export async function dropEach({ call, connection }: Login, aliases: readonly string[]): Promise<Dropping> {
  const { progress } = call;
  const dropped: string[] = [];
  const missing: string[] = [];
  call.interruption?.begin();
  for (const [index, alias] of aliases.entries()) {
    progress.text = `dropping secret ${index + 1} of ${aliases.length}`;
    const { failed, ...done } = await connection.dropSecrets([alias]);
    dropped.push(...done.dropped);
    missing.push(...done.missing);
    if (failed) return { dropped, missing, failed, untried: aliases.slice(index + 1) };
  }
  return { dropped, missing, untried: [] };
}

/**
 * Creates the error of a drop that failed half-way. It names the secret that may be gone, and those that were not
 * tried.
 */
export function partialDrop({ dropped, failed, untried }: Dropping): GraphException {
  const error = failed?.error;
  const mayBeGone = error instanceof GraphException && error.ambiguous;
  const why = error instanceof Error ? error.message : 'unknown error';
  const alias = failed?.alias ?? '';
  const listed = (names: readonly string[]) =>
    names.length > 10 ? `${names.length} secrets` : names.join(', ');
  const left = untried.length === 0 ? '' : ` Not tried: ${listed(untried)}.`;
  const done = dropped.length === 0 ? 'nothing' : listed(dropped);
  const code = dropped.length === 0 && error instanceof GraphException ? error.code : 'PARTIAL';
  return new GraphException(
    code,
    `${alias} ${mayBeGone ? 'may have been' : 'was not'} dropped: ${why}${left}`,
    { hint: `dropped before it: ${done}; see what is left: graphcred secret list` },
  );
}
