import type { Call, Place } from '../auth/call.js';
import { findCredential, findWithoutAsking } from '../auth/choose.js';
import { type Connected, connect } from '../auth/connect.js';
import type { Credential } from '../auth/credential.js';
import { tokenFromStdin } from '../auth/given-token.js';
import { isOfProvider } from '../auth/oidc/settings.js';
import { isSamePair, serversInForce, serversOfRecord } from '../auth/servers.js';
import { chooseStore, requireReadable } from '../auth/stores.js';
import type { GraphConnection } from '../core/connection.js';
import { type ErrorCode, GraphException } from '../core/errors.js';
import { type BoundCredential, type Sensitive, sensitiveOf } from '../core/sensitive.js';
import { STORES, type Store, type StoreRecord } from '../store/store.js';
import { listTokens, type TokenRow, withSameValue } from './list-tokens.js';
import { deleteCached, hasEnded, identityOf, isOfIdentity, isOnHost } from './token-cache.js';
import { pluralize } from './words.js';

/**
 * The tokens to delete: ids of `token list`, or every token of this machine; else the token on standard input, or those
 * of the owner of the credential for one graph or for every graph.
 */
export type Targets = readonly string[] | 'everything' | 'one graph' | 'every graph';

export interface Deletion {
  readonly deleted: number;
  /** How many the server did not know. */
  readonly missing: number;
  /** Why tokens are left. */
  readonly failure?: GraphException | undefined;
  /** Whether `failure` says itself what is gone. */
  readonly isTold?: boolean;
  /** Why there was nothing to delete. */
  readonly notFound?: string;
}

/**
 * Deletes tokens on their servers, and then from the stores.
 * @throws GraphException NOT_FOUND for an unknown id; whatever prevented the deletion of the first token, if the
 * tokens are not named by id
 */
export async function deleteTokens(call: Call, targets: Targets): Promise<Deletion> {
  const store = await chooseStore(call, { needed: true });
  if (targets === 'one graph' || targets === 'every graph')
    return deleteOwn(call, store, targets === 'every graph');
  const all = await listTokens(call, store);
  const ids = targets === 'everything' ? all.map(({ id }) => id) : targets;
  const unknown = ids.find((id) => !all.some((one) => one.id === id));
  if (unknown !== undefined || ids.length === 0) await requireReadable(call, store);
  if (unknown !== undefined) {
    throw new GraphException('NOT_FOUND', `There is no token ${unknown}; nothing was deleted.`, {
      hint: 'see the ids there are: graphcred token list',
    });
  }
  if (ids.length === 0) return { deleted: 0, missing: 0, notFound: 'This machine holds no token.' };
  const tokens = all.filter(({ id }) => ids.includes(id));
  noteShared(call, tokens);
  return revokeTokens(call, tokens, all);
}

function noteShared({ ports }: Call, tokens: readonly TokenRow[]): void {
  if (tokens.some(({ record }) => STORES[record.store].scope === 'fleet'))
    ports.reporter.note('this ends tokens that machines share: every job that uses one needs a new one');
}

/** Deletes tokens with the credential of the call, until one cannot be deleted. */
async function deleteOwn(call: Call, store: Store, isOfEveryGraph: boolean): Promise<Deletion> {
  const credential = await findCredential(call, 'mint', async () => store);
  const { principal } = credential;
  const given = await tokenFromStdin(call);
  if (!given && credential.kind === 'jwt') throw notDeletable();
  const all = await listTokens(call, store);
  const { targets, unread } = given
    ? { targets: [{ token: given, rows: await withSameValue(all, given.reveal()) }], unread: [] }
    : await ownTargets(call, all, principal, isOfEveryGraph ? isOnHost : isOfIdentity);
  if (targets.length + unread.length === 0) {
    await requireReadable(call, store);
    const others = all.length === 0 ? '' : `; it holds ${pluralize(all.length, 'other token')}`;
    const whose = `of ${principal} for ${call.target.gsqlUrl}`;
    return { deleted: 0, missing: 0, notFound: `This machine holds no such token ${whose}${others}.` };
  }
  noteShared(call, [...targets.flatMap(({ rows }) => rows), ...unread]);
  const { connection } = await connect(call, credential);
  call.interruption?.begin();
  const kept = await deleteEnded(unread, call.ports.now());
  const counts = { deleted: 0, missing: unread.length - kept.length };
  let stored: GraphException | undefined;
  for (const [done, target] of targets.entries()) {
    try {
      const { known, failure } = await deleteOne(connection, target);
      counts[known ? 'deleted' : 'missing']++;
      stored ??= failure;
    } catch (error) {
      if (done === 0) throw error;
      return { ...counts, failure: partialDelete(targets, done, error, isOfEveryGraph), isTold: true };
    }
  }
  if (stored) return { ...counts, failure: stillStored(stored), isTold: true };
  return { ...counts, failure: notRevoked(kept) };
}

