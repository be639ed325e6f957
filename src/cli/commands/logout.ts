import type { Servers } from '../../core/endpoints.js';
import { GraphException } from '../../core/errors.js';
import { newestFirst } from '../../store/records.js';
import type { Store, StoreRecord } from '../../store/store.js';
import { forgetToken } from '../../tokens/cache.js';
import type { Invocation } from '../command.js';
import { askYes } from '../output/prompt.js';
import { inLines } from '../output/report.js';
import { pluralize } from '../output/time.js';
import { isSamePair, ownerOf, recordsOf, serversInForce, serversOfRecord } from '../session/binding.js';
import { connect } from '../session/connect.js';
import { findCredential, profileOwner } from '../session/credential.js';
import { openSession } from '../session/session.js';
import { chooseStore, open, requireReadable } from '../session/store.js';
import type { Session } from '../session/types.js';
import { heldTokens, otherStores } from '../token/held.js';
import { readCached } from '../token/obtain.js';
import { notRevoked, revokeTokens } from '../token/revoke-tokens.js';

/** Runs `graphcred logout`. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, report } = invocation;
  const session = await openSession(invocation);
  if (flags.all === true) return logoutOfAll(session);
  // A machine does not delete tokens that a fleet shares, only those it minted for itself.
  const keepsFleetTokens = session.store.name === 'redis' && flags.revoke !== true;
  const store = keepsFleetTokens
    ? await open(session, 'file', true)
    : await chooseStore(session, { needed: true });
  if (keepsFleetTokens)
    report.note('the tokens on the Redis server stay for the other machines; --revoke ends them for all');
  const mine = await recordsOfProfile(session, store);
  if (mine.length === 0) {
    await requireReadable(store);
    throw new GraphException('NOT_FOUND', `Nothing of ${session.target.host} is kept here.`, {
      hint: 'see: graphcred token list',
    });
  }
  invocation.interruption?.begin();
  const outcome =
    flags.revoke === true ? await revoke(session, store, mine) : { removed: mine, remaining: [] };
  const { removed, remaining, failure } = outcome;
  // A revoked token is already removed from the store, and another process may have stored a new one since.
  const toForget = removed.filter(({ kind }) => flags.revoke !== true || kind !== 'token');
  for (const record of toForget) await store.remove(record.key);
  const tokens = removed.filter(({ kind }) => kind === 'token').length;
  const revoked = flags.revoke === true && tokens > 0 && remaining.length === 0;
  if (removed.length > 0 || failure === undefined) {
    const summary = removedSummary(tokens, removed.length - tokens, flags.revoke === true);
    if (report.json) report.document({ forgotten: removed.length, tokens, revoked });
    else if (summary !== '')
      report.result(inLines(`${summary} of ${session.target.host}.`, session.invocation.ctx.stdout.columns));
  }
  // A token whose revocation failed is among the remaining ones.
  if (remaining.length === 0) return 0;
  if (removed.length === 0 && failure && !failure.ambiguous) throw failure;
  throw new GraphException('PARTIAL', remainingMessage(remaining, failure), {
    hint: 'see them: graphcred token list; revoke each with the credential it was made with, or forget all of them: graphcred logout',
  });
}

/** Forgets every token and saved credential on this machine, of every server and user. */
async function logoutOfAll(session: Session): Promise<number> {
  const { invocation, canPrompt } = session;
  const { flags, report, ctx } = invocation;
  const isRevoking = flags.revoke === true;
  const isShared = session.store.name === 'redis' && !isRevoking;
  const store = isShared ? await open(session, 'file', true) : await chooseStore(session, { needed: true });
  const stores = [store, ...(await otherStores(session, store))];
  const lists = await Promise.all(stores.map(async (one) => ({ one, records: await one.list() })));
  const kinds = lists.flatMap(({ records }) => records.map(({ kind }) => kind));
  const tokens = kinds.filter((kind) => kind === 'token').length;
  if (kinds.length === 0) {
    await requireReadable(store);
    throw new GraphException('NOT_FOUND', 'Nothing is kept here.', { hint: 'see: graphcred token list' });
  }
  const what = `${pluralize(tokens, 'token')} and ${pluralize(kinds.length - tokens, 'saved credential')}, of every server and user`;
  if (flags.yes !== true && canPrompt && !(await askYes(invocation, `Forget ${what}?`)))
    throw new GraphException('CANCELLED', 'Nothing was forgotten.');
  if (isRevoking) {
    const held = await heldTokens(session, store);
    const failure = notRevoked(await revokeTokens(session, held, held));
    // The credentials are still needed to revoke what is left.
    if (failure) throw failure;
  }
  for (const { one, records } of lists)
    for (const { kind, key } of records) if (!isRevoking || kind !== 'token') await one.remove(key);
  if (report.json) report.document({ forgotten: kinds.length, tokens, revoked: isRevoking && tokens > 0 });
  else
    report.result(
      inLines(`${isRevoking ? 'Revoked the tokens, and forgot' : 'Forgot'} ${what}.`, ctx.stdout.columns),
    );
  return 0;
}

