import { listTokens, type TokenRow, withSameValue } from '../../../app/list-tokens.js';
import { deleteAtServer, notRevoked, revokeTokens } from '../../../app/revoke-tokens.js';
import { deleteCached, identityOf, isOfIdentity, isOnHost } from '../../../app/token-cache.js';
import { pluralize } from '../../../app/words.js';
import { findCredential } from '../../../auth/choose.js';
import { connect } from '../../../auth/connect.js';
import type { Credential } from '../../../auth/credential.js';
import { tokenFromStdin } from '../../../auth/given-token.js';
import { chooseStore, requireAllRead, requireReadable } from '../../../auth/stores.js';
import type { GraphConnection } from '../../../core/connection.js';
import { GraphException } from '../../../core/errors.js';
import { type BoundCredential, type Sensitive, sensitiveOf } from '../../../core/sensitive.js';
import { STORES } from '../../../store/store.js';
import type { Invocation } from '../../command.js';
import type { Session } from '../../session.js';
import { openSession } from '../../session.js';

/** Runs `graphcred token delete`. */
export async function run(invocation: Invocation): Promise<number> {
  if (invocation.args.length > 0 || invocation.flags.everything === true) return deleteRows(invocation);
  const session = await openSession(invocation);
  const store = await chooseStore(session, { needed: true });
  const credential = await findCredential(session, 'mint', async () => store);
  const given = await tokenFromStdin(session);
  const all = await listTokens(session, store);
  const targets = await chooseTargets(session, all, credential, given);
  if (targets.length === 0) {
    await requireReadable(session, store);
    const others = all.length === 0 ? '' : `; it holds ${pluralize(all.length, 'other token')}`;
    const whose = `of ${credential.principal} for ${session.target.gsqlUrl}`;
    return reportDeleted(invocation, 0, 0, `This machine holds no such token ${whose}${others}.`);
  }
  noteShared(
    invocation,
    targets.flatMap(({ held }) => held),
  );
  const { connection } = await connect(session, credential);
  invocation.interruption?.begin();
  let deleted = 0;
  let missing = 0;
  let failure: GraphException | undefined;
  for (const target of targets) {
    const outcome = await deleteOne(target, connection).catch((error: unknown) => {
      throw deleted + missing === 0 ? error : partialDelete(invocation, deleted, missing, targets, error);
    });
    if (outcome.known) deleted++;
    else missing++;
    failure ??= outcome.failure;
  }
  if (failure) throw stillStored(invocation, deleted, missing, failure);
  const status = reportDeleted(invocation, deleted, missing, NOT_KNOWN);
  if (invocation.flags.all === true) await requireAllRead(session);
  return status;
}

const NOT_KNOWN = 'The server does not know the token; it is forgotten here too.';

interface Target {
  /** Every record on this machine that holds this token. */
  readonly held: readonly TokenRow[];
  /** Undefined when the value has vanished from the store. */
  readonly token: Sensitive | BoundCredential | undefined;
}

async function chooseTargets(
  session: Session,
  all: readonly TokenRow[],
  { principal }: Credential,
  given: Sensitive | undefined,
): Promise<Target[]> {
  if (given !== undefined) return [{ held: await withSameValue(all, given.reveal()), token: given }];
  const identity = await identityOf(session, principal);
  const isWanted = session.invocation.flags.all === true ? isOnHost : isOfIdentity;
  const targets: Target[] = [];
  for (const one of all.filter(({ record }) => isWanted(record, identity))) {
    if (targets.some(({ held }) => held.includes(one))) continue;
    const token = await one.value();
    targets.push({ held: token ? await withSameValue(all, token.value.reveal()) : [one], token });
  }
  return targets;
}

/** Deletes the tokens of these rows of `token list`, or of all, for every server and user. */
async function deleteRows(invocation: Invocation): Promise<number> {
  const { args, flags, report } = invocation;
  if ([args.length > 0, flags.everything, flags.all, flags['token-stdin']].filter(Boolean).length > 1)
    throw new GraphException('USAGE', 'ID, --all, --everything and --token-stdin name different tokens.', {
      hint: 'give one of them: graphcred token delete ID',
    });
  const session = await openSession(invocation);
  const store = await chooseStore(session, { needed: true });
  const all = await listTokens(session, store);
  const unknown = args.find((id) => !all.some((one) => one.id === id));
  if (unknown !== undefined) {
    await requireReadable(session, store);
    throw new GraphException('NOT_FOUND', `There is no token ${unknown}; nothing was deleted.`, {
      hint: 'see the ids there are: graphcred token list',
    });
  }
  const tokens = flags.everything === true ? all : all.filter(({ id }) => args.includes(id));
  if (tokens.length === 0) await requireReadable(session, store);
  noteShared(invocation, tokens);
  const outcome = await revokeTokens(session, tokens, all);
  const { deleted, missing } = outcome;
  const failure = notRevoked(outcome);
  if (failure === undefined) {
    const status = reportDeleted(invocation, deleted, missing, NOT_KNOWN);
    if (flags.everything === true) await requireAllRead(session);
    return status;
  }
  if (report.json) report.document({ deleted, missing });
  else if (deleted > 0) report.result(`Deleted ${pluralize(deleted, 'token')}.`);
  throw failure;
}

function noteShared({ report }: Invocation, tokens: readonly TokenRow[]): void {
  if (tokens.some(({ record }) => STORES[record.store].scope === 'fleet'))
    report.note('this ends tokens that machines share: every job that uses one needs a new one');
}

/**
 * Deletes a token on the server, and then from the store if the server deleted it or does not know it. If the server
 * cannot be reached, the store is unchanged.
 */
async function deleteOne({ held, token }: Target, connection: GraphConnection) {
  const known = token !== undefined && (await deleteAtServer(connection, token));
  let failure: GraphException | undefined;
  for (const { store, record } of held)
    failure = (await deleteCached(store, record, token && sensitiveOf(token))) ?? failure;
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
  const [failed, ...rest] = targets
    .slice(done)
    .flatMap(({ held }) => held.slice(0, 1).map(({ record }) => record));
  const name =
    failed === undefined
      ? 'The next token'
      : `The token for graph ${failed.info.graph ?? 'none'}, ${failed.info.lifetime} s,`;
  const why = error instanceof Error ? error.message : 'unknown error';
  const what = error instanceof GraphException && error.ambiguous ? 'may not have been' : 'was not';
  const left = rest.length === 0 ? '' : `; ${rest.length} more were not tried`;
  const again = flags.all === true ? ' --all' : '';
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

function reportDeleted({ report, flags }: Invocation, deleted: number, missing: number, why: string): number {
  const forgiven = flags['skip-missing'] === true;
  const failed = !forgiven && (missing > 0 || deleted === 0);
  if (report.json && !(failed && deleted + missing === 0)) report.document({ deleted, missing });
  else if (deleted > 0) report.result(`Deleted ${pluralize(deleted, 'token')}.`);
  if (failed) {
    throw new GraphException(deleted > 0 ? 'PARTIAL' : 'NOT_FOUND', why, {
      hint: 'to ignore this: --skip-missing; to delete others, see their ids: graphcred token list',
    });
  }
  if (!report.json && deleted === 0) report.note('there was no token to delete');
  return 0;
}