/** Deletes the records that nobody needs of tokens that cannot be read. Returns the others. */
async function deleteEnded(rows: readonly TokenRow[], now: number): Promise<Kept[]> {
  const kept: Kept[] = [];
  for (const row of rows) {
    const { store, record } = row;
    // The record is the last sign of a token that may still be valid.
    if (!hasEnded(record, now) && (await store.find(record.key))) kept.push({ row, error: unreadable() });
    else await store.delete(record.key);
  }
  return kept;
}

function unreadable(): GraphException {
  return new GraphException('STORE_UNAVAILABLE', 'its value cannot be read from the store');
}

interface Target {
  readonly token: Sensitive | BoundCredential;
  /** Every record on this machine that holds this token. */
  readonly rows: readonly TokenRow[];
}

/** Returns the tokens of an owner, and those whose value cannot be read. */
async function ownTargets(
  call: Call,
  all: readonly TokenRow[],
  principal: string,
  isWanted: typeof isOnHost,
): Promise<{ targets: Target[]; unread: TokenRow[] }> {
  const identity = await identityOf(call, principal);
  const targets: Target[] = [];
  const unread: TokenRow[] = [];
  for (const row of all.filter(({ record }) => isWanted(record, identity))) {
    if (targets.some(({ rows }) => rows.includes(row))) continue;
    const token = await row.value();
    if (token) targets.push({ token, rows: await withSameValue(all, token.value.reveal()) });
    else unread.push(row);
  }
  return { targets, unread };
}

/**
 * Deletes a token on the server, and then from the store if the server deleted it or does not know it. If the server
 * cannot be reached, the store is unchanged.
 * @returns whether the server knew it, and why it is still stored, if it is
 */
async function deleteOne(connection: GraphConnection, { token, rows }: Target) {
  const known = await deleteAtServer(connection, token);
  let failure: GraphException | undefined;
  for (const { store, record } of rows)
    failure = (await deleteCached(store, record, sensitiveOf(token))) ?? failure;
  return { known, failure };
}

/** Deletes a token on its server. False when the server does not know it. */
async function deleteAtServer(connection: GraphConnection, token: Sensitive | BoundCredential) {
  try {
    return await connection.deleteToken(undefined, { token });
  } catch (error) {
    if (error instanceof GraphException && error.code === 'NOT_FOUND') return false;
    throw error;
  }
}

/**
 * Creates the error when the server failed after some tokens were deleted. The others stay stored, so that they can be
 * deleted later.
 */
function partialDelete(
  targets: readonly Target[],
  done: number,
  error: unknown,
  isOfEveryGraph: boolean,
): GraphException {
  const { info } = targets[done]?.rows[0]?.record ?? {};
  const why = error instanceof Error ? error.message : 'unknown error';
  const what = error instanceof GraphException && error.ambiguous ? 'may not have been' : 'was not';
  const rest = targets.length - done - 1;
  const left = rest === 0 ? '' : `; ${rest} more were not tried`;
  return new GraphException(
    'PARTIAL',
    `The token for graph ${info?.graph ?? 'none'}, ${info?.lifetime} s, ${what} deleted: ${why} ${done} of ${targets.length} are gone${left}.`,
    {
      hint: `run it again: graphcred token delete${isOfEveryGraph ? ' --all' : ''}; what is left: graphcred token list`,
    },
  );
}

/** Creates the error for a JWT of an identity provider. No server has issued it, so none can end it. */
function notDeletable(): GraphException {
  return new GraphException(
    'UNSUPPORTED',
    'A JWT of an identity provider cannot be deleted at the server; it stays valid until it expires.',
    { hint: 'delete it from this machine: graphcred logout' },
  );
}