/**
 * Returns what is stored for the profile in force, newest first.
 * @throws GraphException USAGE when the profile names nobody, and several have something saved for its server
 */
async function recordsOfProfile(session: Session, store: Store): Promise<StoreRecord[]> {
  const owner = await profileOwner(session);
  const { gsqlUrl, username, secretAlias, principal } = owner;
  const records = await store.list();
  const mine = recordsOf(records, owner);
  const owners = new Set(records.filter(({ info }) => info.gsqlUrl === gsqlUrl).map(ownerOf));
  const namesNobody = username === undefined && secretAlias === undefined && principal === undefined;
  if (mine.length > 0 || owners.size < 2 || !namesNobody) return mine.sort(newestFirst);
  throw new GraphException(
    'USAGE',
    `Credentials of several users are saved for ${gsqlUrl}: ${[...owners].sort().join(', ')}.`,
    { hint: 'choose one: graphcred logout --username NAME, or --secret-alias NAME' },
  );
}

/** Names only what there was; empty when nothing is gone. */
function removedSummary(tokens: number, credentials: number, isRevoking: boolean): string {
  const saved = credentials === 0 ? '' : pluralize(credentials, 'saved credential');
  if (tokens === 0) return saved && `Forgot ${saved}`;
  const ended = `${isRevoking ? 'Revoked and forgot' : 'Forgot'} ${pluralize(tokens, 'token')}`;
  if (saved === '') return ended;
  return isRevoking ? `${ended}, forgot ${saved}` : `${ended} and ${saved}`;
}

function remainingMessage(remaining: readonly Remaining[], failure: GraphException | undefined): string {
  const named = remaining.map(({ record, why }) => `${nameOf(record)}: ${why}`).join('; ');
  return `Still held: ${named}.${failure ? ` ${failure.message}` : ''}`;
}

function nameOf({ info }: StoreRecord): string {
  return `the token of ${info.principal} for ${info.graph === null ? 'no graph' : `graph ${info.graph}`}`;
}

interface Remaining {
  readonly record: StoreRecord;
  readonly why: string;
}

interface Outcome {
  /** The records to delete from this machine: revoked tokens, and credentials once no token needs them any more. */
  readonly removed: readonly StoreRecord[];
  readonly remaining: readonly Remaining[];
  readonly failure?: GraphException;
}

/** Revokes tokens on the server first. A token that could not be revoked stays in the store. */
async function revoke(session: Session, store: Store, records: readonly StoreRecord[]): Promise<Outcome> {
  const tokens = records.filter(({ kind }) => kind === 'token');
  const others = records.filter(({ kind }) => kind !== 'token');
  if (tokens.length === 0) return { removed: others, remaining: [] };
  const inForce = await serversInForce(session);
  const credential = await findCredential(session, 'mint', async () => store);
  const { connection } = await connect(session, credential);
  const removed: StoreRecord[] = [];
  const remaining: Remaining[] = [];
  let failure: GraphException | undefined;
  for (const record of tokens) {
    const foreign = reasonToKeep(record, credential.principal, inForce);
    if (foreign !== undefined || failure !== undefined) {
      remaining.push({ record, why: `not revoked: ${foreign ?? 'not tried'}` });
      continue;
    }
    try {
      const token = await readCached(store, record);
      if (token === undefined) {
        remaining.push({ record, why: 'not revoked: its value cannot be read from the store' });
        continue;
      }
      await connection.deleteToken(undefined, { token, skipNA: true });
      const stays = await forgetToken(store, record, token.value);
      if (stays)
        remaining.push({ record, why: `revoked, but this machine could not forget it: ${stays.message}` });
      else removed.push(record);
    } catch (error) {
      if (!(error instanceof GraphException)) throw error;
      failure = error;
      remaining.push({
        record,
        why: error.ambiguous ? 'it may have been revoked' : 'not revoked: the server was not told',
      });
    }
  }
  // The credential is not deleted while it is needed to revoke the remaining tokens.
  return remaining.length === 0
    ? { removed: [...removed, ...others], remaining }
    : { removed, remaining, ...(failure && { failure }) };
}

function reasonToKeep(
  { info, ...record }: StoreRecord,
  principal: string,
  inForce: Servers,
): string | undefined {
  if (!isSamePair(serversOfRecord({ info, ...record }), inForce)) return 'it is for another REST address';
  return info.principal === principal ? undefined : 'the credential in use did not make it';
}
