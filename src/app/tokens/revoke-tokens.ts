import { setTimeout } from 'node:timers/promises';
import { findCredential, findWithoutAsking, isUnread, savedCredential } from '../../auth/choose.js';
import { connect, findVersion, runFor } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import { once } from '../../auth/once.js';
import type { Run } from '../../auth/run.js';
import { isSamePair } from '../../core/endpoints.js';
import { expected, GraphException, whyFailed } from '../../core/errors.js';
import { isTokenEnded } from '../../core/protocol/reply.js';
import type { Sensitive } from '../../core/sensitive.js';
import type { Store, TokenRecord } from '../../store/store.js';
import { forget } from './keep-token.js';
import type { TokenRow } from './list-tokens.js';
import {
  explainRefusal,
  mayConcernOne,
  NEEDS_CREDENTIAL,
  notDeletable,
  type Outcome,
  userOf,
} from './revoke-outcome.js';
import { isOfToken } from './token-cache.js';

/** Deletes a token on the server. Throws when the server may still accept it. @param record its own, if it is stored here */
type Revoker = (token: Sensitive, record: TokenRecord | undefined) => Promise<'deleted' | 'ended'>;

/**
 * Revokes tokens of any server and user, and removes every record of those that the server no longer accepts.
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
  const revokersFor = revokersOf(run, given);
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
    const state = await inTurn(await revokersFor(row), token, record);
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
 * @param credential without it the token logs in itself
 * @param timeoutMs a time limit of its own
 */
export function revokerWith(run: Run, credential: Credential | undefined, timeoutMs?: number): Revoker {
  const connected = once(() => connect(run, credential, timeoutMs));
  let failure: GraphException | undefined;
  return async (token, record) => {
    const { connection, version } = await connected();
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
      const answer = await connection.checkToken(token).catch((error) => void expected(error));
      if (isTokenEnded(answer?.refusal)) return 'ended';
    }
    if (!mayConcernOne(why)) failure ??= why;
    throw explainRefusal(why, token, record, credential?.username);
  };
}

/**
 * Returns a function that gives the revokers of a row: with the saved credential that minted it, then with the login in
 * force if that is of its pair and user; without either with the token itself, which newer servers of 4.x take, or with
 * the login that a person is asked for. Where no login may, the server can still say that the token has ended.
 */
function revokersOf(run: Run, given: Credential | undefined) {
  const runAt = once((_pair: string, info: TokenRecord['info']) => runFor(run, info));
  const revokerAt = once((_key: string, where: Run, login?: Credential) => revokerWith(where, login));
  const inForce = once(async (store: Store) => {
    const minting = given ?? (await findWithoutAsking(run, 'mint', store));
    const found = [minting, await findWithoutAsking(run, 'login', store)];
    return found.filter((one) => one === given || one?.level !== 'prompt');
  });
  const ask = once((store: Store) => findCredential(run, 'login', store));
  return async ({ record, store, minter }: TokenRow): Promise<readonly Revoker[]> => {
    const user = userOf(record);
    const { gsqlUrl, restUrl } = record.info;
    const pair = `${gsqlUrl} ${restUrl}`;
    const isHere = isSamePair(record.info, run.target);
    // What is set for the pair in force, such as its certificates, counts there too for a saved credential.
    const where = isHere ? run : runAt(pair, record.info);
    const revokersBy = (found: readonly (Credential | undefined)[]) =>
      found
        .filter((one) => one !== undefined)
        // A token whose user is not known may be of any.
        .filter((one) => one.principal === record.info.principal || [undefined, one.username].includes(user))
        .map((one) => revokerAt(`${pair} ${one.principal} ${one.label}`, where, one));
    const saved = minter && (await savedCredential(where, minter));
    const known = revokersBy([saved, ...(isHere ? await inForce(store) : [])]);
    if (known.length > 0) return known;
    if ((await findVersion(where)).jwtLogsIn) return [revokerAt(pair, where)];
    const seeWhetherEnded: Revoker = async (token) => {
      const { connection } = await connect(where, undefined);
      if (isTokenEnded((await connection.checkToken(token)).refusal)) return 'ended';
      throw new GraphException('PERMISSION_DENIED', 'no login on this machine may delete this token');
    };
    const withAsked: Revoker = async (token) => {
      const [revoke = seeWhetherEnded] = revokersBy([await ask(store)]);
      return revoke(token, record);
    };
    return isHere ? [withAsked, seeWhetherEnded] : [seeWhetherEnded];
  };
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
