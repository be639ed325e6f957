import type { Call } from '../../auth/call.js';
import { findCredential, findWithoutAsking, savedCredential } from '../../auth/choose.js';
import { callFor, connect } from '../../auth/connect.js';
import { type Credential, once } from '../../auth/credential.js';
import { isOfProvider } from '../../auth/oidc/settings.js';
import { tokenFromStdin } from '../../auth/read-token.js';
import { serversInForce } from '../../auth/servers.js';
import { chooseStore, requireReadable, type SavedEntry } from '../../auth/stores.js';
import type { GraphConnection } from '../../core/connection.js';
import type { Servers } from '../../core/endpoints.js';
import { type ErrorCode, expected, GraphException } from '../../core/errors.js';
import { type BoundCredential, type Sensitive, sensitiveOf } from '../../core/sensitive.js';
import { isForPair } from '../../store/ownership.js';
import { STORES, type Store, type TokenRecord } from '../../store/store.js';
import { deleteEach, type Outcome, type Result } from '../delete-each.js';
import { pluralize } from '../format.js';
import { listTokens, type TokenRow } from './list-tokens.js';
import { forget, identityOf, isOfIdentity, isOfToken, isOnHost } from './token-cache.js';

/**
 * The tokens to delete: ids of `token list`, or every token of this machine; else the token on standard input, or those
 * of the owner of the credential for one graph or for every graph.
 */
export type Targets = readonly string[] | 'everything' | 'one graph' | 'every graph';

export interface Deletion {
  /** How many the server has confirmed. */
  readonly deleted: number;
  /** How many the server no longer knew. */
  readonly ended: number;
  /** How many were neither stored here nor known to the server. */
  readonly missing: number;
  /** Why tokens are left. */
  readonly failure?: GraphException | undefined;
  /** Why there was nothing to delete. */
  readonly notFound?: string | undefined;
}

/**
 * Deletes tokens on their servers, and then from the stores.
 * @throws GraphException NOT_FOUND for an unknown id; whatever prevented the deletion of the first token, if the
 * tokens are not named by id
 */
export async function deleteTokens(
  call: Call,
  targets: Targets,
  { skipMissing }: { readonly skipMissing: boolean },
): Promise<Deletion> {
  const store = await chooseStore(call, { needed: true });
  if (targets !== 'one graph' && targets !== 'every graph')
    return deleteNamed(call, store, targets, skipMissing);
  const credential = await findCredential(call, 'mint', async () => store);
  const given = await tokenFromStdin(call);
  return given
    ? deleteGiven(call, store, credential, given)
    : deleteOwn(call, store, credential, targets === 'every graph');
}

async function deleteNamed(
  call: Call,
  store: Store,
  targets: readonly string[] | 'everything',
  skipMissing: boolean,
): Promise<Deletion> {
  const all = await listTokens(call, store);
  const ids = targets === 'everything' ? all.map(({ id }) => id) : targets;
  const tokens = all.filter(({ id }) => ids.includes(id));
  const unknown = ids.find((id) => !tokens.some((one) => one.id === id));
  if (unknown !== undefined || tokens.length === 0) await requireReadable(call, store);
  if (unknown !== undefined && !skipMissing) {
    throw new GraphException('NOT_FOUND', `There is no token ${unknown}; nothing was deleted.`, {
      hint: 'see the ids there are: graphcred token list',
    });
  }
  if (tokens.length === 0)
    return { deleted: 0, ended: 0, missing: 0, notFound: 'This machine holds no token.' };
  noteShared(call, tokens);
  return deletionOf(await revokeTokens(call, tokens, all));
}

async function deleteGiven(
  call: Call,
  store: Store,
  credential: Credential,
  token: Sensitive,
): Promise<Deletion> {
  const rows = (await listTokens(call, store)).filter(({ record }) => isOfToken(record, token));
  noteShared(call, rows);
  const { connection } = await connect(call, credential);
  call.interruption?.begin();
  return deletionOf([{ entry: rows[0], ...(await deleteOne(connection, token, rows)) }]);
}

