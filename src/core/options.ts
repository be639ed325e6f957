import type { Endpoints } from './endpoints.js';
import type { GraphException } from './errors.js';
import type { ProxyOptions, RequestEvent, TlsOptions } from './http.js';
import type { Sensitive } from './sensitive.js';

/** Where, as whom and how. Credentials may be plain strings or `Sensitive`. */
export interface ConnectionOptions extends Endpoints {
  readonly graph?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | Sensitive | undefined;
  /** Logs in at a 4.x service server, and mints, where no password is given. */
  readonly secret?: string | Sensitive | undefined;
  readonly apiToken?: string | Sensitive | undefined;
  /** `auto`, `3` (3.5 or later), `4`, or a number like `3.10.1`. */
  readonly serverVersion?: string | undefined;
  /** What an earlier detection found (`ServerVersion.version`); used while `serverVersion` is `auto`. */
  readonly knownVersion?: string | undefined;
  /** For each call of a method as a whole, however many requests it takes; 30 s when absent. */
  readonly timeoutMs?: number | undefined;
  /** For all calls of all connections that are given the same object, beside the limit of each. No limit when absent. */
  readonly timeLeft?: TimeLeft | undefined;
  readonly tls?: TlsOptions | undefined;
  readonly proxy?: ProxyOptions | undefined;
  readonly userAgent?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when a request sets out. */
  readonly onStart?: (() => void) | undefined;
  /** Told of every request when it has ended. */
  readonly onRequest?: ((event: RequestEvent) => void) | undefined;
}

/** What requests may still take together, in milliseconds. Each one takes its time from it. */
export interface TimeLeft {
  ms: number;
}

export interface MintOptions {
  /** Without it, user name and password are used. */
  readonly secret?: string | Sensitive | undefined;
  /** Seconds; 2,592,000 (30 days) when absent. Always sent. */
  readonly lifetime?: number | undefined;
  /** `ms` for a 4.x server known to count the lifetime in milliseconds. */
  readonly lifetimeUnit?: 's' | 'ms' | undefined;
}

export interface GetTokenOptions extends MintOptions {
  /** Make the new token the connection's own; true when absent. */
  readonly setToken?: boolean | undefined;
}

export interface RenewOptions {
  readonly secret?: string | Sensitive | undefined;
  /** Seconds from now; 2,592,000 when absent. */
  readonly lifetime?: number | undefined;
  /** The connection's own token when absent. */
  readonly token?: string | Sensitive | undefined;
}

export interface RefreshTokenOptions extends RenewOptions {
  /** Make the token the connection's own; true when absent. */
  readonly setToken?: boolean | undefined;
}

export interface DeleteTokenOptions {
  /** The connection's own token when absent. */
  readonly token?: string | Sensitive | undefined;
  /** Count a token the server does not know as deleted. */
  readonly skipNA?: boolean | undefined;
}

/** Times are Unix seconds. */
export interface MintedToken {
  readonly token: string;
  readonly expiresAtUnix: number;
  readonly grantedSeconds: number;
  readonly serverTimeUnix: number;
  readonly serverText: string;
}

/** What became of each alias; `failed` ends the work, so aliases after it are in none of the lists. */
export interface DropResult {
  readonly dropped: string[];
  readonly missing: string[];
  readonly failed?: { readonly alias: string; readonly error: unknown };
}

export interface RawOptions {
  readonly body?: string | undefined;
  /** Return an answer that refuses the credential, with the error in `refusal`, instead of throwing it. */
  readonly keepRefusal?: boolean | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Why the server did not take the credential; only with `keepRefusal`. */
  readonly refusal?: GraphException;
}
