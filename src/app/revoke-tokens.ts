import type { Call, Place } from '../auth/call.js';
import { findCredential } from '../auth/choose.js';
import { connect } from '../auth/connect.js';
import type { Credential } from '../auth/credential.js';
import { isSamePair, serversInForce, serversOfRecord } from '../auth/servers.js';
import type { GraphConnection } from '../core/connection.js';
import { type ErrorCode, GraphException } from '../core/errors.js';
import type { BoundCredential, Sensitive } from '../core/sensitive.js';
import type { Store, StoreRecord } from '../store/store.js';
import { type TokenRow, withSameValue } from './list-tokens.js';
import { deleteCached } from './token-cache.js';

export interface Revocation {
  readonly deleted: number;
  /** How many the server did not know. */
  readonly missing: number;
  readonly kept: readonly { readonly token: TokenRow; readonly error: GraphException }[];
}

/**
 * Revokes tokens of any server and user, each with a credential that this machine knows for its pair of base URLs, and
 * removes every record of those that the server no longer accepts. Asks nothing.
 * @param all the tokens of this machine, of which some may have the same value
 * @param given a credential for the pair in force, if the command has one already
 */
export async function revokeTokens(
  call: Call,
  tokens: readonly TokenRow[],
  all: readonly TokenRow[],
  given?: Credential,
): Promise<Revocation> {
  const result = { deleted: 0, missing: 0, kept: [] as { token: TokenRow; error: GraphException }[] };
  const connectionTo = connections(call, given);
  const gone = new Set<TokenRow>();
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
  return new GraphException('PARTIAL', `Not revoked, and still cached: ${named.join('; ')}`, {
    hint: other
      ? `${other.hint ? `${other.hint.replace(/\.$/, '')}; then ` : ''}run it again; what is left: graphcred token list`
      : 'give a credential of that user for that server, with -p, or --gsql-url, --rest-url, -u and --password-stdin: graphcred token delete ID',
    ...(other?.option && { option: other.option }),
  });
}

/** Returns the rows that are gone, and whether the server knew the token. */
async function revokeOne(
  token: TokenRow,
  all: readonly TokenRow[],
  connectionTo: (row: TokenRow) => Promise<GraphConnection>,
  now: number,
  failures: Map<GraphConnection, GraphException>,
): Promise<{ known: boolean; same: readonly TokenRow[] }> {
  const { record, store } = token;
  if ((record.expiresAtUnix ?? 0) <= now / 1000) {
    await store.delete(record.key);
    return { known: true, same: [token] };
  }
  const bound = await token.value();
  if (bound === undefined)
    throw new GraphException('STORE_UNAVAILABLE', 'its value cannot be read from the store');
  const connection = await connectionTo(token);
  const failure = failures.get(connection);
  // What was refused once is not sent again.
  if (failure) throw failure;
  const known = await deleteAtServer(connection, bound).catch((error: unknown) => {
    if (error instanceof GraphException && error.code !== 'PERMISSION_DENIED')
      failures.set(connection, error);
    throw error;
  });
  const same = await withSameValue(all, bound.value.reveal());
  for (const one of same) {
    const failure = await deleteCached(one.store, one.record, bound.value);
    if (failure) throw new GraphException('PARTIAL', `revoked, but not forgotten here: ${failure.message}`);
  }
  return { known, same };
}

/** Deletes a token on its server. False when the server does not know it. */
export async function deleteAtServer(
  connection: GraphConnection,
  token: Sensitive | BoundCredential,
): Promise<boolean> {
  try {
    return await connection.deleteToken(undefined, { token });
  } catch (error) {
    if (error instanceof GraphException && error.code === 'NOT_FOUND') return false;
    throw error;
  }
}

/** A credential that may log in for a token, and the call in which it does. */
interface Candidate {
  readonly at: Call;
  readonly credential: Credential;
}

/** Returns a function that finds the best login for a token, and opens each connection once. */
function connections(
  call: Call,
  given: Credential | undefined,
): (token: TokenRow) => Promise<GraphConnection> {
  const callAt = once((place: string) => call.elsewhere(JSON.parse(place) as Place));
  const placed = ({ record }: TokenRow) => callAt(JSON.stringify(placeOf(record)));
  const profileCalls = once((profiles: readonly string[]) =>
    Promise.all(profiles.map((profile) => call.elsewhere({ profile }))),
  );
  const candidatesAt = once(async (at: Call, store: Store): Promise<Candidate[]> => {
    const credentials = at === call && given ? [given] : await credentialsOf(at, store);
    return credentials.map((credential) => ({ at, credential }));
  });
  const connectAs = once(({ at, credential }: Candidate) => connect(at, credential));
  const connectBare = once(async (_url: unknown, token: TokenRow) =>
    connect((await placed(token)) ?? call, undefined),
  );
  const bestFor = async (token: TokenRow): Promise<Candidate | undefined> => {
    const { record, store } = token;
    const places = [
      async () => [call],
      () => profileCalls(call.settings.profileNames),
      async () => [await placed(token)],
    ];
    const ranked: [Candidate | undefined, number][] = [];
    for (const place of places) {
      for (const at of await place()) {
        if (at === undefined || !(await isFor(at, record))) continue;
        for (const candidate of await candidatesAt(at, store))
          ranked.push([candidate, rankOf(candidate.credential, record, at === call)]);
      }
      // The credential that made the token needs no better one.
      if (ranked.some(([, rank]) => rank === 0)) break;
    }
    const [best] = ranked.filter(([, rank]) => rank < 3).sort(([, a], [, b]) => a - b);
    return best?.[0];
  };
  return async (token) => {
    const best = await bestFor(token);
    // Newer servers of 4.x take the token itself as a login. Others end this with an error that says what is missing.
    return (await (best ? connectAs(best) : connectBare(token.record.info.gsqlUrl, token))).connection;
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
function rankOf({ principal, username }: Credential, { info }: StoreRecord, isGiven: boolean): number {
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
