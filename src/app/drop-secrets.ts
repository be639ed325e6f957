import { GraphException } from '../core/errors.js';
import { deleteEach, type Outcome } from './delete-each.js';
import type { Login } from './gsql-login.js';

export interface Dropping {
  readonly dropped: readonly string[];
  readonly missing: readonly string[];
  /** The error that names what is left. */
  readonly failure: GraphException | undefined;
  /** The first error of the server. */
  readonly cause: GraphException | undefined;
}

/** Drops one secret after the other, and shows how many are done. Each has the full time limit: the call is stepwise. */
export async function dropEach({ call, connection }: Login, aliases: readonly string[]): Promise<Dropping> {
  const outcomes = await deleteEach(call, aliases, (alias, send) => {
    call.progress.text = `dropping secret ${aliases.indexOf(alias) + 1} of ${aliases.length}`;
    return send(connection, async () => {
      const { failed, missing } = await connection.dropSecrets([alias]);
      if (failed) throw failed.error;
      return { state: missing.length > 0 ? 'missing' : 'deleted' };
    });
  });
  const are = (wanted: Outcome<string>['state']) =>
    outcomes.filter(({ state }) => state === wanted).map(({ entry }) => entry);
  const cause = outcomes.find(({ error }) => error)?.error;
  const failure = cause && partialDrop(outcomes, cause);
  return { dropped: are('deleted'), missing: are('missing'), failure, cause };
}

/** Creates the error that names the secrets which are left or may be gone, and those that were not tried. */
function partialDrop(outcomes: readonly Outcome<string>[], cause: GraphException): GraphException {
  const failed = outcomes.filter(({ error, isUntried }) => error && !isUntried).map(({ entry }) => entry);
  const untried = outcomes.filter(({ isUntried }) => isUntried).map(({ entry }) => entry);
  const listed = (what: string, names: readonly string[]) => {
    const shown = names.length > 10 ? `${names.length} secrets` : names.join(', ');
    return names.length === 0 ? '' : ` ${what}: ${shown}.`;
  };
  const others = `${listed('Not dropped either', failed.slice(1))}${listed('Not tried', untried)}`;
  const code = outcomes.every(({ state }) => state === 'kept') ? cause.code : 'PARTIAL';
  const what = cause.ambiguous ? 'may have been' : 'was not';
  return new GraphException(code, `${failed[0]} ${what} dropped: ${cause.message}${others}`, {
    hint: 'see what is left: graphcred secret list',
  });
}
