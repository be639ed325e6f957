import { findCredential, findWithoutAsking, savedCredential } from '../../auth/choose.js';
import { connect, findVersion, runFor, serversInForce } from '../../auth/connect.js';
import { type Credential, once } from '../../auth/credential.js';
import { isOfProvider } from '../../auth/oidc/settings.js';
import type { Run } from '../../auth/run.js';
import type { GraphConnection } from '../../core/connection.js';
import { type ErrorCode, expected, GraphException, type Hint, whyFailed } from '../../core/errors.js';
import { readClaims } from '../../core/protocol/reply.js';
import type { BoundCredential, Sensitive } from '../../core/sensitive.js';
import { shellWord } from '../../files/shell-word.js';
import { isForPair } from '../../store/ownership.js';
import type { Store, TokenRecord } from '../../store/store.js';
import { isOfToken } from './identity.js';
import type { TokenRow } from './list-tokens.js';
import { forget } from './token-cache.js';

/** What became of a token. */
export interface Outcome {
  /** Undefined for a token that is not cached here. */
  readonly row: TokenRow | undefined;
  /** Whether the server deleted it, did not know it, or may still accept it. */
  readonly state: 'deleted' | 'missing' | 'kept';
  /** The error of the server that does not know it. */
  readonly unknown?: GraphException | undefined;
  /** Why it is kept, or still stored here. Undefined for a kept token whose value cannot be read from the store. */
  readonly error?: GraphException | undefined;
}

type Result = Omit<Outcome, 'row'>;

/**
 * Deletes a token on the server, and then each record of it if the server deleted it or does not know it. If the server
 * cannot be reached, the store is unchanged.
 */
export async function deleteOne(
  connection: GraphConnection,
  token: Sensitive,
  rows: readonly TokenRow[],
  username: string | undefined,
): Promise<Result> {
  const failure = await whyFailed(connection.deleteToken(undefined, { token }));
  // A refusal has the status of its answer; what the server does not know has none.
  const isUnknown = failure?.code === 'NOT_FOUND' && failure.status === undefined;
  if (failure && !isUnknown) throw explainRefusal(failure, token, rows[0], username);
  const error = await forget(rows, token);
  return { state: failure ? 'missing' : 'deleted', unknown: failure, error };
}

