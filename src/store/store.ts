import type { Servers } from '../core/endpoints.js';
import type { GraphException } from '../core/errors.js';
import type { Sensitive } from '../core/sensitive.js';
import type { RedisOptions } from './redis/url.js';

/** What each store is for. One that is shared serves many machines; a person is asked to unlock one that is locked. */
export const STORES = {
  keychain: { keeps: { tokens: true, credentials: true }, isShared: false, canBeLocked: true },
  file: { keeps: { tokens: true, credentials: true }, isShared: false, canBeLocked: false },
  redis: { keeps: { tokens: true, credentials: false }, isShared: true, canBeLocked: false },
  none: { keeps: { tokens: false, credentials: false }, isShared: false, canBeLocked: false },
} as const;

export type StoreName = keyof typeof STORES;

export const STORE_NAMES = Object.keys(STORES) as readonly StoreName[];

/** Those of this machine, whose records are files here. */
export const MACHINE_STORES = STORE_NAMES.filter(
  (name) => STORES[name].keeps.tokens && !STORES[name].isShared,
);
/** Those through which machines share tokens. */
export const SHARED_STORES: readonly string[] = STORE_NAMES.filter((name) => STORES[name].isShared);

interface Where extends Servers {
  readonly host: string;
  /** Null for any graph. */
  readonly graph: string | null;
  /** What is half done: by a run that was killed, or by a server whose answer was lost. */
  readonly unfinished?: 'write' | 'delete' | 'refresh';
}

/** Whose an entry is: a user's, or that of a secret whose user is not known. */
interface Owner {
  readonly username?: string;
  readonly owner?: string;
}

interface TokenInfo extends Where, Owner {
  readonly principal: string;
  /** The life that was asked for, or the one granted where that is another, in seconds. */
  readonly lifetime: number;
  readonly serverVersion: string;
  /** By this machine's clock; not there in a fleet's store where that is not known. */
  readonly requestedAtMs?: number | undefined;
  /** Set for a JWT of an identity provider, which the database cannot delete. */
  readonly issuedBy?: 'provider';
  /** How far the server's clock was ahead of this machine's, in seconds. */
  readonly clockAheadSeconds?: number;
}

interface SecretInfo extends Where, Owner {
  readonly id: string;
  readonly alias?: string;
  /** The alias whose rotation made this secret, and the mask of the value it replaces, while the rotation is not finished. */
  readonly rotationOf?: string;
  readonly replaces?: string;
  /** The id under which profiles name it: of the first value, when it was rotated since. */
  readonly origin?: string;
}

interface PasswordInfo extends Where {
  readonly username: string;
}

/** A refresh token of an identity provider. */
interface LoginInfo extends PasswordInfo {
  readonly issuer: string;
  readonly clientId: string;
}

/** The part of an entry that is stored in plain text: never a credential. */
interface RecordOf<K extends string, I> {
  /** Version of the record's format. A record with a higher one is left alone and counts as absent. */
  readonly v: 1;
  readonly kind: K;
  /** The identity of the entry as a line of text, which no other has; also the item's account in the OS keychain. */
  readonly key: string;
  readonly store: StoreName;
  readonly createdAtUnix: number;
  /** Only a token has an end that is known here. */
  readonly expiresAtUnix?: number | undefined;
  readonly info: I;
}

export interface TokenRecord extends RecordOf<'token', TokenInfo> {
  /** Seconds since 1970, by this machine's clock. */
  readonly expiresAtUnix: number;
}
export type SecretRecord = RecordOf<'secret', SecretInfo>;
export type PasswordRecord = RecordOf<'password', PasswordInfo>;
export type LoginRecord = RecordOf<'login', LoginInfo>;
export type CredentialRecord = SecretRecord | PasswordRecord | LoginRecord;
export type StoreRecord = TokenRecord | CredentialRecord;

/** Stores values; callers decide on expiry and identity. A failure throws STORE_UNAVAILABLE or STORE_LOCKED. */
export interface Store {
  readonly name: StoreName;
  /**
   * Returns records, in no order: every one; or that of a key, or those of an identity's tokens, of which a fleet's store
   * gives the newest. Never opens the keychain. Unreadable records are skipped.
   */
  list(keyOrIdentity?: string): Promise<StoreRecord[]>;
  /** Returns the value that belongs to a record; `undefined` when it has vanished or cannot be decrypted. */
  get(record: StoreRecord): Promise<Sensitive | undefined>;
  /**
   * Stores a record and its value, replacing older ones: the record first, so that whatever is stored is listed.
   * @param lock under which a token was minted. If a fleet's was lost, and its new holder has stored a token, that one
   * stays the newest
   */
  put(record: StoreRecord, value: Sensitive, lock?: Lock): Promise<void>;
  /** Deletes the value, then the record. False when there was nothing. */
  delete(key: string): Promise<boolean>;
  /**
   * Waits until this process alone may ask the server for the token of an identity. Returns undefined when another
   * process has stored a usable record meanwhile. Throws the error that another process met since, LOCK_TIMEOUT or
   * STORE_UNAVAILABLE.
   */
  lock(identity: string, options: LockOptions): Promise<Lock | undefined>;
  /** Throws the error that the next `get` or `put` would throw. It changes no stored value. */
  check(): Promise<void>;
}

export const noneStore: Store = {
  name: 'none',
  list: async () => [],
  get: async () => undefined,
  put: async () => {},
  delete: async () => false,
  lock: async () => ({ refuse: async () => {}, release: async () => {} }),
  check: async () => {},
};

/** The right to mint the token of a key. No other process that shares the store has it at the same time. */
export interface Lock {
  /** By what a fleet's store knows this lock, and how many it has given before. */
  readonly lease?: { readonly nonce: string; readonly generation: number };
  /** Tells the waiting processes that the server refused. Never throws. */
  refuse(refusal: GraphException): Promise<void>;
  /** Lets another process have the lock. Never throws. */
  release(): Promise<void>;
}

export interface LockOptions {
  /** How long to wait for another process, in ms. */
  readonly waitMs: number;
  /** When this call began, ms since 1970. */
  readonly since: number;
  now(): number;
  /** Whether a record that another process wrote meanwhile makes the lock unnecessary. */
  accepts(record: TokenRecord): boolean;
}

export interface KeychainOptions {
  readonly platform: NodeJS.Platform;
  /** True when a person can see and answer a desktop prompt: a terminal, and a display. */
  readonly mayPrompt: boolean;
  /** Starts this program as its own keychain helper, which then calls `runKeychainHelper` of keychain/helper.ts. */
  readonly keychainHelper: { readonly command: string; readonly args: readonly string[] };
  /** The environment for another program: without credentials. It says where the session bus is. */
  childEnvironment(): Readonly<Record<string, string | undefined>>;
}

export interface StoreOptions {
  /** The folder of the records, `$XDG_STATE_HOME/graphcred`. It is created by the first write, with mode 0700. */
  readonly stateDir: string;
  /** The folder of the file store's generated key, `$XDG_CONFIG_HOME/graphcred`. */
  readonly configDir: string;
  /** Reads the key that was given for the stores `file` and `redis`: 32 bytes in base64. Undefined when none was. */
  storeKey(): Promise<Sensitive | undefined>;
  readonly keychain: KeychainOptions;
  /** Called for the store `redis` only. Undefined when no setting names a server. */
  redis?(): Promise<RedisOptions | undefined>;
  /** Shows a line to the person. It must write synchronously, because the process may be killed right after. */
  warn(message: string): void;
}
