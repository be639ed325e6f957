import type { Call, Place } from '../auth/call.js';
import { findCredential } from '../auth/choose.js';
import { connect } from '../auth/connect.js';
import type { Credential } from '../auth/credential.js';
import { isSamePair, serversInForce, serversOfRecord } from '../auth/servers.js';
import type { GraphConnection } from '../core/connection.js';
import { type ErrorCode, GraphException } from '../core/errors.js';
import { BoundCredential } from '../core/sensitive.js';
import type { Store, StoreRecord } from '../store/store.js';
import { type HeldToken, withSameValue } from './held-tokens.js';
import { deleteCached } from './token-cache.js';

export interface Revocation {
  readonly deleted: number;
  /** How many the server did not know. */
  readonly missing: number;
  readonly kept: readonly { readonly token: HeldToken; readonly error: GraphException }[];
}

/**
 * Revokes tokens of any server and user, each with a credential that this machine knows for its pair of base URLs, and
 * removes every record of those that the server no longer accepts. Asks nothing.
 * @param all the tokens of this machine, of which some may have the same value
 * @param given a credential for the pair in force, if the command has one already
 */
export async function revokeTokens(
  call: Call,
  tokens: readonly HeldToken[],
  all: readonly HeldToken[],
  given?: Credential,
): Promise<Revocation> {
  const result = { deleted: 0, missing: 0, kept: [] as { token: HeldToken; error: GraphException }[] };
  const connectionTo = connections(call, given);
  const gone = new Set<HeldToken>();
  const failures = new Map<GraphConnection, GraphException>();
  call.interruption?.begin();
  for (const token of tokens) {
    if (gone.has(token)) continue;
    try {
      const { known, same } = await revokeOne(token, all, connectionTo, call.ports.now(), failures);
      for (const one of same) gone.add(one);
      if (known) result.deleted++;
      else result.missing++;
    } catch (error) {
      if (!(error instanceof GraphException) || error.code === 'CANCELLED') throw error;
      result.kept.push({ token, error });
    }
  }
  return result;
}

const NEEDS_CREDENTIAL: readonly ErrorCode[] = ['AUTH_FAILED', 'PERMISSION_DENIED', 'INPUT_REQUIRED'];

/** Creates the error that names the tokens which were not revoked, or undefined when there are none. */
export function notRevoked({ kept }: Revocation): GraphException | undefined {
  if (kept.length === 0) return undefined;
  const named = kept.map(({ token: { id, record }, error }) => {
    const { principal, graph, gsqlUrl } = record.info;
    return `${id} (${principal}, ${graph === null ? 'no graph' : `graph ${graph}`}, ${gsqlUrl}): ${error.message.replace(/\.$/, '')}`;
  });
  const other = kept.find(({ error: { code } }) => !NEEDS_CREDENTIAL.includes(code))?.error;
  return new GraphException('PARTIAL', `Not revoked, and still held: ${named.join('; ')}`, {
    hint: other
      ? `${other.hint ? `${other.hint.replace(/\.$/, '')}; then ` : ''}run it again; what is left: graphcred token list`
      : 'give a credential of that user for that server, with -p, or --gsql-url, --rest-url, -u and --password-stdin: graphcred token delete ID',
    ...(other?.option && { option: other.option }),
  });
}

/** Returns the records that are gone, and whether the server knew the token. */
async function revokeOne(
  token: HeldToken,
  all: readonly HeldToken[],
  connectionTo: (record: StoreRecord, store: Store) => Promise<GraphConnection>,
  now: number,
  failures: Map<GraphConnection, GraphException>,
): Promise<{ known: boolean; same: readonly HeldToken[] }> {
  const { record, store } = token;
  if ((record.expiresAtUnix ?? 0) <= now / 1000) {
    await store.remove(record.key);
    return { known: true, same: [token] };
  }
  const value = await token.value();
  const servers = serversOfRecord(record);
  if (value === undefined || servers === undefined)
    throw new GraphException('STORE_UNAVAILABLE', 'its value cannot be read from the store');
  const connection = await connectionTo(record, store);
  const failure = failures.get(connection);
  // What was refused once is not sent again.
  if (failure) throw failure;
  const known = await connection
    .deleteToken(undefined, { token: new BoundCredential(value, servers) })
    .catch((error: unknown) => {
      if (!(error instanceof GraphException)) throw error;
      if (error.code === 'NOT_FOUND') return false;
      if (error.code !== 'PERMISSION_DENIED') failures.set(connection, error);
      throw error;
    });
  const same = await withSameValue(all, value.reveal());
  for (const one of same) {
    const failure = await deleteCached(one.store, one.record, value);
    if (failure) throw new GraphException('PARTIAL', `revoked, but not forgotten here: ${failure.message}`);
  }
  return { known: known !== false, same };
}

