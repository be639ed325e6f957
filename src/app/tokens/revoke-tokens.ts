import type { Credential } from '../../auth/credential.js';
import { namedBy } from '../../config/target.js';
import type { Servers } from '../../core/endpoints.js';
import { expected, GraphException, type Hint } from '../../core/errors.js';
import { shellWord } from '../../files/shell-word.js';
import { once } from '../../run/once.js';
import type { Run } from '../../run/run.js';
import { profileFor } from '../../run/server.js';
import { forget, markMaybeEnded } from './keep-token.js';
import type { TokenRow } from './list-tokens.js';
import { NEEDS_CREDENTIAL, revokerAt, userOf } from './revoker.js';
import { isOfToken } from './token-cache.js';

export interface Outcome {
  /** Undefined for a token that is not stored here. */
  readonly row?: TokenRow | undefined;
  /** Whether the server deleted it, no longer knew it, or may still accept it. */
  readonly state: 'deleted' | 'ended' | 'kept';
  /** Why it is kept, or still stored here. Undefined for a kept token whose value cannot be read from the store. */
  readonly error?: GraphException | undefined;
}

/** Revokes tokens of any server and user, and removes each record of the same value. @param all the tokens of this machine */
export async function revokeTokens(
  run: Run,
  tokens: readonly TokenRow[],
  all: readonly TokenRow[],
  given?: Credential,
): Promise<readonly Outcome[]> {
  const { interruption, reporter } = run.ports;
  const revokerOf = once((_pair: string, servers: Servers) => revokerAt(run, servers, given));
  const done = new Set<TokenRow>();
  const outcomes: Outcome[] = [];
  const revoke = async (row: TokenRow): Promise<Outcome> => {
    const cancelled = outcomes.find(({ error }) => error?.code === 'CANCELLED');
    if (cancelled) throw cancelled.error;
    const { store, record } = row;
    if (record.info.issuedBy === 'provider') throw notDeletable(run);
    // The clock here may be wrong, so the server is asked whether the token has ended.
    const token = await row.value();
    if (!token) {
      // A run that was killed had the token revoked, or was to forget it.
      if (record.info.unfinished === 'delete') await store.delete(record.key);
      // The record is the last sign of a token that may still be valid.
      return { state: (await store.list(record.key)).length > 0 ? 'kept' : 'ended' };
    }
    const { gsqlUrl, restUrl } = record.info;
    const revoking = revokerOf(`${gsqlUrl} ${restUrl}`, record.info)(row, token);
    const state = await revoking.catch(markMaybeEnded(all, token));
    // Whoever it was minted for, it ends for all of them at once.
    for (const one of all) if (isOfToken(one.record, token)) done.add(one);
    return { state, error: await forget(all, token) };
  };
  interruption.begin();
  for (const row of tokens) {
    if (done.has(row)) continue;
    const outcome = await revoke(row).catch((error): Outcome => ({ state: 'kept', error: expected(error) }));
    outcomes.push({ row, ...outcome });
    if (outcome.state === 'deleted') reporter.did(`revoked the token ${row.id}`);
    else if (outcome.state === 'ended' && !outcome.error) reporter.did(`deleted the token ${row.id} here`);
  }
  // One that was kept may have gone with another record of the same token.
  return outcomes.filter(({ row, state }) => state !== 'kept' || !row || !done.has(row));
}

/** Creates the error that names the tokens which were not revoked, or else tells of one that is still stored. */
export function failureOf(run: Run, outcomes: readonly Outcome[]): GraphException | undefined {
  const kept = outcomes.flatMap(({ row, state, error }) => (row && state === 'kept' ? { row, error } : []));
  const [first] = kept;
  if (first === undefined) return stillStored(outcomes);
  if (first.error?.code === 'CANCELLED' && kept.length === outcomes.length) return first.error;
  const named = new Map<string, string[]>();
  for (const { row, error } of kept) {
    const { from, record } = row;
    const { graph, gsqlUrl } = record.info;
    const reason = error ? error.message.replace(/\.$/, '') : 'A stored token cannot be read';
    const why = `${reason}. Still stored here, ${error?.ambiguous ? 'perhaps' : 'and'} not revoked`;
    const at = gsqlUrl === run.target.gsqlUrl ? '' : ` at ${gsqlUrl}`;
    const token = `token ${row.id} of ${from}${graph === null ? '' : ` for graph ${graph}`}${at}`;
    named.set(why, [...(named.get(why) ?? []), token]);
  }
  const message = [...named].map(([why, tokens]) => `${why}: ${tokens.join(', ')}.`).join(' ');
  const other = kept.find(({ error }) => !NEEDS_CREDENTIAL.test(error?.code ?? ''));
  const { fix, code } = other?.error ?? { fix: ['if the store key was changed, put the old one back'] };
  const again = code === 'NETWORK' ? ['then try again'] : [];
  const hint = other
    ? [...fix, ...again, 'see what is left', { command: 'token list' }]
    : adviseLogin(run, first.row);
  return new GraphException('PARTIAL', message, { hint });
}

function adviseLogin({ settings }: Run, { id, record }: TokenRow): Hint {
  const { gsqlUrl, restUrl } = record.info;
  // Beside another address that is typed or in a variable, a profile for these servers would not count.
  const isOfFile = !/flag|variable/i.test(namedBy(settings)?.level ?? '');
  const profile = isOfFile ? profileFor(settings, record.info)?.profile.name : undefined;
  const where =
    profile === undefined ? `--gsql-url ${gsqlUrl} --rest-url ${restUrl}` : `-p ${shellWord(profile)}`;
  // What is saved may be what was refused, so the password is typed.
  const login = `-u ${shellWord(userOf(record) ?? 'USER')} --password-stdin`;
  return ["give the password of the token's user", { command: `token delete ${id} ${where} ${login}` }];
}

function stillStored(outcomes: readonly Outcome[]): GraphException | undefined {
  const stored = outcomes.flatMap(({ row, error }) => (row && error ? { id: row.id, error } : []));
  const [first] = stored;
  if (first === undefined) return undefined;
  const ids = stored.map(({ id }) => id).join(' ');
  const message = `No longer valid, but still stored: token ${ids}: ${first.error.message}.`;
  const repair = 'token get still prints this token; when the store works again';
  const again = { command: `token delete ${ids} --skip-missing` };
  return new GraphException('PARTIAL', message, { hint: [repair, again] });
}

/** Creates the error for a JWT of an identity provider. No server has issued it, so none can end it. */
export function notDeletable({ stores }: Run, isStored = true): GraphException {
  const command = stores.areShared ? 'logout --revoke' : 'logout';
  return new GraphException(
    'UNSUPPORTED',
    'A JWT of an identity provider cannot be deleted at the server; it stays valid until it expires.',
    { hint: isStored ? ['delete all that is stored', { command }] : 'wait until then' },
  );
}
