import { type Fix, GraphException, usageError, whyFailed } from '../../core/errors.js';
import { isPlainAlias } from '../../core/protocol/gsql.js';
import type { Login } from '../gsql-login.js';
import { mayConcernOne } from '../tokens/revoker.js';
import { forgetterOf, revokeTokensOf } from './minted-tokens.js';
import { isNamed, type Listed, maskedLike, savedForServer } from './saved-secrets.js';

const SEE: readonly Fix[] = ['see the secrets', { command: 'secret list' }];

/** Returns the secrets to drop. The one that logs in comes last: the others can be dropped only as long as it works. */
export async function planDrop(login: Login, aliases: readonly string[], skipsUnknown: boolean) {
  const odd = aliases.filter((alias) => !isPlainAlias(alias));
  // What has no name of the server is recognized by its mask, which must be read before the secret is dropped.
  const needsMasks = (await savedForServer(login)).some(({ record }) => !isNamed(login, record));
  const { kind, level, read } = login.credential;
  const mayDropLogin = kind === 'secret' && (aliases.length > 1 || level !== 'store');
  const masks = new Map<string, string>();
  if (odd.length > 0 || needsMasks || mayDropLogin)
    for (const { alias, masked } of await login.connection.listSecrets()) masks.set(alias, masked);
  // The word itself is not repeated, since it may be a credential.
  if (!skipsUnknown && odd.some((alias) => !masks.has(alias)))
    throw usageError('A name is not in the list of secrets; nothing was dropped.', SEE);
  const secrets = aliases.map((alias) => ({ alias, masked: masks.get(alias) }));
  const own = await maskedLike(kind === 'secret' ? secrets : [], read);
  return [...secrets.filter((one) => !own.includes(one)), ...own];
}

/** Drops secrets on the server, and deletes what is stored of them here. */
export async function dropSecrets(login: Login, secrets: readonly Listed[], revoke: boolean) {
  if (revoke) await revokeTokensOf(login, secrets);
  const withForget = async (one: Listed) => ({ ...one, forget: await forgetterOf(login, one) });
  const planned = await Promise.all(secrets.map(withForget));
  const aliases = secrets.map(({ alias }) => alias);
  const outcome = await dropEach(login, aliases);
  // A secret that the server does not know is of no use, so it is deleted from the store too.
  const gone = [...outcome.dropped, ...outcome.missing];
  for (const { alias, forget } of planned.filter((one) => gone.includes(one.alias))) {
    const why = (await whyFailed(forget()))?.message;
    if (why) login.run.ports.reporter.warn(`could not delete the saved value of "${alias}": ${why}`);
  }
  return outcome;
}

/** Drops one secret after the other. What would fail for every one is not sent again. `failure` names what is left. */
export async function dropEach(login: Login, aliases: readonly string[]) {
  const { reporter, interruption } = login.run.ports;
  const done: Record<'dropped' | 'missing', string[]> = { dropped: [], missing: [] };
  let first = '';
  let cause: GraphException | undefined;
  interruption.begin();
  for (const alias of aliases) {
    reporter.doing(`dropping secret ${aliases.indexOf(alias) + 1} of ${aliases.length}`);
    const why = await whyFailed(dropOne(login, alias).then((outcome) => done[outcome].push(alias)));
    if (why && cause === undefined) [first, cause] = [alias, why];
    if (why && !mayConcernOne(why)) break;
  }
  if (cause === undefined || (aliases.length === 1 && !cause.ambiguous)) return { ...done, failure: cause };
  const succeeded = [...done.dropped, ...done.missing];
  const others = aliases.filter((alias) => alias !== first && !succeeded.includes(alias));
  const message = `"${first}" ${cause.ambiguous ? 'may have been' : 'was not'} dropped: ${cause.message}`;
  const missing = done.missing.length > 0 ? ` No such secret: ${done.missing.join(', ')}.` : '';
  const rest = others.length > 0 ? ` Not tried, or not dropped: ${others.join(', ')}.${missing}` : missing;
  const code = succeeded.length > 0 ? 'PARTIAL' : cause.code;
  const hint = cause.ambiguous ? SEE : [...cause.fix, ...SEE];
  return { ...done, failure: new GraphException(code, message + rest, { hint }) };
}

export async function dropOne({ run, connection }: Login, alias: string): Promise<'dropped' | 'missing'> {
  const why = await whyFailed(connection.dropSecret(alias, { ignoreErrors: false }));
  if (why?.option === 'ignoreErrors') return 'missing';
  if (why) throw why;
  run.ports.reporter.did(`dropped the secret "${alias}"`);
  return 'dropped';
}