/** Returns a function that finds the best login for a token, and opens each connection once. */
function connections(call: Call, given: Credential | undefined) {
  const opened = new Map<Credential, Promise<GraphConnection>>();
  const withoutLogin = new Map<string, Promise<GraphConnection>>();
  const own = given && [given];
  const credentials = new Map<Call, Promise<Credential[]>>();
  let profiles: Promise<Call[]> | undefined;
  const bareCalls = new Map<string, Promise<Call | undefined>>();
  const bareCall = (record: StoreRecord) => {
    const place = placeOf(record);
    const key = JSON.stringify(place);
    const opened = bareCalls.get(key) ?? call.elsewhere(place);
    bareCalls.set(key, opened);
    return opened;
  };
  const credentialsAt = (at: Call, store: Store) => {
    const found =
      credentials.get(at) ?? (at === call && own ? Promise.resolve(own) : credentialsOf(at, store));
    credentials.set(at, found);
    return found;
  };
  const candidatesFor = async (record: StoreRecord, store: Store) => {
    const places = [
      async () => [call],
      () => (profiles ??= profileCalls(call)),
      async () => [await bareCall(record)],
    ];
    const candidates: { at: Call; credential: Credential; rank: number }[] = [];
    for (const place of places) {
      for (const at of await place()) {
        if (at === undefined || !(await isFor(at, record))) continue;
        for (const credential of await credentialsAt(at, store))
          candidates.push({ at, credential, rank: rankOf(credential, record, at === call) });
      }
      // The credential that made the token needs no better one.
      if (candidates.some(({ rank }) => rank === 0)) break;
    }
    return candidates;
  };
  return async (record: StoreRecord, store: Store): Promise<GraphConnection> => {
    const candidates = await candidatesFor(record, store);
    const [best] = candidates.filter(({ rank }) => rank < 3).sort((a, b) => a.rank - b.rank);
    if (best) {
      const connection =
        opened.get(best.credential) ?? connect(best.at, best.credential).then((made) => made.connection);
      opened.set(best.credential, connection);
      return connection;
    }
    // Newer servers of 4.x take the token itself as a login. Others end this with an error that says what is missing.
    const url = String(record.info.gsqlUrl);
    const connection =
      withoutLogin.get(url) ??
      connect((await bareCall(record)) ?? call, undefined).then((made) => made.connection);
    withoutLogin.set(url, connection);
    return connection;
  };
}

/** Returns how well a credential fits a token: 0 made it, 1 is of the same user, 2 was given for this command. */
function rankOf({ principal, username }: Credential, { info }: StoreRecord, isGiven: boolean): number {
  if (principal === info.principal) return 0;
  if (
    username !== undefined &&
    [info.username, info.principal].some((one) => one === username || one === `user:${username}`)
  )
    return 1;
  return isGiven ? 2 : 3;
}

async function isFor(call: Call, record: StoreRecord): Promise<boolean> {
  const servers = serversOfRecord(record);
  if (call.target.gsqlUrl !== servers?.gsqlUrl) return false;
  return isSamePair(servers, await serversInForce(call));
}

async function profileCalls(call: Call): Promise<Call[]> {
  const calls = call.settings.profileNames.map((profile) => call.elsewhere({ profile }));
  return (await Promise.all(calls)).filter((one) => one !== undefined);
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
  const found: Credential[] = [];
  for (const purpose of ['mint', 'login'] as const) {
    try {
      found.push(await findCredential({ ...call, canPrompt: false }, purpose, async () => store));
    } catch (error) {
      if (!(error instanceof GraphException)) throw error;
    }
  }
  return found;
}
