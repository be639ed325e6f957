import { expected, GraphException, usageError } from '../../core/errors.js';
import { isPlainAlias } from '../../core/protocol/gsql.js';
import { deleteEach, type Outcome } from '../delete-each.js';
import type { Login } from '../gsql-login.js';
import {
  forgetDropped,
  isNamed,
  type Listed,
  loginAmong,
  revokeTokensOf,
  savedForOwner,
} from './saved-secrets.js';

export interface Dropping {
  readonly dropped: readonly string[];
  readonly missing: readonly string[];
  /** The error that names what is left. */
  readonly failure: GraphException | undefined;
}

/**
 * Checks that each can be an alias on a server, and cannot change a GSQL statement.
 * @throws GraphException USAGE
 */
export function checkSendable(aliases: readonly string[]): void {
  const isSendable = (alias: string) => alias.length <= 128 && /^[^\s;"'`\\\p{C}]+$/u.test(alias);
  if (!aliases.every(isSendable))
    throw noAlias('One of the aliases cannot be the name of a secret; nothing was dropped.');
}

/**
 * Returns the secrets to drop, in order: the one that logs in comes last, because the others can be dropped only as long
 * as it works.
 * @throws GraphException USAGE for an alias that is neither well formed nor listed
 */
export async function planDrop(login: Login, aliases: readonly string[]): Promise<readonly Listed[]> {
  const odd = aliases.filter((alias) => !isPlainAlias(alias));
  // What has no name of the server is recognized by its mask, which must be read before the secret is dropped.
  const needsMasks = (await savedForOwner(login)).some((record) => !isNamed(login, record));
  const { kind, level } = login.credential;
  const mayDropLogin = kind === 'secret' && (aliases.length > 1 || level !== 'store');
  const masks = new Map<string, string>();
  if (odd.length > 0 || needsMasks || mayDropLogin)
    for (const { alias, masked } of await login.connection.listSecrets()) masks.set(alias, masked);
  if (odd.some((alias) => !masks.has(alias)))
    throw noAlias('One of the aliases is neither well formed nor listed; nothing was dropped.');
  const secrets = aliases.map((alias) => ({ alias, masked: masks.get(alias) }));
  const own = await loginAmong(login, secrets);
  return [...secrets.filter((one) => !own.includes(one)), ...own];
}

function noAlias(message: string): GraphException {
  return usageError(message, ['see the names there are', { command: 'secret list' }]);
}

/**
 * Drops secrets on the server, and deletes what is stored of them here.
 * @param revoke whether the tokens minted from them are revoked first
 */
export async function dropSecrets(
  login: Login,
  secrets: readonly Listed[],
  { revoke }: { readonly revoke: boolean },
): Promise<Dropping> {
  if (revoke) await revokeTokensOf(login, secrets);
  const aliases = secrets.map(({ alias }) => alias);
  const { dropped, missing, failure, cause } = await dropEach(login, aliases);
  // A secret that the server does not know is of no use, so it is deleted from the store too.
  for (const secret of secrets) {
    const { alias } = secret;
    if (!dropped.includes(alias) && !missing.includes(alias)) continue;
    try {
      await forgetDropped(login, secret);
    } catch (error) {
      const { message } = expected(error);
      login.run.ports.reporter.warn(`could not delete the saved value of ${alias}: ${message}`);
    }
  }
  return { dropped, missing, failure: aliases.length === 1 ? cause : failure };
}

/**
 * Drops one secret after the other, and shows how many are done. Each has the full time limit: the run is stepwise.
 * @returns also the first error of the server, as `cause`
 */
export async function dropEach({ run, connection }: Login, aliases: readonly string[]) {
  const outcomes = await deleteEach(run, aliases, (alias, send) => {
    run.ports.reporter.doing(`dropping secret ${aliases.indexOf(alias) + 1} of ${aliases.length}`);
    return send(connection, async () => {
      const { failed, missing } = await connection.dropSecrets([alias]);
      if (failed) throw failed.error;
      if (missing.length === 0) run.ports.reporter.did(`dropped the secret ${alias}`);
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
    hint: ['see what is left', { command: 'secret list' }],
  });
}
