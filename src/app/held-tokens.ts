import type { LocalCall } from '../auth/call.js';
import { fallbackOf, open } from '../auth/stores.js';
import { GraphException } from '../core/errors.js';
import type { Sensitive } from '../core/sensitive.js';
import { hashOf } from '../store/records.js';
import { CREDENTIAL_STORES, STORES, type Store, type StoreRecord } from '../store/store.js';

/** A row of `token list`. */
export interface HeldToken {
  /** Names the row on a command line. */
  readonly id: string;
  readonly store: Store;
  readonly record: StoreRecord;
  /** Reads the token, once. Undefined when it has vanished from the store. */
  value(): Promise<Sensitive | undefined>;
}

/**
 * Returns the tokens in every store that this call may read, the longest-lived first.
 * @param chosen the store of this call
 */
export async function heldTokens(call: LocalCall, chosen: Store): Promise<HeldToken[]> {
  const stores = [chosen, ...(await otherStores(call, chosen))];
  const lists = await Promise.all(
    stores.map(async (store) => (await store.list()).map((record) => ({ store, record }))),
  );
  const tokens = lists
    .flat()
    .filter(({ record }) => record.kind === 'token')
    .map((held) => ({ ...held, digest: hashOf(`${held.record.store} ${held.record.key}`) }));
  const shortId = (digest: string) => digest.slice(-8);
  const count = new Map<string, number>();
  for (const { digest } of tokens) count.set(shortId(digest), (count.get(shortId(digest)) ?? 0) + 1);
  return tokens
    .map(({ digest, store, record }) => {
      const short = shortId(digest);
      let read: Promise<Sensitive | undefined> | undefined;
      const value = () => {
        read ??= store.read(record);
        return read;
      };
      return { id: count.get(short) === 1 ? short : digest, store, record, value };
    })
    .sort(
      ({ record: a }, { record: b }) =>
        (b.expiresAtUnix ?? 0) - (a.expiresAtUnix ?? 0) || (a.key < b.key ? -1 : 1),
    );
}

/** Returns the stores that may hold tokens of this machine too, unless a setting names the one to use. */
export async function otherStores(call: LocalCall, chosen: Store): Promise<Store[]> {
  if (STORES[call.store.name].scope === 'fleet') {
    const own = STORES[chosen.name].scope === 'fleet' ? await fallbackOf(call) : undefined;
    return own === undefined ? [] : [own];
  }
  if (call.store.setAt !== undefined || call.stateDir === undefined) return [];
  const names = CREDENTIAL_STORES.filter((name) => name !== chosen.name);
  return Promise.all(names.map((name) => open(call, name, false)));
}

/** Returns the records that hold this token. Whoever it was minted for, it ends for all of them at once. */
export async function withSameValue(held: readonly HeldToken[], value: string): Promise<HeldToken[]> {
  const same = await Promise.all(
    held.map(async (one) => {
      // A record that cannot be read counts as another token.
      const token = await one.value().catch((error: unknown) => {
        if (!(error instanceof GraphException)) throw error;
      });
      return token?.reveal() === value;
    }),
  );
  return held.filter((_, index) => same[index]);
}