/** Creates the error for a store that could not be changed. The tokens are deleted on the server. */
function stillStored({ message }: GraphException): GraphException {
  return new GraphException(
    'PARTIAL',
    `The token is gone at the server, but this machine could not forget it: ${message}.`,
    { hint: 'until that is put right, token get prints it; then run: graphcred token delete --skip-missing' },
  );
}

export interface Revocation extends Deletion {
  /** The first error that `failure` tells. */
  readonly cause: GraphException | undefined;
}

interface Kept {
  readonly row: TokenRow;
  readonly error: GraphException;
}

/**
 * Revokes tokens of any server and user, each with a credential that this machine knows for its pair of base URLs, and
 * removes every record of those that the server no longer accepts. Asks nothing.
 * @param all the tokens of this machine, of which some may have the same value
 * @param given a credential for the pair in force, if the command has one already
 * @param whyKept says why a token is not to be revoked; undefined when it is
 */
export async function revokeTokens(
  call: Call,
  tokens: readonly TokenRow[],
  all: readonly TokenRow[],
  given?: Credential,
  whyKept?: (row: TokenRow) => string | undefined,
): Promise<Revocation> {
  const counts = { deleted: 0, missing: 0 };
  const kept: Kept[] = [];
  const foreign: Kept[] = [];
  const connectionTo = connections(call, given);
  const gone = new Set<TokenRow>();
  const failures = new Map<GraphConnection, GraphException>();
  call.interruption?.begin();
  for (const row of tokens) {
    if (gone.has(row)) continue;
    const why = whyKept?.(row);
    if (why !== undefined) {
      foreign.push({ row, error: new GraphException('PERMISSION_DENIED', why) });
      continue;
    }
    try {
      const { known, rows } = await revokeOne(row, all, connectionTo, call.ports.now(), failures);
      for (const one of rows) gone.add(one);
      counts[known ? 'deleted' : 'missing']++;
    } catch (error) {
      if (!(error instanceof GraphException) || error.code === 'CANCELLED') throw error;
      kept.push({ row, error });
    }
  }
  const left = [...kept, ...foreign];
  return { ...counts, failure: notRevoked(left), cause: left[0]?.error };
}

const NEEDS_CREDENTIAL: readonly ErrorCode[] = ['AUTH_FAILED', 'PERMISSION_DENIED', 'INPUT_REQUIRED'];

/** Creates the error that names the tokens which were not revoked, or undefined when there are none. */
function notRevoked(kept: readonly Kept[]): GraphException | undefined {
  if (kept.length === 0) return undefined;
  const named = kept.map(({ row: { id, record }, error }) => {
    const { principal, graph, gsqlUrl } = record.info;
    return `${id} (${principal}, ${graph === null ? 'no graph' : `graph ${graph}`}, ${gsqlUrl}): ${error.message.replace(/\.$/, '')}`;
  });
  const other = kept.find(({ error: { code } }) => !NEEDS_CREDENTIAL.includes(code))?.error;
  return new GraphException('PARTIAL', `Not revoked, and still cached: ${named.join('; ')}`, {
    hint: other
      ? `${other.hint ? `${other.hint.replace(/\.$/, '')}; then ` : ''}run it again; what is left: graphcred token list`
      : 'give a credential of that user for that server, with -p, or --gsql-url, --rest-url, -u and --password-stdin: graphcred token delete ID',
    ...(other?.option && { option: other.option }),
  });
}

/** Returns the rows that are gone, and whether the server knew the token. */
async function revokeOne(
  row: TokenRow,
  all: readonly TokenRow[],
  connectionTo: (row: TokenRow) => Promise<GraphConnection>,
  now: number,
  failures: Map<GraphConnection, GraphException>,
): Promise<{ known: boolean; rows: readonly TokenRow[] }> {
  const { record, store } = row;
  if (hasEnded(record, now)) {
    await store.delete(record.key);
    return { known: true, rows: [row] };
  }
  if (isOfProvider(String(record.info.principal))) throw notDeletable();
  const token = await row.value();
  if (token === undefined) throw unreadable();
  const connection = await connectionTo(row);
  const refused = failures.get(connection);
  // What was refused once is not sent again.
  if (refused) throw refused;
  const rows = await withSameValue(all, token.value.reveal());
  const { known, failure } = await deleteOne(connection, { token, rows }).catch((error: unknown) => {
    if (error instanceof GraphException && error.code !== 'PERMISSION_DENIED')
      failures.set(connection, error);
    throw error;
  });
  if (failure) throw new GraphException('PARTIAL', `revoked, but not forgotten here: ${failure.message}`);
  return { known, rows };
}

