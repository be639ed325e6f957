import { findCredential, findWithoutAsking, savedCredential } from '../../auth/choose.js';
import { connect, findVersion, profileFor, runFor } from '../../auth/connect.js';
import { type Credential, once } from '../../auth/credential.js';
import { isOfProvider } from '../../auth/oidc/settings.js';
import type { Run } from '../../auth/run.js';
import { isSamePair } from '../../config/target.js';
import { type ErrorCode, expected, GraphException, type Hint, whyFailed } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import type { Sensitive } from '../../core/sensitive.js';
import { shellWord } from '../../files/shell-word.js';
import type { Store, TokenRecord } from '../../store/store.js';
import { isOfToken } from './identity.js';
import type { TokenRow } from './list-tokens.js';
import { forget } from './token-cache.js';

/** What became of a token. */
export interface Outcome {
  /** Undefined for a token that is not stored here. */
  readonly row?: TokenRow | undefined;
  /** Whether the server deleted it, no longer knew it, or may still accept it. */
  readonly state: 'deleted' | 'ended' | 'kept';
  /** Why it is kept, or still stored here. Undefined for a kept token whose value cannot be read from the store. */
  readonly error?: GraphException | undefined;
}

/**
 * Deletes a token on the server, and then each record of it if the server deleted it or does not know it.
 * @param rows those that are stored here, of any token
 * @throws GraphException when the server may still accept it; nothing has changed here then
 */
export type Revoker = (token: Sensitive, rows: readonly TokenRow[]) => Promise<Outcome>;

/**
 * Returns what revokes tokens with one login. An error that the next token would meet too is thrown again for that.
 * @param credential without it the token logs in itself
 */
export function revokerWith(run: Run, credential: Credential | undefined): Revoker {
  const connected = once(() => connect(run, credential));
  let failure: GraphException | undefined;
  return async (token, rows) => {
    if (failure) throw failure;
    const { connection } = await connected();
    const why = await whyFailed(connection.deleteToken(undefined, { token }));
    // A refusal has the status of its answer; what the server does not know has none.
    const isUnknown = why?.code === 'NOT_FOUND' && why.status === undefined;
    if (why && !isUnknown) {
      if (!mayConcernOne(why)) failure = why;
      throw explainRefusal(why, token, rows, credential?.username);
    }
    return { state: why ? 'ended' : 'deleted', error: await forget(rows, token) };
  };
}

/** Says whose token it is that a server does not delete for another user. How 4.x words that is not known. */
function explainRefusal(
  failure: GraphException,
  token: Sensitive,
  rows: readonly TokenRow[],
  username: string | undefined,
): GraphException {
  const row = rows.find(({ record }) => isOfToken(record, token));
  const owner = readClaims(token)?.sub ?? (row && userOf(row.record));
  const isOfOther = owner !== undefined && username !== undefined && owner !== username;
  if (!isOfOther || !['PERMISSION_DENIED', 'SERVER_ERROR'].includes(failure.code)) return failure;
  const message = `${failure.message} The token is of ${owner}.`;
  const fix = ['its user may delete it, and on 3.x a superuser', withLogin('--token-stdin', owner)];
  return new GraphException('PERMISSION_DENIED', message, { ...failure, fix });
}

/** Returns the command that deletes tokens with the login of their user. */
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

/** Whether an error may concern one secret or token alone; any other would meet the next one of the same login too. */
export function mayConcernOne({ code }: GraphException): boolean {
  return ['PERMISSION_DENIED', 'SERVER_ERROR', 'BAD_RESPONSE'].includes(code);
}

const NEEDS_CREDENTIAL: readonly (ErrorCode | undefined)[] = [
  'AUTH_FAILED',
  'PERMISSION_DENIED',
  'INPUT_REQUIRED',
];

/** Creates the error that names the tokens which were not revoked, or else tells of one that is still stored. */
export function failureOf(run: Run, outcomes: readonly Outcome[]): GraphException | undefined {
  const kept = outcomes.flatMap(({ row, state, error }) => (row && state === 'kept' ? { row, error } : []));
  const [first] = kept;
  if (first === undefined) return stillStored(outcomes);
  if (first.error?.code === 'CANCELLED' && kept.length === outcomes.length) return first.error;
  const named = kept.map(({ row: { id, from, record }, error }, index) => {
    const { graph, gsqlUrl } = record.info;
    const reason = error ? error.message.replace(/\.$/, '') : 'its value cannot be read from the store';
    // What an earlier token met ended the work with that login.
    const isTried = !error || kept.findIndex((earlier) => earlier.error === error) === index;
    const why = isTried ? reason : 'not tried';
    return `${id} (from ${from}, ${graph === null ? 'no graph' : `graph ${graph}`}, ${gsqlUrl}): ${why}`;
  });
  const other = kept.find(({ error }) => !NEEDS_CREDENTIAL.includes(error?.code));
  const { fix = [] } = other?.error ?? {};
  const again = fix.length > 0 ? fix : ['run it again'];
  return new GraphException('PARTIAL', `Not revoked, and still cached: ${named.join('; ')}`, {
    hint: other ? [...again, 'see what is left', { command: 'token list' }] : adviseLogin(run, first.row),
  });
}

