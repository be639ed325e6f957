import type { Sensitive } from '../core/sensitive.js';
import type { Store, StoreRecord } from '../store/store.js';
import type { Identity } from './identity.js';

/** Tokens this store holds for an identity, whatever lifetime was asked for; the one that ends last comes first. */
export function heldTokens(store: Store, identity: Omit<Identity, 'lifetime'>): StoreRecord[] {
  return lastFirst(
    store.list().filter(({ kind, info }) => kind === 'token' && sameExceptLifetime(info, identity)),
  );
}

/** Forgets a held token. One that another process has put in its place meanwhile stays. */
export async function forgetHeld(
  store: Store,
  identity: Omit<Identity, 'lifetime'>,
  token: Sensitive,
): Promise<void> {
  for (const record of heldTokens(store, identity))
    if ((await store.read(record))?.reveal() === token.reveal()) await store.remove(record.key);
}

/** Tokens of a principal on one pair of servers, on any graph. */
export function heldOnHost(
  store: Store,
  { gsqlUrl, restUrl, principal }: Omit<Identity, 'lifetime' | 'graph'>,
): StoreRecord[] {
  const fits = ({ kind, info }: StoreRecord) =>
    kind === 'token' &&
    info.gsqlUrl === gsqlUrl &&
    info.restSetting === (restUrl ?? null) &&
    info.principal === principal;
  return lastFirst(store.list().filter(fits));
}

function lastFirst(records: StoreRecord[]): StoreRecord[] {
  return records.sort((a, b) => (b.expiresAtUnix ?? 0) - (a.expiresAtUnix ?? 0));
}

/** Whether a record belongs to this identity, whatever lifetime was asked for. */
function sameExceptLifetime(
  info: Readonly<Record<string, unknown>>,
  identity: Omit<Identity, 'lifetime'>,
): boolean {
  return (
    info.gsqlUrl === identity.gsqlUrl &&
    info.restSetting === (identity.restUrl ?? null) &&
    info.graph === (identity.graph ?? null) &&
    info.principal === identity.principal
  );
}
