import { setTimeout } from 'node:timers/promises';
import { findCredential, findWithoutAsking, isUnread, savedCredential } from '../../auth/choose.js';
import { connect } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import type { GraphConnection } from '../../core/connection.js';
import { isSamePair, type Servers } from '../../core/endpoints.js';
import { expected, GraphException, type Hint, whyFailed } from '../../core/errors.js';
import { isTokenEnded, readClaims } from '../../core/protocol/reply.js';
import type { Sensitive } from '../../core/sensitive.js';
import { shellWord } from '../../files/shell-word.js';
import { once } from '../../run/once.js';
import type { Run } from '../../run/run.js';
import { findVersion, profileFor, runFor } from '../../run/server.js';
import type { Store, TokenRecord } from '../../store/store.js';
import { forget } from './keep-token.js';
import type { TokenRow } from './list-tokens.js';
import { isOfToken } from './token-cache.js';

export interface Outcome {
  /** Undefined for a token that is not stored here. */
  readonly row?: TokenRow | undefined;
  /** Whether the server deleted it, no longer knew it, or may still accept it. */
  readonly state: 'deleted' | 'ended' | 'kept';
  /** Why it is kept, or still stored here. Undefined for a kept token whose value cannot be read from the store. */
  readonly error?: GraphException | undefined;
}

const NEEDS_CREDENTIAL = /^(AUTH_FAILED|PERMISSION_DENIED|INPUT_REQUIRED)$/;

/** Whether an error may concern one secret or token alone; any other would meet the next one of the same login too. */
export function mayConcernOne({ code }: GraphException): boolean {
  return ['PERMISSION_DENIED', 'SERVER_ERROR', 'BAD_RESPONSE'].includes(code);
}

/** Deletes a token on the server. Throws when the server may still accept it. @param record its own, if it is stored here */
type Revoker = (token: Sensitive, record: TokenRecord | undefined) => Promise<'deleted' | 'ended'>;

