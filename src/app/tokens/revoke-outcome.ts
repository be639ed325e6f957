import { profileFor } from '../../auth/connect.js';
import type { Run } from '../../auth/run.js';
import { GraphException, type Hint } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import type { Sensitive } from '../../core/sensitive.js';
import { shellWord } from '../../files/shell-word.js';
import type { TokenRecord } from '../../store/store.js';
import type { TokenRow } from './list-tokens.js';

export interface Outcome {
  /** Undefined for a token that is not stored here. */
  readonly row?: TokenRow | undefined;
  /** Whether the server deleted it, no longer knew it, or may still accept it. */
  readonly state: 'deleted' | 'ended' | 'kept';
  /** Why it is kept, or still stored here. Undefined for a kept token whose value cannot be read from the store. */
  readonly error?: GraphException | undefined;
}

export const NEEDS_CREDENTIAL = /^(AUTH_FAILED|PERMISSION_DENIED|INPUT_REQUIRED)$/;

/** Whether an error may concern one secret or token alone; any other would meet the next one of the same login too. */
export function mayConcernOne({ code }: GraphException): boolean {
  return ['PERMISSION_DENIED', 'SERVER_ERROR', 'BAD_RESPONSE'].includes(code);
}

/** Creates the error that names the tokens which were not revoked, or else tells of one that is still stored. */
export function failureOf(run: Run, outcomes: readonly Outcome[]): GraphException | undefined {
  const kept = outcomes.flatMap(({ row, state, error }) => (row && state === 'kept' ? { row, error } : []));
  const [first] = kept;
  if (first === undefined) return stillStored(outcomes);
  if (first.error?.code === 'CANCELLED' && kept.length === outcomes.length) return first.error;
  /** The tokens, by the reason why they are kept. */
  const named = new Map<string, string[]>();
  for (const { row, error } of kept) {
    const { from, record } = row;
    const { graph, gsqlUrl } = record.info;
    const reason = error ? error.message.replace(/\.$/, '') : 'its value cannot be read from the store';
    const token = `${row.id} (from ${from}, ${graph === null ? 'no graph' : `graph ${graph}`}, ${gsqlUrl})`;
    named.set(reason, [...(named.get(reason) ?? []), token]);
  }
  const told = [...named].map(([reason, tokens]) => `${tokens.join(', ')}: ${reason}`);
  const other = kept.find(({ error }) => !NEEDS_CREDENTIAL.test(error?.code ?? ''));
  const { fix = [] } = other?.error ?? {};
  const again = fix.length > 0 ? fix : ['run it again'];
  return new GraphException('PARTIAL', `Not revoked, and still cached: ${told.join('; ')}`, {
    hint: other ? [...again, 'see what is left', { command: 'token list' }] : adviseLogin(run, first.row),
  });
}

function adviseLogin({ settings }: Run, { id, record }: TokenRow): Hint {
  const { gsqlUrl, restUrl } = record.info;
  const profile = profileFor(settings, record.info)?.profile.name;
  const where =
    profile === undefined ? `--gsql-url ${gsqlUrl} --rest-url ${restUrl}` : `-p ${shellWord(profile)}`;
  // What is saved may be what was refused, so the password is typed.
  const which = `${id} ${where} --password-stdin`;
  return ['log in as the user whose token it is', withLogin(which, userOf(record))];
}

/** Creates the error for a store that could not be changed after a token was deleted on the server. */
function stillStored(outcomes: readonly Outcome[]): GraphException | undefined {
  const stored = outcomes.flatMap(({ row, error }) => (row && error ? { id: row.id, error } : []));
  const [first] = stored;
  if (first === undefined) return undefined;
  const ids = stored.map(({ id }) => id).join(' ');
  const message = `Deleted on the server, but not from this machine: ${ids}: ${first.error.message}.`;
  const repair = 'repair the store, because token get still prints the token; then run';
  const again = { command: `token delete ${ids} --skip-missing` };
  return new GraphException('PARTIAL', message, { hint: [repair, again] });
}

/** Says whose token it is that a server does not delete for another user. How 4.x words that is not known. */
export function explainRefusal(
  failure: GraphException,
  token: Sensitive,
  record: TokenRecord | undefined,
  username: string | undefined,
): GraphException {
  const owner = readClaims(token)?.sub ?? (record && userOf(record));
  const isOfOther = owner !== undefined && username !== undefined && owner !== username;
  if (!isOfOther || !['PERMISSION_DENIED', 'SERVER_ERROR'].includes(failure.code)) return failure;
  const message = `${failure.message} The token belongs to ${owner}.`;
  const fix = ['that user can delete it, and on 3.x a superuser can too', withLogin('--token-stdin', owner)];
  return new GraphException('PERMISSION_DENIED', message, { ...failure, fix });
}

function withLogin(which: string, user = 'USER') {
  return { command: `token delete ${which} -u ${shellWord(user)}` };
}

/** Creates the error for a JWT of an identity provider. No server has issued it, so none can end it. */
export function notDeletable(): GraphException {
  return new GraphException(
    'UNSUPPORTED',
    'A JWT of an identity provider cannot be deleted at the server; it stays valid until it expires.',
    { hint: ['delete it from this machine', { command: 'logout' }] },
  );
}

export function userOf({ info }: TokenRecord): string | undefined {
  return info.username ?? /^user:(.*)/s.exec(info.principal)?.[1];
}
