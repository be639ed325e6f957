import type { HttpReply, HttpRequest } from './http.js';
import type { Sensitive } from './sensitive.js';

/** A = 3.0 to 3.4, B = 3.5 to 3.11, C = 4.x. */
export type Generation = 'A' | 'B' | 'C';

export interface ServerVersion {
  readonly generation: Generation;
  /** As the server said it, for example `3.10.1`; `3` or `4` when only that much is known. */
  readonly version: string;
}

/** A secret as lists show it: never its value. */
export interface Secret {
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
  /** Life the server granted, counted from the moment of issue. */
  readonly grantedSeconds: number;
  /** The server's clock when it answered (its `Date` header), else ours. */
  readonly serverTimeUnix: number;
  /** The end of the token in the server's own words; empty when it said nothing. */
  readonly serverText: string;
}

export interface MintRequest {
  /** Without it the connection's user name and password are used. */
  readonly secret: Sensitive | undefined;
  /** Seconds. */
  readonly lifetime: number;
  /** The unit this 4.x server counts in, when it is known not to be seconds. */
  readonly lifetimeUnit: 's' | 'ms';
}

interface RefreshRequest {
  readonly token: Sensitive;
  readonly secret: Sensitive | undefined;
  /** Seconds, counted from now. */
  readonly lifetime: number;
}

export interface TokenCheck {
  readonly accepted: boolean;
  /** Why not, in the server's words. */
  readonly reason?: string;
}

/**
 * What one generation of servers can do, neutral of how. A missing `refreshToken` means that these servers
 * have no such thing.
 */
export interface Protocol {
  readonly restUrl: string;
  listSecrets(): Promise<Secret[]>;
  /** An empty alias asks the server for a generated one; `wantAlias` asks to find out which. */
  createSecret(alias: string, wantAlias: boolean): Promise<NewSecret>;
  dropSecret(alias: string): Promise<'dropped' | 'missing'>;
  mintToken(request: MintRequest): Promise<IssuedToken>;
  refreshToken?(request: RefreshRequest): Promise<IssuedToken>;
  deleteToken(token: Sensitive, secret: Sensitive | undefined): Promise<'deleted' | 'missing'>;
  checkToken(token: Sensitive): Promise<TokenCheck>;
  /** The authorization header for the service server; a GraphException USAGE when there is no login for it. */
  serviceLogin(): Sensitive;
  /** The tuple of interface.md section 9. */
  tokenTuple(issued: IssuedToken): TokenTuple;
}

/** 3.x: token, expiry as Unix time, expiry as ISO 8601. 4.x: token, expiry in the server's own words. */
export type TokenTuple =
  | [token: string, expiresAtUnix: number, expiresAtIso: string]
  | [token: string, serverText: string];

/** Everything a protocol may use of its connection. */
export interface Session {
  readonly version: ServerVersion;
  readonly serviceUrl: string;
  readonly restUrl: string;
  readonly graph: string | undefined;
  readonly username: string | undefined;
  readonly password: Sensitive | undefined;
  readonly secret: Sensitive | undefined;
  /** The connection's token at this moment. */
  token(): Sensitive | undefined;
  send(request: HttpRequest): Promise<HttpReply>;
}
