import { findWithoutAsking, savedCredential } from '../../auth/choose.js';
import { callFor, connect, serversInForce } from '../../auth/connect.js';
import { type Credential, once } from '../../auth/credential.js';
import { isOfProvider } from '../../auth/oidc/settings.js';
import type { Run } from '../../auth/run.js';
import type { SavedEntry } from '../../auth/stores.js';
import type { GraphConnection } from '../../core/connection.js';
import type { Servers } from '../../core/endpoints.js';
import { type ErrorCode, expected, GraphException, whyFailed } from '../../core/errors.js';
import type { BoundCredential, Sensitive } from '../../core/sensitive.js';
import { isForPair } from '../../store/ownership.js';
import type { Store, TokenRecord } from '../../store/store.js';
import { deleteEach, type Outcome, type Result } from '../delete-each.js';
import { isOfToken } from './identity.js';
import type { TokenRow } from './list-tokens.js';
import { forget } from './token-cache.js';

/**
 * Deletes a token on the server, and then each record of it if the server deleted it or does not know it. If the server
 * cannot be reached, the store is unchanged.
 */
export async function deleteOne(
  connection: GraphConnection,
  token: Sensitive,
  rows: readonly TokenRow[],
): Promise<Result> {
  const failure = await whyFailed(connection.deleteToken(undefined, { token }));
  if (failure && failure.code !== 'NOT_FOUND') throw failure;
  const error = await forget(rows, token);
  return { state: failure ? 'missing' : 'deleted', unknown: failure, error };
}

/** Creates the error for a JWT of an identity provider. No server has issued it, so none can end it. */
export function notDeletable(): GraphException {
  return new GraphException(
    'UNSUPPORTED',
    'A JWT of an identity provider cannot be deleted at the server; it stays valid until it expires.',
    { hint: ['delete it from this machine', { command: 'logout' }] },
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
    const reason = error ? error.message.replace(/\.$/, '') : 'its value cannot be read from the store';
    const why = isUntried ? 'not tried' : reason;
    return `${row?.id} (from ${row?.from}, ${graph === null ? 'no graph' : `graph ${graph}`}, ${gsqlUrl}): ${why}`;
  });
  const other = kept.find(({ error }) => !NEEDS_CREDENTIAL.includes(error?.code));
  const { fix = [] } = other?.error ?? {};
  return new GraphException('PARTIAL', `Not revoked, and still cached: ${named.join('; ')}`, {
    hint: other
      ? [...(fix.length > 0 ? fix : ['run it again']), 'see what is left', { command: 'token list' }]
      : [
          'give a credential of that user for that server, with -p, or --gsql-url, --rest-url, -u and --password-stdin',
          { command: `token delete ${kept.map(({ entry }) => entry?.id).join(' ')}` },
        ],
  });
}

/** Creates the error for a store that could not be changed. The tokens are deleted on the server. */
function stillStored({ message }: GraphException): GraphException {
  return new GraphException(
    'PARTIAL',
    `The token is gone at the server, but this machine could not forget it: ${message}.`,
    {
      hint: [
        'put that right, for token get still prints it; then run',
        { command: 'token delete --skip-missing' },
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
 * Revokes tokens of any server and user, and removes every record of those that the server no longer accepts. Asks
 * nobody.
 * @param all the tokens of this machine, of which some may have the same value
 * @param given the login in force, if the command has one already
 */
export async function revokeTokens(
  run: Run,
  tokens: readonly TokenRow[],
  all: readonly TokenRow[],
  given?: Credential,
): Promise<readonly Outcome<TokenRow>[]> {
  const loginsFor = logins(run, given);
  const done = new Set<TokenRow>();
  return deleteEach(run, tokens, async (row, send) => {
    if (done.has(row)) return undefined;
    const token = await readLive(row);
    if (typeof token === 'string') return { state: token };
    // Whoever it was minted for, it ends for all of them at once.
    const rows = all.filter(({ record }) => isOfToken(record, token));
    for (const one of rows) done.add(one);
    let refused: unknown;
    for (const open of await loginsFor(row)) {
      try {
        const connection = await open();
        const result = await send(connection, () => deleteOne(connection, token, rows));
        run.ports.reporter.did(`${result.state === 'deleted' ? 'revoked' : 'forgot'} the token ${row.id}`);
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
function logins(run: Run, given: Credential | undefined) {
  const callAt = once((pair: string) => callFor(run, JSON.parse(pair) as Servers));
  const inForce = once(async (store: Store) => {
    const minting = given ?? (await findWithoutAsking(run, 'mint', store));
    const login = await findWithoutAsking(run, 'login', store);
    return login && login.label !== minting?.label ? [minting, login] : [minting];
  });
  const openInForce = once(async (credential: Credential) => (await connect(run, credential)).connection);
  const openSaved = once(async (minter: SavedEntry, where: Run, servers: Servers) => {
    return (await connect(where, await savedCredential(where, minter, servers))).connection;
  });
  const openBare = once(async (where: Run) => {
    const { connection, version } = await connect(where, undefined);
    if (version.jwtLogsIn) return connection;
    throw new GraphException('PERMISSION_DENIED', 'no login here is for it');
  });
  return async ({ record, store, minter }: TokenRow): Promise<(() => Promise<GraphConnection>)[]> => {
    const { gsqlUrl, restUrl } = record.info;
    const servers = { gsqlUrl, restUrl };
    // Another GSQL server is not asked for its version.
    const isHere = run.target.gsqlUrl === gsqlUrl && isForPair(record, await serversInForce(run));
    // What is set for the pair in force, such as its certificates, counts there too for a saved credential.
    const where = isHere ? run : callAt(JSON.stringify(servers));
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