/** Deletes the tokens of the owner of the credential. */
async function deleteOwn(
  call: Call,
  store: Store,
  credential: Credential,
  isOfEveryGraph: boolean,
): Promise<Deletion> {
  if (credential.kind === 'jwt') throw notDeletable();
  const all = await listTokens(call, store);
  const identity = await identityOf(call, credential.principal);
  const isWanted = isOfEveryGraph ? isOnHost : isOfIdentity;
  const rows = all.filter(({ record }) => isWanted(record, identity));
  if (rows.length === 0) {
    await requireReadable(call, store);
    const others = all.length === 0 ? '' : `; it holds ${pluralize(all.length, 'other token')}`;
    const from = call.principal ?? (credential.kind === 'password' ? credential.username : credential.label);
    return {
      deleted: 0,
      ended: 0,
      missing: 0,
      notFound: `This machine holds no such token from ${from} for ${call.target.gsqlUrl}${others}.`,
    };
  }
  noteShared(call, rows);
  // A store or a credential that cannot be read ends the command before anything is sent.
  for (const row of rows) await row.value();
  await credential.value();
  const outcomes = await revokeTokens(call, rows, all, credential);
  const cause = outcomes.find(({ state }) => state === 'kept')?.error;
  // What every token met is said as it is.
  if (cause && outcomes.every(({ state }) => state === 'kept')) throw cause;
  return deletionOf(outcomes);
}

function noteShared({ ports }: Call, tokens: readonly TokenRow[]): void {
  if (tokens.some(({ record }) => STORES[record.store].scope === 'fleet'))
    ports.reporter.note('this ends tokens that machines share: every job that uses one needs a new one');
}

function deletionOf(outcomes: readonly Outcome<TokenRow | undefined>[]): Deletion {
  const count = (wanted: Result['state']) => outcomes.filter(({ state }) => state === wanted).length;
  const unknown = outcomes.find((one) => one.unknown)?.unknown?.message.replace(/\.$/, '');
  const notFound = unknown && `${unknown}; it is forgotten here too.`;
  const missing = outcomes.filter(({ entry, state }) => state === 'missing' && entry === undefined).length;
  const ended = count('missing') - missing;
  return { deleted: count('deleted'), ended, missing, failure: failureOf(outcomes), notFound };
}

/**
 * Deletes a token on the server, and then each record of it if the server deleted it or does not know it. If the server
 * cannot be reached, the store is unchanged.
 */
async function deleteOne(
  connection: GraphConnection,
  token: Sensitive | BoundCredential,
  rows: readonly TokenRow[],
): Promise<Result> {
  const failure = await connection.deleteToken(undefined, { token }).then(() => undefined, expected);
  if (failure && failure.code !== 'NOT_FOUND') throw failure;
  const error = await forget(rows, sensitiveOf(token));
  return { state: failure ? 'missing' : 'deleted', unknown: failure, error };
}

/** Creates the error for a JWT of an identity provider. No server has issued it, so none can end it. */
function notDeletable(): GraphException {
  return new GraphException(
    'UNSUPPORTED',
    'A JWT of an identity provider cannot be deleted at the server; it stays valid until it expires.',
    { hint: 'delete it from this machine: graphcred logout' },
  );
}

const NEEDS_CREDENTIAL: readonly (ErrorCode | undefined)[] = [
  'AUTH_FAILED',
  'PERMISSION_DENIED',
  'INPUT_REQUIRED',
];

/** Creates the error that names the tokens which were not revoked, or else tells of one that is still stored. */
export function failureOf(outcomes: readonly Outcome<TokenRow | undefined>[]): GraphException | undefined {
  const kept = outcomes.filter(({ state }) => state === 'kept');
  const stored = outcomes.find(({ error }) => error)?.error;
  if (kept.length === 0) return stored && stillStored(stored);
  if (stored?.code === 'CANCELLED' && kept.length === outcomes.length) return stored;
  const named = kept.map(({ entry: row, error, isUntried }) => {
    const { graph = null, gsqlUrl } = row?.record.info ?? {};
    const told = error ? error.message.replace(/\.$/, '') : 'its value cannot be read from the store';
    const why = isUntried ? 'not tried' : told;
    return `${row?.id} (from ${row?.from}, ${graph === null ? 'no graph' : `graph ${graph}`}, ${gsqlUrl}): ${why}`;
  });
  const other = kept.find(({ error }) => !NEEDS_CREDENTIAL.includes(error?.code));
  const { hint, option, remedies } = other?.error ?? {};
  const revoke = hint === undefined ? 'run it again' : `to revoke it, ${hint}`;
  return new GraphException('PARTIAL', `Not revoked, and still cached: ${named.join('; ')}`, {
    hint: other
      ? `see what is left: graphcred token list; ${revoke}`
      : `give a credential of that user for that server, with -p, or --gsql-url, --rest-url, -u and --password-stdin: graphcred token delete ${kept.map(({ entry }) => entry?.id).join(' ')}`,
    option,
    remedies,
  });
}