/** Says whose token it is that a server does not delete for this user. How 4.x words that is not known. */
function explainRefusal(
  failure: GraphException,
  token: Sensitive,
  row: TokenRow | undefined,
  username: string | undefined,
): GraphException {
  const owner = readClaims(token)?.sub ?? (row && userOf(row.record));
  const code = owner && username ? ['PERMISSION_DENIED', 'SERVER_ERROR'] : ['PERMISSION_DENIED'];
  if (owner === username || !code.includes(failure.code)) return failure;
  const message = `${failure.message} The token is of ${owner ?? 'another user'}.`;
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
export function failureOf(outcomes: readonly Outcome[]): GraphException | undefined {
  const kept = outcomes.filter(({ state }) => state === 'kept');
  const stored = outcomes.find(({ state, error }) => error && state !== 'kept');
  const gone = stored?.error && stillStored(stored, stored.error);
  const [first] = kept;
  if (first === undefined) return gone;
  if (first.error?.code === 'CANCELLED' && kept.length === outcomes.length) return first.error;
  const named = kept.map(({ row, error }, index) => {
    const { graph = null, gsqlUrl } = row?.record.info ?? {};
    const reason = error ? error.message.replace(/\.$/, '') : 'its value cannot be read from the store';
    // What an earlier token met ended the work with that login.
    const isTried = !error || kept.findIndex((earlier) => earlier.error === error) === index;
    const why = isTried ? reason : 'not tried';
    return `${row?.id} (from ${row?.from}, ${graph === null ? 'no graph' : `graph ${graph}`}, ${gsqlUrl}): ${why}`;
  });
  const other = kept.find(({ error }) => !NEEDS_CREDENTIAL.includes(error?.code));
  const { fix = [] } = other?.error ?? {};
  return new GraphException(
    'PARTIAL',
    `Not revoked, and still cached: ${named.join('; ')}${gone ? `. ${gone.message}` : ''}`,
    {
      hint: other
        ? [...(fix.length > 0 ? fix : ['run it again']), 'see what is left', { command: 'token list' }]
        : adviseLogin(first.row as TokenRow),
    },
  );
}

/** Says how to delete a token with a login that may. */
function adviseLogin({ id, record }: TokenRow): Hint {
  const { gsqlUrl, restUrl } = record.info;
  const which = `${id} --gsql-url ${gsqlUrl} --rest-url ${restUrl}`;
  return ['log in as the user whose token it is', withLogin(which, userOf(record))];
}

/** Creates the error for a store that could not be changed. The token is deleted on the server. */
function stillStored({ row }: Outcome, { message }: GraphException): GraphException {
  return new GraphException(
    'PARTIAL',
    `The token is gone at the server, but this machine could not forget it: ${message}.`,
    {
      hint: [
        'put that right, for token get still prints it; then run',
        { command: `token delete ${row?.id} --skip-missing` },
      ],
    },
  );
}

/**
 * Returns the token of a row, or what became of it when its value cannot be read. The clock here may be wrong, so the
 * server is asked whether a token has ended.
 * @throws GraphException UNSUPPORTED for a JWT of an identity provider
 */
async function readLive({ store, record, value }: TokenRow): Promise<BoundCredential | Result['state']> {
  if (isOfProvider(record.info.principal)) throw notDeletable();
  const token = await value();
  if (token) return token;
  // A run that was killed had the token revoked, or was to forget it.
  if (record.info.unfinished === 'delete') await store.delete(record.key);
  // The record is the last sign of a token that may still be valid.
  return (await store.list(record.key)).length > 0 ? 'kept' : 'missing';
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
  const loginsFor = logins(run, given);
  const done = new Set<TokenRow>();
  const outcomes: Outcome[] = [];
  const revoke = async (row: TokenRow): Promise<Result> => {
    const cancelled = outcomes.find(({ error }) => error?.code === 'CANCELLED');
    if (cancelled) throw cancelled.error;
    const token = await readLive(row);
    if (typeof token === 'string') return { state: token };
    // Whoever it was minted for, it ends for all of them at once.
    const rows = all.filter(({ record }) => isOfToken(record, token));
    for (const one of rows) done.add(one);
    let refused: unknown;
    for (const login of await loginsFor(row)) {
      try {
        return await login(token, rows);
      } catch (error) {
        refused ??= error;
        if (!NEEDS_CREDENTIAL.includes(expected(error).code)) throw error;
      }
    }
    throw refused;
  };
  run.ports.interruption.begin();
  for (const row of tokens) {
    if (done.has(row)) continue;
    const result = await revoke(row).catch((error) => ({ state: 'kept', error: expected(error) }) as const);
    outcomes.push({ row, ...result });
    const { state, error } = result;
    if (state === 'deleted') run.ports.reporter.did(`revoked the token ${row.id}`);
    else if (state === 'missing' && !error) run.ports.reporter.did(`forgot the token ${row.id}`);
  }
  return outcomes;
}

/** Deletes tokens, until one meets what the next would meet too. */
type Login = (token: Sensitive, rows: readonly TokenRow[]) => Promise<Result>;

/** @param credential without it the token logs in itself */
function loginWith(run: Run, credential: Credential | undefined): Login {
  const connected = once(() => connect(run, credential));
  let failure: GraphException | undefined;
  return async (token, rows) => {
    if (failure) throw failure;
    try {
      return await deleteOne((await connected()).connection, token, rows, credential?.username);
    } catch (error) {
      if (!mayConcernOne(expected(error))) failure = expected(error);
      throw error;
    }
  };
}

/**
 * Returns a function that gives the logins that may revoke a token, in order: the saved credential that minted it, and the
 * login in force if that is of its pair and user; without either the token itself, which newer servers of 4.x take, or
 * the login that a person is asked for.
 */
function logins(run: Run, given: Credential | undefined) {
  const runAt = once((_pair: string, info: TokenRecord['info']) => runFor(run, info));
  const loginAt = once((_key: string, where: Run, credential?: Credential) => loginWith(where, credential));
  const inForce = once(async (store: Store) => {
    const minting = given ?? (await findWithoutAsking(run, 'mint', store));
    return [minting, await findWithoutAsking(run, 'login', store)].filter(
      (found) => found === given || found?.level !== 'prompt',
    );
  });
  const ask = once((store: Store) => findCredential(run, 'login', store));
  return async ({ record, store, minter }: TokenRow): Promise<readonly Login[]> => {
    const { gsqlUrl, restUrl } = record.info;
    const pair = `${gsqlUrl} ${restUrl}`;
    // Another GSQL server is not asked for its version.
    const isHere = run.target.gsqlUrl === gsqlUrl && isForPair(record, await serversInForce(run));
    // What is set for the pair in force, such as its certificates, counts there too for a saved credential.
    const where = isHere ? run : runAt(pair, record.info);
    const login = (credential: Credential | undefined) =>
      credential && isOfOwner(credential, record)
        ? [loginAt(`${pair} ${credential.principal} ${credential.label}`, where, credential)]
        : [];
    const saved = minter && (await savedCredential(where, minter));
    const known = new Set([saved, ...(isHere ? await inForce(store) : [])].flatMap(login));
    if (known.size > 0) return [...known];
    if ((await findVersion(where)).jwtLogsIn) return [loginAt(pair, where)];
    const asked = isHere ? login(await ask(store)) : [];
    if (asked.length > 0) return asked;
    throw new GraphException('PERMISSION_DENIED', 'no login here is for it');
  };
}

/** Whether a credential made a token, or is of the same user as far as that is known. */
function isOfOwner({ principal, username }: Credential, record: TokenRecord): boolean {
  const user = userOf(record);
  return principal === record.info.principal || user === undefined || user === username;
}

function userOf({ info }: TokenRecord): string | undefined {
  return info.username ?? /^user:(.*)/s.exec(info.principal)?.[1];
}
