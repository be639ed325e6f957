import type { Endpoints } from './endpoints.js';
import type { GraphException } from './errors.js';
import type { ProxyOptions, RequestEvent, TlsOptions } from './http/types.js';
import type { ServerVersion } from './protocol/version.js';
import type { GivenCredential } from './sensitive.js';
import type { Deadline } from './time.js';

/** `AbortSignal`, looked up so that these types need neither `dom` nor `@types/node`. */
type Signal = typeof globalThis extends { AbortSignal: { prototype: infer S } } ? S : never;

/**
 * The servers, the user, and how to connect. A credential may be a plain string or `Sensitive`, which belongs to this
 * connection's servers, or a `BoundCredential`, which is refused (HOST_MISMATCH) when its servers are others.
 */
export interface ConnectionOptions extends Endpoints {
  /** The graph that secrets and tokens are for. 3.x needs it for secrets, and to mint by password. */
  readonly graph?: string | undefined;
  /** The user of the database; belongs to `password`. */
  readonly username?: string | undefined;
  /** Logs in at the GSQL server. */
  readonly password?: GivenCredential | undefined;
  /** Logs in at the GSQL server of 3.6.2 and later, and mints, where no password is given. */
  readonly secret?: GivenCredential | undefined;
  /** Whose secrets are listed, made and dropped, when not the login's own (4.1 and later, administrators). */
  readonly secretsOf?: string | undefined;
  /** The bearer token of `rest()`; see the field `apiToken` of the connection. */
  readonly apiToken?: GivenCredential | undefined;
  /**
   * A JWT of an identity provider, in place of `apiToken`: the bearer token of `rest()` on 3.10 and later, and on 4.1.2
   * and later also the login at the GSQL server where neither password nor secret is given. pyTigerGraph calls it the
   * same. It is used as it is and never renewed: make a new connection, or set `apiToken`.
   */
  readonly jwtToken?: GivenCredential | undefined;
  /** `auto`, `3` (3.5 or later), `4`, or a number like `3.10.1`. */
  readonly serverVersion?: string | undefined;
  /** The version that an earlier connection detected; used while `serverVersion` is `auto`. */
  readonly knownVersion?: string | undefined;
  /**
   * Called with every version that the server reports, so that it can be stored for `knownVersion`, and with undefined
   * when an answer does not fit `knownVersion`: the next call asks. An error that one of these callbacks throws is ignored.
   */
  readonly onVersion?: ((version: ServerVersion | undefined) => void) | undefined;
  /** The time limit of each method call with all its requests; 30 s when absent. A token that `rest()` waits for has its own. */
  readonly timeoutMs?: number | undefined;
  /** In place of `timeoutMs`: a time limit that all calls of all connections share which are given the same object. */
  readonly deadline?: Deadline | undefined;
  /** Certificates for https. */
  readonly tls?: TlsOptions | undefined;
  /** Proxies to go through; none when absent, whatever the environment says. */
  readonly proxy?: ProxyOptions | undefined;
  /** When it is aborted, a call in progress ends with CANCELLED. */
  readonly signal?: Signal | undefined;
  /** Called before each request is sent. */
  readonly onStart?: (() => void) | undefined;
  /** Called after each request. */
  readonly onRequest?: ((event: RequestEvent) => void) | undefined;
}

/** What a token is minted from, and for how long. */
export interface MintOptions {
  /** Without it, user name and password are used. */
  readonly secret?: GivenCredential | undefined;
  /** Seconds; 2,592,000 (30 days) when absent. Always sent. */
  readonly lifetime?: number | undefined;
  /**
   * The unit in which this 4.x server was last seen to count lifetimes; seconds when absent. If the life that it grants
   * shows the other unit, a second token is minted in that one.
   */
  readonly lifetimeUnit?: 's' | 'ms' | undefined;
  /** Called with the unit when a second mint has shown it, so that it can be stored for `lifetimeUnit`. */
  readonly onLifetimeUnit?: ((unit: 's' | 'ms') => void) | undefined;
  /** Told of a second token that could not be minted, or of a first one that could not be revoked. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

/** Options of `getToken`. */
export interface GetTokenOptions extends MintOptions {
  /** Make the new token the connection's own; true when absent. */
  readonly setToken?: boolean | undefined;
}

/** Options of `renewToken`. */
export interface RenewOptions {
  /** The secret that 3.x requires besides the token; the connection's own login when absent. */
  readonly secret?: GivenCredential | undefined;
  /** Seconds from now; 2,592,000 when absent. */
  readonly lifetime?: number | undefined;
  /** The connection's own token when absent. */
  readonly token?: GivenCredential | undefined;
}

/** Options of `refreshToken`. */
export interface RefreshTokenOptions extends RenewOptions {
  /** Make the token the connection's own; true when absent. */
  readonly setToken?: boolean | undefined;
}

/** Options of `deleteToken`. */
export interface DeleteTokenOptions {
  /** The connection's own token when absent. */
  readonly token?: GivenCredential | undefined;
  /** Treat a token that the server does not know as deleted. */
  readonly skipNA?: boolean | undefined;
}

/** Times are Unix seconds. */
export interface MintedToken {
  /** The bearer token. */
  readonly token: string;
  /** When the token expires, by the server's clock. */
  readonly expiresAtUnix: number;
  /** The life that the server granted, in seconds. It may differ from the lifetime asked for. */
  readonly grantedSeconds: number;
  /** The time of the answer by the server's clock, else by this machine's. */
  readonly serverTimeUnix: number;
  /** The expiry as the server wrote it; empty when it gave none. */
  readonly serverText: string;
}

/** Options of `rest` and `service`. */
export interface RawOptions {
  /** Sent as it is. */
  readonly body?: string | Uint8Array | undefined;
  /** Return an answer that refuses the credential, or says that a GSQL statement failed, with the error in `refusal`, instead of throwing it. */
  readonly keepRefusal?: boolean | undefined;
  /** Sent in addition to those of the connection. A header that logs in is refused (USAGE). */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An answer of the server, unchanged. */
export interface RawReply {
  /** HTTP status. */
  readonly status: number;
  /** Names in lower case; cookies are left out. */
  readonly headers: Readonly<Record<string, string>>;
  /** At most 64 MiB, read as UTF-8. */
  readonly body: string;
  /** The same as the server sent it, for what is no text. */
  readonly bytes: Uint8Array;
  /** The error with which the server refused the credential, or a GSQL statement; set only with `keepRefusal`. */
  readonly refusal?: GraphException;
}

/** A secret as lists show it: never its value. */
export interface Secret {
  /** Its name. */
  readonly alias: string;
  /** The value as its first three characters, `****` and its last three. */
  readonly masked: string;
  /** The graph it is bound to (3.x). */
  readonly graph?: string;
}

/** The server's answer to whether it accepts a token. */
export interface TokenCheck {
  /** Whether the server accepts it. */
  readonly accepted: boolean;
  /** Why the server does not accept it, and what to do about it. */
  readonly refusal?: GraphException;
}

/** On 3.x: token, expiry as Unix time, expiry as ISO 8601. On 4.x: token, expiry as the server wrote it. */
export type TokenTuple =
  | [token: string, expiresAtUnix: number, expiresAtIso: string]
  | [token: string, serverText: string];
