import type { GraphConnection } from '../../../core/connection.js';
import { GraphException } from '../../../core/errors.js';
import { type BoundCredential, type Sensitive, sensitiveOf } from '../../../core/sensitive.js';
import type { Credential } from '../../../credentials/resolve.js';
import type { Store, StoreRecord } from '../../../store/store.js';
import { cachedOnHost, cachedTokens, forgetToken } from '../../../tokens/cache.js';
import type { Invocation } from '../../command.js';
import { profileWords } from '../../output/hints.js';
import { connect } from '../../session/connect.js';
import { findCredential } from '../../session/credential.js';
import { openSession } from '../../session/session.js';
import { chooseStore, requireReadable } from '../../session/store.js';
import type { Session } from '../../session/types.js';
import { tokenFromStdin } from '../../token/given.js';
import { identityOf, readCached } from '../../token/obtain.js';

/** Runs `graphcred token delete`. */
export async function run(invocation: Invocation): Promise<number> {
  const session = await openSession(invocation);
  const store = await chooseStore(session, { needed: true });
  const credential = await findCredential(session, 'mint', async () => store);
  const given = await tokenFromStdin(session);
  const targets = await chooseTargets(session, store, credential, given);
  if (targets.length === 0) {
    await requireReadable(store);
    return reportDeleted(invocation, 0, 0, 'This machine holds no such token.');
  }
  if (store.name === 'redis')
    invocation.report.note('this ends tokens that machines share: every job that uses one needs a new one');
  const { connection } = await connect(session, credential);
  invocation.interruption?.begin();
  let deleted = 0;
  let missing = 0;
  let failure: GraphException | undefined;
  for (const target of targets) {
    const outcome = await deleteOne(target, connection, store).catch((error: unknown) => {
      throw deleted + missing === 0 ? error : partialDelete(invocation, deleted, missing, targets, error);
    });
    if (outcome.known) deleted++;
    else missing++;
    failure ??= outcome.failure;
  }
  if (failure) throw stillStored(invocation, deleted, missing, failure);
  return reportDeleted(
    invocation,
    deleted,
    missing,
    'The server does not know the token; it is forgotten here too.',
  );
}

interface Target {
  /** Every entry of the store that holds this token. */
  readonly records: readonly StoreRecord[];
  /** Undefined when the value has vanished from the store. */
  readonly token: Sensitive | BoundCredential | undefined;
}

async function chooseTargets(
  session: Session,
  store: Store,
  { principal }: Credential,
  given: Sensitive | undefined,
): Promise<Target[]> {
  const identity = await identityOf(session, principal);
  const anyGraph = session.invocation.flags.all === true || given !== undefined;
  const cached = await (anyGraph ? cachedOnHost(store, identity) : cachedTokens(store, identity));
  const all = await Promise.all(
    cached.map(async (record) => ({ records: [record], token: await readCached(store, record) })),
  );
  if (given === undefined) return all;
  const value = given.reveal();
  const same = all.filter(({ token }) => token?.value.reveal() === value);
  return [{ records: same.flatMap(({ records }) => records), token: given }];
}

/**
 * Deletes a token on the server, and then from the store if the server deleted it or does not know it. If the server
 * cannot be reached, the store is unchanged.
 */
async function deleteOne({ records, token }: Target, connection: GraphConnection, store: Store) {
  const known = token !== undefined && (await isDeleted(connection, token));
  let failure: GraphException | undefined;
  for (const record of records)
    failure = (await forgetToken(store, record, token && sensitiveOf(token))) ?? failure;
  return { known, failure };
}

/**
 * Creates the error when the server failed after some tokens were deleted. The others stay stored, so that they can be
 * deleted later.
 */
function partialDelete(
  { report, flags }: Invocation,
  deleted: number,
  missing: number,
  targets: readonly Target[],
  error: unknown,
): GraphException {
  if (report.json) report.document({ deleted, missing });
  const done = deleted + missing;
  const [failed, ...rest] = targets.slice(done).flatMap(({ records }) => records.slice(0, 1));
  const name =
    failed === undefined
      ? 'The next token'
      : `The token for graph ${failed.info.graph ?? 'none'}, ${failed.info.lifetime} s,`;
  const why = error instanceof Error ? error.message : 'unknown error';
  const what = error instanceof GraphException && error.ambiguous ? 'may not have been' : 'was not';
  const left = rest.length === 0 ? '' : `; ${rest.length} more were not tried`;
  const again = `${flags.all === true ? ' --all' : ''}${profileWords(flags)}`;
  return new GraphException(
    'PARTIAL',
    `${name} ${what} deleted: ${why} ${done} of ${targets.length} are gone${left}.`,
    {
      hint: `run it again: graphcred token delete${again}; what is left: graphcred token list`,
    },
  );
}

/**
 * Creates the error for a store that could not be changed. The tokens are deleted on the server, so the counts are
 * printed.
 */
function stillStored(
  { report }: Invocation,
  deleted: number,
  missing: number,
  { message }: GraphException,
): GraphException {
  if (report.json) report.document({ deleted, missing });
  return new GraphException(
    'PARTIAL',
    `The token is gone at the server, but this machine could not forget it: ${message}.`,
    {
      hint: 'until that is put right, token get prints it; then run: graphcred token delete --skip-missing',
    },
  );
}

async function isDeleted(connection: GraphConnection, token: Sensitive | BoundCredential): Promise<boolean> {
  try {
    await connection.deleteToken(undefined, { token });
    return true;
  } catch (error) {
    if (error instanceof GraphException && error.code === 'NOT_FOUND') return false;
    throw error;
  }
}

function reportDeleted({ report, flags }: Invocation, deleted: number, missing: number, why: string): number {
  const forgiven = flags['skip-missing'] === true;
  const failed = !forgiven && (missing > 0 || deleted === 0);
  if (report.json && !(failed && deleted + missing === 0)) report.document({ deleted, missing });
  else if (deleted > 0) report.result(`Deleted ${deleted} ${deleted === 1 ? 'token' : 'tokens'}.`);
  if (failed) {
    throw new GraphException(deleted > 0 ? 'PARTIAL' : 'NOT_FOUND', why, {
      hint: '--skip-missing makes this no error; held tokens: graphcred token list',
    });
  }
  if (!report.json && deleted === 0) report.note('there was no token to delete');
  return 0;
}
