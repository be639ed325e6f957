import { serversInForce } from '../../auth/connect.js';
import { fingerprint } from '../../auth/credential.js';
import { isOfProvider } from '../../auth/oidc/settings.js';
import { graphOf, type Run } from '../../auth/run.js';
import type { Servers } from '../../core/endpoints.js';
import type { Sensitive } from '../../core/sensitive.js';
import { isForPair } from '../../store/ownership.js';
import { partsOf } from '../../store/records.js';
import type { StoreRecord, TokenRecord } from '../../store/store.js';

/** The identity of a token: `token get` uses a cached token only when all of this is equal. */
export interface Identity extends Servers {
  readonly graph: string | undefined;
  readonly principal: string;
  /** Lifetime asked for, in seconds. */
  readonly lifetime: number;
}

/**
 * Returns the identity of the run's tokens: the pair of base URLs, the graph and the lifetime in force, and the owner
 * of the credential. The tokens of an identity provider are for every graph, and have their own end.
 */
export async function identityOf(run: Run, principal: string): Promise<Identity> {
  const [graph, lifetime] = isOfProvider(principal) ? [undefined, 0] : [graphOf(run), run.settings.lifetime];
  return { ...(await serversInForce(run)), graph, principal, lifetime };
}

/**
 * Returns what the names of all tokens of an identity begin with: readable, because a desktop's keychain application
 * shows them. Spaces inside a part are encoded, so that the keys of two identities always differ.
 */
export function identityKey(identity: Identity): string {
  const { principal, graph, lifetime, gsqlUrl, restUrl } = identity;
  return `token of ${part(principal)} for ${graph === undefined ? 'any graph' : `graph ${part(graph)}`}, ${lifetime}s, at ${gsqlUrl} rest ${restUrl}`;
}

function part(text: string): string {
  return text.replace(/[^\x21-\x7e]|%/gu, (character) =>
    // The character is encoded as bytes, because encodeURIComponent throws on half a surrogate pair.
    encodeURIComponent(Buffer.from(character).toString()),
  );
}

/** Whether a record is of this token. */
export function isOfToken({ key }: StoreRecord, token: Sensitive): boolean {
  return partsOf(key).token === fingerprint(token);
}

/** Whether a record is a token of this identity, whatever lifetime was asked for: of its graph, or of any one. */
export function isOfOwner(record: TokenRecord, identity: Identity, anyGraph = false): boolean {
  const isOfGraph = anyGraph || record.info.graph === (identity.graph ?? null);
  return isOfGraph && isForPair(record, identity) && record.info.principal === identity.principal;
}

/** Sorts tokens so that the one that lives longest comes first, and the same order comes out each time. */
export function longestLivedFirst(a: TokenRecord, b: TokenRecord): number {
  return b.expiresAtUnix - a.expiresAtUnix || (a.key < b.key ? -1 : 1);
}
