import type { Level } from '../config/keys.js';
import type { Servers } from '../core/endpoints.js';
import type { Sensitive } from '../core/sensitive.js';

/** A JWT of an identity provider is a token as it is; a secret and a password mint one. */
export type CredentialKind = 'jwt' | 'secret' | 'password';

export interface CredentialSource {
  readonly kind: CredentialKind;
  readonly level: Level | 'store' | 'prompt';
  /**
   * Where the credential was set, for messages: `--password-stdin`, `GRAPHCRED_SECRET`, `profile prod: secretCommand`.
   */
  readonly label: string;
  /**
   * Identifies the value without reading it, where reading is slow: the words of the command, the name of the saved
   * secret.
   */
  readonly reference?: string;
  /** The user whose secret or password it is, when the source knows. */
  readonly username?: string | undefined;
  /** The owner of a saved credential, as its record names it. */
  readonly owner?: string;
  /** The `secretAlias` that names a saved secret in a profile: its alias if its user is known, else its id. */
  readonly savedAs?: string;
  /** The pair of base URLs that a saved credential belongs to; undefined for any other, which belongs to the pair in force. */
  readonly servers?: Servers | undefined;
  read(): Promise<Sensitive>;
}

/** The credential of this run. Its value is read once: when something is about to be sent, or to tell whose it is. */
export interface Credential extends CredentialSource {
  /** Whose credentials are saved together with this one: the user, or a secret whose user is not known. */
  readonly owner: string;
  /** Identifies the owner of the tokens minted with it. Never holds the value or enough of its hash to guess it. */
  readonly principal: string;
}

/** Whether it is itself the token of the run: a JWT whose value is at hand. That of a program or a provider is cached. */
export function isTokenItself({ kind, reference }: CredentialSource): boolean {
  return kind === 'jwt' && reference === undefined;
}

/** What the credential is for. A mint prefers a JWT, then a secret; a login prefers a password, then a JWT. */
export type Purpose = 'mint' | 'login';

/** Returns whose it is, as records of the store name it. */
export function ownerInfo(of: Pick<Credential, 'username' | 'owner'>): Record<string, string> {
  return of.username === undefined ? { owner: of.owner } : { username: of.username };
}

/**
 * Identifies a secret by what it is: a fingerprint of its value. 48 bits of the hash are enough to tell a person's
 * secrets apart, and far too few to guess a secret from.
 */
export function secretId(secret: Sensitive): string {
  return `secret:${fingerprint(secret)}`;
}

export function fingerprint(value: Sensitive): string {
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha256').update(value.reveal()).digest('hex').slice(0, 12);
}

/** Makes a function that does its work once for each first argument, and then gives the same result. */
export function once<A extends readonly unknown[], V>(work: (...args: A) => V): (...args: A) => V {
  const results = new Map<unknown, V>();
  return (...args) => {
    const result = results.has(args[0]) ? (results.get(args[0]) as V) : work(...args);
    results.set(args[0], result);
    return result;
  };
}
