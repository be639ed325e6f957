import { GraphException } from '../core/errors.js';
import type { DropResult } from '../core/options.js';
import type { Login } from './gsql-login.js';

export interface Dropping extends Omit<DropResult, 'failed'> {
  readonly failures: readonly NonNullable<DropResult['failed']>[];
  /** The aliases after the one at which an error ended the work. */
  readonly untried: readonly string[];
}

/** Drops one secret after the other, and shows how many are done. Each has the full time limit: the call is stepwise. */
export async function dropEach({ call, connection }: Login, aliases: readonly string[]): Promise<Dropping> {
  const { progress } = call;
  const dropped: string[] = [];
  const missing: string[] = [];
  const failures: NonNullable<DropResult['failed']>[] = [];
  call.interruption?.begin();
  for (const [index, alias] of aliases.entries()) {
    progress.text = `dropping secret ${index + 1} of ${aliases.length}`;
    const { failed, ...done } = await connection.dropSecrets([alias]);
    dropped.push(...done.dropped);
    missing.push(...done.missing);
    if (failed === undefined) continue;
    failures.push(failed);
    // The others would meet the same error, unless the server has named one of this secret.
    const isOfSecret = failed.error instanceof GraphException && failed.error.code === 'SERVER_ERROR';
    if (!isOfSecret) return { dropped, missing, failures, untried: aliases.slice(index + 1) };
  }
  return { dropped, missing, failures, untried: [] };
}

/**
 * Creates the error of a drop that failed for some. It names the secrets that are left or may be gone, and those that
 * were not tried.
 */
export function partialDrop({ dropped, failures: [first, ...more], untried }: Dropping): GraphException {
  const error = first?.error;
  const mayBeGone = error instanceof GraphException && error.ambiguous;
  const why = error instanceof Error ? error.message : 'unknown error';
  const listed = (what: string, names: readonly string[]) => {
    const shown = names.length > 10 ? `${names.length} secrets` : names.join(', ');
    return names.length === 0 ? '' : ` ${what}: ${shown}.`;
  };
  const others = more.map(({ alias }) => alias);
  const left = `${listed('Not dropped either', others)}${listed('Not tried', untried)}`;
  const code = dropped.length === 0 && error instanceof GraphException ? error.code : 'PARTIAL';
  return new GraphException(
    code,
    `${first?.alias} ${mayBeGone ? 'may have been' : 'was not'} dropped: ${why}${left}`,
    { hint: 'see what is left: graphcred secret list' },
  );
}
