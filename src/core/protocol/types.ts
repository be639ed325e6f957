import type { Servers } from '../endpoints.js';
import type { Authorization, HttpReply, HttpRequest } from '../http/types.js';
import type { BoundCredential, Sensitive } from '../sensitive.js';
import type { ServerVersion } from './version.js';

export type { Generation, ServerVersion } from './version.js';

/** A secret as lists show it: never its value. */
export interface Secret {
  /** Its name. */
  readonly alias: string;
  /** First three characters, `****`, last three. */
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
  /** The server's clock when it answered (its `Date` header), else ours. */
  readonly serverTimeUnix: number;
  /** The end of the token in the server's own words; empty when it said nothing. */
  readonly serverText: string;
}

export interface MintRequest {
  /** Without it the connection's user name and password are used. */
  readonly secret: BoundCredential | undefined;
  /** Seconds. */
  readonly lifetime: number;
  /** The unit this 4.x server counts in, when it is known not to be seconds. */
  readonly lifetimeUnit: 's' | 'ms';
}

interface RefreshRequest {
  readonly token: BoundCredential;
  readonly secret: BoundCredential | undefined;
  /** Seconds, counted from now. */
  readonly lifetime: number;
}

/** What the server says of a token. */
export interface TokenCheck {
  /** Whether the server accepts it. */
  readonly accepted: boolean;
  /** Why not, in the server's words. */
  readonly reason?: string;
}

/**
 * What one generation of servers can do, neutral of how. A missing `refreshToken` means that these servers
 * have no such thing.
 */
export interface Protocol {
  listSecrets(): Promise<Secret[]>;
  /** An empty alias asks the server for a generated one; `wantAlias` asks to find out which. */
  createSecret(alias: string, wantAlias: boolean): Promise<NewSecret>;
  dropSecret(alias: string): Promise<'dropped' | 'missing'>;
  mintToken(request: MintRequest): Promise<IssuedToken>;
  refreshToken?(request: RefreshRequest): Promise<IssuedToken>;
  deleteToken(token: BoundCredential, secret: BoundCredential | undefined): Promise<'deleted' | 'missing'>;
  checkToken(token: BoundCredential): Promise<TokenCheck>;
  /** What logs in at the GSQL server. Throws USAGE when there is no login for it. */
  serviceLogin(): Authorization;
  /** What `getToken` returns: three elements on 3.x, two on 4.x. */
  tokenTuple(issued: IssuedToken): TokenTuple;
}

/** 3.x: token, expiry as Unix time, expiry as ISO 8601. 4.x: token, expiry in the server's own words. */
export type TokenTuple =
  | [token: string, expiresAtUnix: number, expiresAtIso: string]
  | [token: string, serverText: string];

/** What an operation says of its request; the connection adds the rest. */
export type Call = Omit<HttpRequest, 'base' | 'servers' | 'hide'>;

/** Everything a protocol may use of its connection. */
export interface Session {
  readonly version: ServerVersion;
  readonly servers: Servers;
  readonly graph: string | undefined;
  /** Graphs that this connection has chosen with success (3.x). */
  readonly graphsSeen: Set<string>;
  readonly username: string | undefined;
  readonly password: BoundCredential | undefined;
  readonly secret: BoundCredential | undefined;
  /** The connection's token at this moment. */
  token(): BoundCredential | undefined;
  /** User name and password, or undefined when there is no password. Throws USAGE for a user name that cannot log in. */
  basicLogin(): Authorization | undefined;
  /** A request to one of the two servers, with all that follows from the connection. */
  request(call: Call): HttpRequest;
  send(request: HttpRequest): Promise<HttpReply>;
}