/** Creates the error for a store that could not be changed. The tokens are deleted on the server. */
function stillStored({ message }: GraphException): GraphException {
  return new GraphException(
    'PARTIAL',
    `The token is gone at the server, but this machine could not forget it: ${message}.`,
    {
      hint: 'put that right, for token get still prints it; then run: graphcred token delete --skip-missing',
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
  return (await store.find(record.key)) ? 'kept' : 'missing';
}

/**
 * Revokes tokens of any server and user, and removes every record of those that the server no longer accepts. Asks
 * nobody.
 * @param all the tokens of this machine, of which some may have the same value
 * @param given the login in force, if the command has one already
 */
export async function revokeTokens(
  call: Call,
  tokens: readonly TokenRow[],
  all: readonly TokenRow[],
  given?: Credential,
): Promise<readonly Outcome<TokenRow>[]> {
  const loginsFor = logins(call, given);
  const done = new Set<TokenRow>();
  return deleteEach(call, tokens, async (row, send) => {
    if (done.has(row)) return undefined;
    const token = await readLive(row);
    if (typeof token === 'string') return { state: token };
    // Whoever it was minted for, it ends for all of them at once.
    const rows = all.filter(({ record }) => isOfToken(record, token.value));
    for (const one of rows) done.add(one);
    let refused: unknown;
    for (const open of await loginsFor(row)) {
      try {
        const connection = await open();
        const result = await send(connection, () => deleteOne(connection, token, rows));
        call.ports.reporter.did(`${result.state === 'deleted' ? 'revoked' : 'forgot'} the token ${row.id}`);
        return result;
      } catch (error) {
        refused ??= error;
        if (!NEEDS_CREDENTIAL.includes(expected(error).code)) throw error;
      }
    }
    throw refused;
  });
}

/**
 * Returns a function that gives the logins that may revoke a token, in order: the saved credential that minted it, the
 * login in force if that is of its pair and user; without either the token itself, which newer servers of 4.x take. Each
 * connection is opened once, when the login before it was refused.
 */
function logins(call: Call, given: Credential | undefined) {
  const callAt = once((pair: string) => callFor(call, JSON.parse(pair) as Servers));
  const inForce = once(async (store: Store) => {
    const minting = given ?? (await findWithoutAsking(call, 'mint', store));
    const login = await findWithoutAsking(call, 'login', store);
    return login && login.label !== minting?.label ? [minting, login] : [minting];
  });
  const openInForce = once(async (credential: Credential) => (await connect(call, credential)).connection);
  const openSaved = once(async (minter: SavedEntry, where: Call, servers: Servers) => {
    return (await connect(where, await savedCredential(where, minter, servers))).connection;
  });
  const openBare = once(async (where: Call) => {
    const { connection, version } = await connect(where, undefined);
    if (version.jwtLogsIn) return connection;
    throw new GraphException('PERMISSION_DENIED', 'no login here is for it');
  });
  return async ({ record, store, minter }: TokenRow): Promise<(() => Promise<GraphConnection>)[]> => {
    const { gsqlUrl, restUrl } = record.info;
    const servers = { gsqlUrl, restUrl };
    // Another GSQL server is not asked for its version.
    const isHere = call.target.gsqlUrl === gsqlUrl && isForPair(record, await serversInForce(call));
    // What is set for the pair in force, such as its certificates, counts there too for a saved credential.
    const where = isHere ? call : callAt(JSON.stringify(servers));
    const known = minter ? [() => openSaved(minter, where, servers)] : [];
    for (const credential of isHere ? await inForce(store) : []) {
      const isMinter =
        minter !== undefined &&
        credential?.level === 'store' &&
        credential.principal === record.info.principal;
      if (credential && !isMinter && isOfOwner(credential, record)) known.push(() => openInForce(credential));
    }
    return known.length > 0 ? known : [() => openBare(where)];
  };
}

/** Whether a credential made a token, or is of the same user as far as that is known. */
function isOfOwner({ principal, username }: Credential, { info }: TokenRecord): boolean {
  const user = info.username ?? /^user:(.*)/s.exec(info.principal)?.[1];
  return principal === info.principal || user === undefined || user === username;
}