/** Revokes tokens of any server and user, and removes each record of the same value. @param all the tokens of this machine */
export async function revokeTokens(
  run: Run,
  tokens: readonly TokenRow[],
  all: readonly TokenRow[],
  given?: Credential,
): Promise<readonly Outcome[]> {
  const { interruption, reporter } = run.ports;
  const waysOf = once((_pair: string, servers: Servers) => waysAt(run, servers, given));
  const done = new Set<TokenRow>();
  const outcomes: Outcome[] = [];
  const revoke = async (row: TokenRow): Promise<Outcome> => {
    const cancelled = outcomes.find(({ error }) => error?.code === 'CANCELLED');
    if (cancelled) throw cancelled.error;
    const { store, record } = row;
    if (record.info.issuedBy === 'provider') throw notDeletable();
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
    const { gsqlUrl, restUrl } = record.info;
    const ways = await waysOf(`${gsqlUrl} ${restUrl}`, record.info)(row);
    const state = await inTurn(ways, token, record);
    return { state, error: await forget(all, token) };
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
 * Returns what revokes tokens with one login. An error that the next token would meet too is thrown again for that.
 * @param credential without it the token logs in itself, or a server that takes no such login says whether it has ended
 */
export function revokerWith(run: Run, credential: Credential | undefined, timeoutMs?: number): Revoker {
  const connected = once(() => connect(run, credential, timeoutMs));
  let failure: GraphException | undefined;
  return async (token, record) => {
    const { connection, version } = await connected();
    if (!credential && !version.jwtLogsIn) return seeWhetherEnded(connection, token);
    const why = failure ?? (await whyFailed(connection.deleteToken(undefined, { token })));
    if (!why) {
      // Within the second of its mint a 4.x server would give the same token again, and not take it.
      const secondEnds = 1000 * ((record?.createdAtUnix ?? 0) + 1) - run.ports.now();
      if (version.sameTokenWithinOneSecond && secondEnds > 0) await setTimeout(Math.min(secondEnds, 1000));
      return 'deleted';
    }
    if (why.option === 'skipNA') return 'ended';
    if (why.code === 'AUTH_FAILED') {
      // A 3.x server refuses a secret that it no longer knows, and has ended the tokens minted from it.
      if (await hasEnded(connection, token)) return 'ended';
    }
    if (!mayConcernOne(why)) failure ??= why;
    throw explainRefusal(why, token, record, credential?.username);
  };
}

/** Whether the server says that it does not know a token any more; what else it answers says nothing about that. */
export async function hasEnded(connection: GraphConnection, token: Sensitive): Promise<boolean> {
  const answer = await connection.checkToken(token).catch((error) => void expected(error));
  return isTokenEnded(answer?.refusal);
}

async function seeWhetherEnded(connection: GraphConnection, token: Sensitive): Promise<'ended'> {
  if (isTokenEnded((await connection.checkToken(token)).refusal)) return 'ended';
  throw new GraphException('PERMISSION_DENIED', 'No login on this machine may delete this token.');
}

/** Says whose token it is that a server does not delete for another user. How 4.x words that is not known. */
function explainRefusal(
  failure: GraphException,
  token: Sensitive,
  record: TokenRecord | undefined,
  username: string | undefined,
): GraphException {
  const owner = readClaims(token)?.sub ?? (record && userOf(record));
  const isOfOther = owner !== undefined && username !== undefined && owner !== username;
  if (!isOfOther || !['PERMISSION_DENIED', 'SERVER_ERROR'].includes(failure.code)) return failure;
  const message = `${failure.message} The token belongs to "${owner}".`;
  const fix = ['that user can delete it, and on 3.x a superuser can too', withLogin('--token-stdin', owner)];
  return new GraphException('PERMISSION_DENIED', message, { ...failure, fix });
}

function withLogin(which: string, user = 'USER') {
  return { command: `token delete ${which} -u ${shellWord(user)}` };
}

/**
 * Returns what gives the ways to revoke a token of one pair of base URLs, in the order in which they are tried: with the
 * saved credential that minted it, and with the login in force if that is of its pair and user. Where there is neither,
 * with the login that a person is asked for, unless the token can log in itself; and without one.
 */
function waysAt(run: Run, servers: Servers, given: Credential | undefined) {
  const isHere = isSamePair(servers, run.target);
  // What is set for the pair in force, such as its certificates, counts there too for a saved credential.
  const at = isHere ? run : runFor(run, servers);
  const revokerNamed = once((_name: string, login?: Credential) => revokerWith(at, login));
  const by = (login?: Credential) => revokerNamed(`${login?.principal} ${login?.label}`, login);
  const inForce = once(async (store: Store) => {
    const minting = given ?? (await findWithoutAsking(run, 'mint', store));
    const found = [minting, await findWithoutAsking(run, 'login', store)];
    return found.filter((one) => one === given || one?.level !== 'prompt');
  });
  const ask = once((store: Store) => findCredential(run, 'login', { saved: store }));
  return async ({ record, store, minter }: TokenRow): Promise<readonly Revoker[]> => {
    const found = [minter && (await savedCredential(at, minter)), ...(isHere ? await inForce(store) : [])];
    const known = found.filter((login) => login !== undefined).filter((login) => mayBeOfUser(login, record));
    if (known.length > 0) return known.map((login) => by(login));
    if (!isHere || (await findVersion(at)).jwtLogsIn) return [by()];
    const byAsking: Revoker = async (token) => {
      const login = await ask(store);
      return by(mayBeOfUser(login, record) ? login : undefined)(token, record);
    };
    return [byAsking, by()];
  };
}

/** Whether a login is of the user of a token. One whose user is not known may be of any. */
function mayBeOfUser({ principal, username }: Credential, record: TokenRecord): boolean {
  return principal === record.info.principal || [undefined, username].includes(userOf(record));
}

/** Revokes a token with the first of several logins that can be read and may. */
async function inTurn(revokers: readonly Revoker[], token: Sensitive, record: TokenRecord) {
  let refused: GraphException | undefined;
  for (const revoke of new Set(revokers)) {
    try {
      return await revoke(token, record);
    } catch (error) {
      const failure = expected(error);
      refused ??= failure;
      if (!NEEDS_CREDENTIAL.test(failure.code) && !isUnread(failure)) throw error;
    }
  }
  throw refused;
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
    const reason = error ? error.message.replace(/\.$/, '') : 'The value cannot be read from the store';
    const why = `${reason}. Still stored here, and ${error?.ambiguous ? 'perhaps ' : ''}not revoked`;
    const token = `${row.id} (from ${from}, ${graph === null ? 'no graph' : `graph ${graph}`}, ${gsqlUrl})`;
    named.set(why, [...(named.get(why) ?? []), token]);
  }
  const message = [...named].map(([why, tokens]) => `${why}: ${tokens.join(', ')}.`).join(' ');
  const other = kept.find(({ error }) => !NEEDS_CREDENTIAL.test(error?.code ?? ''));
  const { fix = [] } = other?.error ?? {};
  const mend = other?.error
    ? 'run it again'
    : 'if the store key was changed, put the old one back; then run this again';
  const again = fix.length > 0 ? [...fix, 'then run this again'] : [mend];
  const hint = other
    ? [...again, 'see what is left', { command: 'token list' }]
    : adviseLogin(run, first.row);
  return new GraphException('PARTIAL', message, { hint });
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

/** Creates the error for a JWT of an identity provider. No server has issued it, so none can end it. */
export function notDeletable(): GraphException {
  return new GraphException(
    'UNSUPPORTED',
    'A JWT of an identity provider cannot be deleted at the server; it stays valid until it expires.',
    { hint: ['delete it from this machine', { command: 'logout' }] },
  );
}

function userOf({ info }: TokenRecord): string | undefined {
  return info.username ?? /^user:(.*)/s.exec(info.principal)?.[1];
}
