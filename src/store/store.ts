import type { Sensitive } from '../core/sensitive.js';

export type StoreName = 'keychain' | 'file' | 'none';

/** What may be written down in plain text about a kept value: never the value itself. */
export interface StoreRecord {
  /** Version of the record's format. A record with a higher one is left alone and counts as absent. */
  readonly v: 1;
  readonly kind: 'token' | 'secret' | 'password';
  /**
   * Everything that decides whether this is the right entry, as one line of readable text; also the item's
   * account in the OS keychain, where a person may read it. No two entries share a key, whatever their kind.
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
  /** Throws what the next read or write would throw if this store cannot be used now. Changes nothing that is kept. */
  check(): Promise<void>;
  /** Every record of this store, in no order. Never opens the keychain. Unreadable records are skipped. */
  list(): StoreRecord[];
}

/** How the store reaches the OS keychain. */
export interface KeychainOptions {
  readonly platform: NodeJS.Platform;
  /** The process's environment: where the session bus is, and what a child process is started with. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True when a person can see and answer a desktop prompt: a terminal, and a display. */
  readonly mayPrompt: boolean;
  /** Starts this program as a keychain child, which then calls `runKeychainChild` of keychain-child.ts. */
  readonly child: { readonly command: string; readonly args: readonly string[] };
  /** Shown to the person at once, and before the process may be killed: must write synchronously. */
  notify(message: string): void;
  /** Values too long for one entry of the keychain are split. Default: on Windows. */
  readonly split?: boolean;
  /** How long to wait for an answer to an operation that should not prompt, in ms. Default 5000. */
  readonly answerMs?: number;
  /** How long to wait for a person to answer the desktop's prompt, in ms. Default 60000. */
  readonly promptMs?: number;
}

export interface StoreOptions {
  /** Where records live, `$XDG_STATE_HOME/graphcred`. Made on the first write, mode 0700. */
  readonly stateDir: string;
  /** Where the generated key of the file store lives, `$XDG_CONFIG_HOME/graphcred`. */
  readonly configDir: string;
  /** Key of the file store: 32 bytes in base64. Goes before `storeKeyFile`. */
  readonly storeKey?: Sensitive | undefined;
  /** File holding such a key. */
  readonly storeKeyFile?: string | undefined;
  readonly keychain: KeychainOptions;
  /** One line about an entry that had to be passed over; the caller prints it. */
  warn(message: string): void;
}
