import type { Servers } from '../endpoints.js';
import type { BoundCredential } from '../sensitive.js';

/** How a TLS connection is checked. Certificates and keys are PEM texts, not file names. */
export interface TlsOptions {
  /** CA certificates that are trusted instead of Node's and the system's. */
  readonly ca?: string | undefined;
  /** The client's certificate. */
  readonly cert?: string | undefined;
  /** The key of the client's certificate. */
  readonly key?: string | undefined;
  /** Accept any certificate. */
  readonly insecure?: boolean | undefined;
}

/** What HTTP_PROXY, HTTPS_PROXY and NO_PROXY hold. Loopback addresses never go through a proxy. */
export interface ProxyOptions {
  /** Proxy for http addresses. */
  readonly http?: string | undefined;
  /** Proxy for https addresses. */
  readonly https?: string | undefined;
  /** Hosts that are reached without a proxy, separated by commas. */
  readonly noProxy?: string | undefined;
}

/** A finished request, passed to `onRequest`. Holds no query, header or body. */
export interface RequestEvent {
  /** Which of the two servers was asked. */
  readonly server: 'rest' | 'service';
  /** HTTP method. */
  readonly method: string;
  /** The path without its query. */
  readonly path: string;
  /** HTTP status; undefined when no answer came. */
  readonly status: number | undefined;
  /** The time by the server's clock, in seconds since 1970; undefined when it told none. */
  readonly serverTimeUnix: number | undefined;
  /** Milliseconds from the start of the request to the end of the answer. */
  readonly ms: number;
}

/** The login of a request; `send` makes a header from it. */
export interface Authorization {
  readonly scheme: 'Basic' | 'Bearer' | 'GSQL-Secret';
  readonly credential: BoundCredential;
  /** The user name, for Basic authentication only. */
  readonly username?: string;
}

/** Named values to send, some of which may be credentials. Undefined values are left out. */
export type Fields = Readonly<Record<string, string | BoundCredential | undefined>>;

export type Operation =
  | 'find-version'
  | 'list-secrets'
  | 'create-secret'
  | 'drop-secret'
  | 'mint'
  | 'refresh'
  | 'delete'
  | 'check';

/** A request before it is sent. Only `send` turns the credentials in it into text. */
export interface HttpRequest {
  readonly server: 'rest' | 'service';
  /** The pair of base URLs in force. Without it no credential is sent. */
  readonly servers?: Servers | undefined;
  /** Base URL without a trailing slash: one of the pair. */
  readonly base: string;
  readonly method: string;
  /** Starts with a slash; may have a query. Holds no credential. */
  readonly path: string;
  readonly query?: Fields | undefined;
  /** Sent as a JSON object, in place of `body`. */
  readonly json?: Fields | undefined;
  /** The type of a body is JSON where no header names it. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly authorization?: Authorization | undefined;
  /** Bytes or a text without a credential, or the credential alone. */
  readonly body?: string | Uint8Array | BoundCredential | undefined;
  readonly operation?: Operation | undefined;
  /** Names that users chose: graph, user, alias. The meaning of a message that repeats them does not depend on them. */
  readonly names?: readonly string[] | undefined;
  /** Credentials that are not sent but that the server may know. They too are removed from its messages. */
  readonly hide?: readonly (BoundCredential | undefined)[] | undefined;
  /** The largest answer to read, in bytes; 1 MiB when absent. */
  readonly maxBytes?: number | undefined;
}

export interface HttpReply {
  readonly status: number;
  /** Names are in lower case. Cookies are left out, because the GSQL server puts the login into them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The same as it was sent. */
  readonly bytes?: Uint8Array;
  /** The time of the answer by the server's clock (`Date` header), where it told that; Unix seconds. */
  readonly serverTimeUnix?: number | undefined;
}

export interface Exchange {
  readonly request: HttpRequest;
  readonly reply: HttpReply;
}

export type Send = (request: HttpRequest) => Promise<HttpReply>;