/** Says how to delete a token with a login that may. */
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
  const message = `Gone at the server, but this machine could not forget ${ids}: ${first.error.message}.`;
  return new GraphException('PARTIAL', message, {
    hint: [
      'put that right, for token get still prints it; then run',
      { command: `token delete ${ids} --skip-missing` },
    ],
  });
}

/**
 * Revokes tokens of any server and user, one after the other, and removes every record of those that the server no longer
 * accepts.
 * @param all the tokens of this machine, of which some may have the same value
 * @param given the login in force, if the command has one already
 */
export async function revokeTokens(
  run: Run,
  tokens: readonly TokenRow[],
  all: readonly TokenRow[],
  given?: Credential,
): Promise<readonly Outcome[]> {
  const { interruption, reporter } = run.ports;
  const revokerFor = revokers(run, given);
  const done = new Set<TokenRow>();
  const outcomes: Outcome[] = [];
  const revoke = async (row: TokenRow): Promise<Outcome> => {
    const cancelled = outcomes.find(({ error }) => error?.code === 'CANCELLED');
    if (cancelled) throw cancelled.error;
    const { store, record } = row;
    if (isOfProvider(record.info.principal)) throw notDeletable();
    // The clock here may be wrong, so the server is asked whether the token has ended.
    const token = await row.value();
    if (!token) {
      // A run that was killed had the token revoked, or was to forget it.
      if (record.info.unfinished === 'delete') await store.delete(record.key);
      // The record is the last sign of a token that may still be valid.
      return { state: (await store.list(record.key)).length > 0 ? 'kept' : 'ended' };
    }
    // Whoever it was minted for, it ends for all of them at once.
    for (const one of all) if (isOfToken(one.record, token)) done.add(one);
    return (await revokerFor(row))(token, all);
  };
  interruption.begin();
  for (const row of tokens) {
    if (done.has(row)) continue;
    const outcome = await revoke(row).catch((error): Outcome => ({ state: 'kept', error: expected(error) }));
    outcomes.push({ row, ...outcome });
    if (outcome.state === 'deleted') reporter.did(`revoked the token ${row.id}`);
    else if (outcome.state === 'ended' && !outcome.error) reporter.did(`forgot the token ${row.id}`);
  }
  return outcomes;
}

/**
 * Returns a function that gives the revoker of a row: with the saved credential that minted it, then with the login in
 * force if that is of its pair and user; without either with the token itself, which newer servers of 4.x take, or with
 * the login that a person is asked for.
 */
function revokers(run: Run, given: Credential | undefined) {
  const runAt = once((_pair: string, info: TokenRecord['info']) => runFor(run, info));
  const revokerAt = once((_key: string, where: Run, credential?: Credential) =>
    revokerWith(where, credential),
  );
  const inForce = once(async (store: Store) => {
    const minting = given ?? (await findWithoutAsking(run, 'mint', store));
    return [minting, await findWithoutAsking(run, 'login', store)].filter(
      (found) => found === given || found?.level !== 'prompt',
    );
  });
  const ask = once((store: Store) => findCredential(run, 'login', store));
  return async ({ record, store, minter }: TokenRow): Promise<Revoker> => {
    const { gsqlUrl, restUrl } = record.info;
    const pair = `${gsqlUrl} ${restUrl}`;
    const isHere = isSamePair(record.info, run.target);
    // What is set for the pair in force, such as its certificates, counts there too for a saved credential.
    const where = isHere ? run : runAt(pair, record.info);
    const revokerBy = (credential: Credential | undefined) =>
      credential && mayRevoke(credential, record)
        ? [revokerAt(`${pair} ${credential.principal} ${credential.label}`, where, credential)]
        : [];
    const saved = minter && (await savedCredential(where, minter));
    const known = new Set([saved, ...(isHere ? await inForce(store) : [])].flatMap(revokerBy));
    if (known.size > 0) return inTurn([...known]);
    if ((await findVersion(where)).jwtLogsIn) return revokerAt(pair, where);
    return inTurn(isHere ? revokerBy(await ask(store)) : []);
  };
}

/** Returns the revoker that tries several logins, as long as the server wants another one. */
function inTurn(revokers: readonly Revoker[]): Revoker {
  return async (token, rows) => {
    let refused: GraphException | undefined;
    for (const revoke of revokers) {
      try {
        return await revoke(token, rows);
      } catch (error) {
        refused ??= expected(error);
        if (!NEEDS_CREDENTIAL.includes(expected(error).code)) throw error;
      }
    }
    throw refused ?? new GraphException('PERMISSION_DENIED', 'no login here is for it');
  };
}

/** Whether a credential made a token, or is of its user as far as that is known. */
function mayRevoke({ principal, username }: Credential, record: TokenRecord): boolean {
  const user = userOf(record);
  return principal === record.info.principal || user === undefined || user === username;
}

function userOf({ info }: TokenRecord): string | undefined {
  return info.username ?? /^user:(.*)/s.exec(info.principal)?.[1];
}
