import { setTimeout } from 'node:timers/promises';
import { findCredential, findWithoutAsking, isUnread, savedCredential } from '../../auth/choose.js';
import { connect } from '../../auth/connect.js';
import type { Credential } from '../../auth/credential.js';
import type { GraphConnection } from '../../core/connection.js';
import { isSamePair, type Servers } from '../../core/endpoints.js';
import { expected, GraphException, whyFailed } from '../../core/errors.js';
import type { Sensitive } from '../../core/sensitive.js';
import { once } from '../../run/once.js';
import type { Run } from '../../run/run.js';
import { findVersion, runFor } from '../../run/server.js';
import type { Store, TokenRecord } from '../../store/store.js';
import type { TokenRow } from './list-tokens.js';

export const NEEDS_CREDENTIAL = /^(AUTH_FAILED|PERMISSION_DENIED|INPUT_REQUIRED)$/;

/** Whether an error may concern one secret or token alone; any other would meet the next one of the same login too. */
export function mayConcernOne({ code }: GraphException): boolean {
  return ['PERMISSION_DENIED', 'SERVER_ERROR', 'BAD_RESPONSE', 'USAGE'].includes(code);
}

/** Deletes a token on the server. Throws when the server may still accept it. @param madeAtUnix about when it was minted */
type Revoker = (token: Sensitive, madeAtUnix: number) => Promise<'deleted' | 'ended'>;

/**
 * Returns what revokes tokens with one login. An error that the next token would meet too is thrown again for that.
 * @param credential without it the token logs in itself, or a server that takes no such login says whether it has ended
 */
export function revokerWith(run: Run, credential: Credential | undefined, timeoutMs?: number): Revoker {
  const connected = once(() => connect(run, credential, timeoutMs));
  let failure: GraphException | undefined;
  return async (token, madeAtUnix) => {
    const { connection, version } = await connected();
    if (!credential && !version.jwtLogsIn) {
      if (!(await connection.checkToken(token)).accepted) return 'ended';
      throw new GraphException('PERMISSION_DENIED', 'No login on this machine may delete this token.');
    }
    const why = failure ?? (await whyFailed(connection.deleteToken(undefined, { token })));
    if (!why) {
      // Within the second of its mint a 4.x server would give the same token again, and not take it.
      const secondEnds = 1000 * (madeAtUnix + 1) - run.ports.now();
      if (version.sameTokenWithinOneSecond && secondEnds > 0) await setTimeout(Math.min(secondEnds, 1000));
      return 'deleted';
    }
    if (why.option === 'skipNA') return 'ended';
    // A 3.x server refuses a secret that it no longer knows, and has ended the tokens minted from it.
    if (why.code === 'AUTH_FAILED' && (await hasEnded(connection, token))) return 'ended';
    if (!mayConcernOne(why)) failure ??= why;
    throw why;
  };
}

/** Whether the server says that it does not accept a token any more; what else it answers says nothing about that. */
export async function hasEnded(connection: GraphConnection, token: Sensitive): Promise<boolean> {
  const answer = await connection.checkToken(token).catch((error) => void expected(error));
  return answer?.accepted === false;
}

/** Returns what revokes tokens of one pair. It tries the credential that minted them and the login in force, else asks for one. */
export function revokerAt(run: Run, servers: Servers, given: Credential | undefined) {
  const isHere = isSamePair(servers, run.target);
  // What is set for the pair in force, such as its certificates, counts there too for a saved credential.
  const at = isHere ? run : runFor(run, servers);
  const revokerNamed = once((_name: string, login?: Credential) => revokerWith(at, login));
  const by = (login?: Credential) => revokerNamed(`${login?.principal} ${login?.label}`, login);
  const inForce = once(async (store: Store) => [
    given ?? (await findWithoutAsking(run, 'mint', store)),
    await findWithoutAsking(run, 'login', store),
  ]);
  const ask = once((store: Store) => findCredential(run, 'login', { saved: store }));
  const waysFor = async ({ record, store, minter }: TokenRow): Promise<readonly Revoker[]> => {
    const found = [minter && (await savedCredential(at, minter)), ...(isHere ? await inForce(store) : [])];
    const { jwtLogsIn } = await findVersion(at);
    // Where the token can log in itself, no login is tried that may be of another user.
    const fits = (login: Credential) => (jwtLogsIn ? isOfUser : mayBeOfUser)(login, record);
    const known = found.filter((login) => login !== undefined).filter(fits);
    if (known.length > 0) return known.map((login) => by(login));
    if (!isHere || jwtLogsIn) return [by()];
    const byAsking: Revoker = async (token) => {
      const login = await ask(store);
      return by(mayBeOfUser(login, record) ? login : undefined)(token, record.createdAtUnix);
    };
    return [byAsking, by()];
  };
  return async (row: TokenRow, token: Sensitive) =>
    inTurn(await waysFor(row), token, row.record.createdAtUnix);
}

function isOfUser({ principal, username }: Credential, record: TokenRecord): boolean {
  return principal === record.info.principal || (username !== undefined && username === userOf(record));
}

/** One whose user is not known may be of any. */
function mayBeOfUser(login: Credential, record: TokenRecord): boolean {
  return userOf(record) === undefined || isOfUser(login, record);
}

/** Revokes a token with the first of several logins that can be read and may. */
async function inTurn(revokers: readonly Revoker[], token: Sensitive, madeAtUnix: number) {
  let refused: GraphException | undefined;
  for (const revoke of new Set(revokers)) {
    try {
      return await revoke(token, madeAtUnix);
    } catch (error) {
      const failure = expected(error);
      refused ??= failure;
      if (!NEEDS_CREDENTIAL.test(failure.code) && !isUnread(failure)) throw error;
    }
  }
  throw refused;
}

export function userOf({ info }: TokenRecord): string | undefined {
  return info.username ?? /^user:(.*)/s.exec(info.principal)?.[1];
}
