import type { Servers } from '../endpoints.js';
import type { GraphException } from '../errors.js';
import type { Authorization, Exchange, HttpRequest } from '../http/types.js';
import type { BoundCredential, GivenCredential, Sensitive } from '../sensitive.js';
import type { ServerVersion } from './version.js';

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

/** A token as the server gave it. Times are Unix seconds. */
export interface IssuedToken {
  readonly token: Sensitive;
  readonly expiresAtUnix: number;
  /** Seconds of life that the server granted, counted from the time of issue. */
  readonly grantedSeconds: number;
  /** The time of the answer by the server's clock (its `Date` header), else by this machine's. */
  readonly serverTimeUnix: number;
  /** Returns the expiry as the server wrote it, without credentials; empty when it gave none. */
  readonly serverText: () => string;
}

export interface MintRequest {
  /** The secret to mint from. Without it, the connection's user name and password are used. */
  readonly secret: BoundCredential | undefined;
  /** The lifetime to ask for, in seconds. */
  readonly lifetime: number;
  /** The unit in which this 4.x server counts lifetimes: seconds, unless it is known to count milliseconds. */
  readonly lifetimeUnit: 's' | 'ms';
}

export interface RefreshRequest {
  readonly token: BoundCredential;
  readonly secret: BoundCredential | undefined;
  /** The lifetime to ask for, in seconds from now. */
  readonly lifetime: number;
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

/**
 * The operations of one generation of servers. Where `refreshToken` is missing, these servers cannot refresh tokens.
 */
export interface Protocol {
  listSecrets(): Promise<Secret[]>;
  /** With an empty alias the server generates one; with `wantAlias` the generated alias is found out. */
  createSecret(alias: string, wantAlias: boolean): Promise<NewSecret>;
  dropSecret(alias: string): Promise<'dropped' | 'missing'>;
  mintToken(request: MintRequest): Promise<IssuedToken>;
  refreshToken?(request: RefreshRequest): Promise<IssuedToken>;
  deleteToken(token: BoundCredential, secret: BoundCredential | undefined): Promise<'deleted' | 'missing'>;
  checkToken(token: BoundCredential): Promise<TokenCheck>;
  /** Returns the login for the GSQL server. Throws USAGE when there is none. */
  serviceLogin(): Authorization;
  /** Returns what `getToken` returns: three elements on 3.x, two on 4.x. */
  tokenTuple(issued: IssuedToken): TokenTuple;
}

/** On 3.x: token, expiry as Unix time, expiry as ISO 8601. On 4.x: token, expiry as the server wrote it. */
export type TokenTuple =
  | [token: string, expiresAtUnix: number, expiresAtIso: string]
  | [token: string, serverText: string];

/** The part of a request that an operation decides; the connection adds the rest. */
export type Call = Omit<HttpRequest, 'base' | 'servers' | 'hide'>;

/** A connection whose server's version is known: what its operations and the protocol work with. */
export interface Session {
  readonly protocol: Protocol;
  readonly version: ServerVersion;
  readonly servers: Servers;
  readonly graph: string | undefined;
  /** Graphs that `USE GRAPH` has already accepted on this connection (3.x). */
  readonly graphsSeen: Set<string>;
  readonly secret: BoundCredential | undefined;
  /** Whose secrets are meant; undefined for those of the login. */
  readonly secretsOf: string | undefined;
  /** Returns the connection's current token. */
  token(): BoundCredential | undefined;
  /** Returns the secret given, else the connection's own if there is no password. */
  secretOr(given: GivenCredential | undefined): BoundCredential | undefined;
  /** Returns the token given, else the connection's own. Throws USAGE when there is neither. */
  tokenOr(given: GivenCredential | undefined, verb: string): BoundCredential;
  /**
   * Returns the login with user name and password; undefined when there is no password. Throws USAGE for a user name
   * that cannot log in.
   */
  basicLogin(): Authorization | undefined;
  /** Asks the server for its version when that was only given. Throws USAGE unless the server is of that generation. */
  confirmVersion(): Promise<void>;
  /** Sends a request, completed with the base URL and the settings of the connection. */
  ask(call: Call): Promise<Exchange>;
}
