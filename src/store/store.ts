import type { Sensitive } from '../core/sensitive.js';

export type StoreName = 'keychain' | 'file' | 'none';

/** What may be written down in plain text about a kept value: never the value itself. */
export interface StoreRecord {
  /** Version of the record's format. A record with a higher one is left alone and counts as absent. */
  readonly v: 1;
  readonly kind: 'token' | 'secret' | 'password';
  /**
   * Everything that decides whether this is the right entry, as one line of readable text; also the item's
   * account in the OS keychain, where a person may read it.
   */
  readonly key: string;
  readonly store: 'keychain' | 'file';
  readonly createdAtUnix: number;
  /** Seconds since 1970; absent on entries that do not expire (secrets, passwords). */
  readonly expiresAtUnix?: number;
  /** Who, where and what, for lists and for finding related entries. Never a credential. */
  readonly info: Readonly<Record<string, string | number | null>>;
}

/**
 * Where values are kept. No policy inside: expiry, identity, locking and fallback live with the callers.
 * Absence is `undefined` or `false`; failure throws a GraphException with STORE_UNAVAILABLE or STORE_LOCKED;
 * deleting what is not there is not an error.
 */
export interface Store {
  readonly name: StoreName;
  /** The record of a key, if this store holds one. Reads a small file; never opens the keychain. */
  find(key: string): StoreRecord | undefined;
  /** The value that belongs to a record; `undefined` when it has vanished or cannot be decrypted. */
  read(record: StoreRecord): Promise<Sensitive | undefined>;
  /** Keeps value and record, replacing what was there: the value first, the record last. */
  write(record: StoreRecord, value: Sensitive): Promise<void>;
  /** Removes the value, then the record. False when there was nothing. */
  remove(key: string): Promise<boolean>;
  /** Every record of this store, in no order. Never opens the keychain. Unreadable records are skipped. */
  list(): StoreRecord[];
}
