import type { GraphException } from '../errors.js';
import type { MintedToken } from '../options.js';
import type { BoundCredential, Sensitive } from '../sensitive.js';
import type { ServerSession } from './session.js';

export type { Generation, ServerVersion } from './version.js';

/** A secret as lists show it: never its value. */
export interface Secret {
  /** Its name. */
  readonly alias: string;
  /** The value as its first three characters, `****` and its last three. */
  readonly masked: string;
  /** The graph it is bound to (3.x). */
  readonly graph?: string;
}

export interface NewSecret {
  /** Empty when the server generated an alias and did not say which. */
  readonly alias: string;
  readonly value: Sensitive;
}

/** The server's answer to whether it accepts a token. */
export interface TokenCheck {
  /** Whether the server accepts it. */
  readonly accepted: boolean;
  /** Why the server does not accept it, as the server wrote it. */
  readonly reason?: string;
  /** The error that says what to do about it. */
  readonly refusal?: GraphException;
}

/** The operations of one generation of servers. */
export interface Protocol {
  listSecrets(session: ServerSession): Promise<Secret[]>;
  /** With an empty alias the server generates one; with `wantAlias` the generated alias is found out. */
  createSecret(session: ServerSession, alias: string, wantAlias: boolean): Promise<NewSecret>;
  dropSecret(session: ServerSession, alias: string): Promise<'dropped' | 'missing'>;
  /**
   * @param secret what to mint from; without it the connection's user name and password are used
   * @param unit the unit in which this 4.x server counts lifetimes: seconds, unless it is known to count milliseconds
   */
  mint(session: ServerSession, secret: Given, lifetime: number, unit: 's' | 'ms'): Promise<MintedToken>;
  /** Missing where servers cannot refresh tokens. */
  refreshToken?(
    session: ServerSession,
    token: BoundCredential,
    secret: Given,
    lifetime: number,
  ): Promise<MintedToken>;
  deleteToken(session: ServerSession, token: BoundCredential, secret: Given): Promise<'deleted' | 'missing'>;
  checkToken(session: ServerSession, token: BoundCredential): Promise<TokenCheck>;
}

type Given = BoundCredential | undefined;

/** On 3.x: token, expiry as Unix time, expiry as ISO 8601. On 4.x: token, expiry as the server wrote it. */
export type TokenTuple =
  | [token: string, expiresAtUnix: number, expiresAtIso: string]
  | [token: string, serverText: string];