/** A login for tokens, opened once. */
interface Candidate {
  readonly credential: Credential;
  /** Whether it is the login of this command. */
  readonly isGiven: boolean;
  connect(): Promise<Connected>;
}

/** Returns a function that finds the best login for a token, and opens each connection once. */
function connections(
  call: Call,
  given: Credential | undefined,
): (token: TokenRow) => Promise<GraphConnection> {
  const callAt = once((place: string) => call.elsewhere(JSON.parse(place) as Place));
  const at = (place: Place) => callAt(JSON.stringify(place));
  const candidatesAt = once(async (where: Call, store: Store): Promise<Candidate[]> => {
    const isGiven = where === call;
    const credentials = isGiven && given ? [given] : await credentialsOf(where, store);
    return credentials.map((credential) => {
      const opened = once(() => connect(where, credential));
      return { credential, isGiven, connect: () => opened(where) };
    });
  });
  const connectBare = once(async (_url: unknown, record: StoreRecord) =>
    connect((await at(placeOf(record))) ?? call, undefined),
  );
  const bestFor = async ({ record, store }: TokenRow): Promise<Candidate | undefined> => {
    const places = [
      () => [call],
      () => call.settings.profileNames.map((profile) => at({ profile })),
      () => [at(placeOf(record))],
    ];
    const ranked: [number, Candidate][] = [];
    for (const place of places) {
      for (const where of await Promise.all<Call | undefined>(place())) {
        if (where === undefined || !(await isFor(where, record))) continue;
        for (const one of await candidatesAt(where, store)) ranked.push([rankOf(one, record), one]);
      }
      // The credential that made the token needs no better one.
      if (ranked.some(([rank]) => rank === 0)) break;
    }
    const [best] = ranked.filter(([rank]) => rank < 3).sort(([a], [b]) => a - b);
    return best?.[1];
  };
  return async (token) => {
    const best = await bestFor(token);
    // Newer servers of 4.x take the token itself as a login. Others end this with an error that says what is missing.
    const opening = best ? best.connect() : connectBare(token.record.info.gsqlUrl, token.record);
    return (await opening).connection;
  };
}

/** Makes a function that does its work once for each first argument. */
function once<K, A extends readonly unknown[], V>(work: (key: K, ...rest: A) => V) {
  const done = new Map<K, V>();
  return (key: K, ...rest: A): V => {
    const result = done.get(key) ?? work(key, ...rest);
    done.set(key, result);
    return result;
  };
}

/** Returns how well a credential fits a token: 0 made it, 1 is of the same user, 2 was given for this command. */
function rankOf({ credential, isGiven }: Candidate, { info }: StoreRecord): number {
  const { principal, username } = credential;
  if (principal === info.principal) return 0;
  const owners = [info.username, info.principal];
  const isOfUser =
    username !== undefined && owners.some((one) => one === username || one === `user:${username}`);
  return isOfUser ? 1 : isGiven ? 2 : 3;
}

async function isFor(call: Call, record: StoreRecord): Promise<boolean> {
  const servers = serversOfRecord(record);
  return call.target.gsqlUrl === servers?.gsqlUrl && isSamePair(servers, await serversInForce(call));
}

function placeOf({ info }: StoreRecord): Place {
  const { gsqlUrl, restUrl, principal } = info;
  const user = info.username ?? /^user:(.*)/.exec(String(principal))?.[1];
  return {
    gsqlUrl: String(gsqlUrl),
    restUrl: String(restUrl),
    ...(user && { username: String(user) }),
    ...(String(principal).startsWith('secret:') && { secretAlias: String(principal) }),
  };
}

async function credentialsOf(call: Call, store: Store): Promise<Credential[]> {
  const found = [await findWithoutAsking(call, 'mint', store), await findWithoutAsking(call, 'login', store)];
  return found.filter((one) => one !== undefined);
}
