import type { Servers } from '../endpoints.js';
import type { Operation } from '../protocol/refusal-table.js';
import type { BoundCredential } from '../sensitive.js';

/** PEM texts, not files. */
export interface TlsOptions {
  /** Trusted instead of the system's roots. */
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
  /** Without the query. */
  readonly path: string;
  /** HTTP status; undefined when no answer came. */
  readonly status: number | undefined;
  /** Milliseconds from the start of the request to the end of the answer. */
  readonly ms: number;
}

/** How requests travel; the same for all requests of a connection. */
export interface HttpSettings {
  /** For all requests of a call together: connecting, sending, and the last byte of the answer. */
  readonly timeoutMs: number;
  readonly timeLeft: TimeLeft | undefined;
  readonly tls: TlsOptions;
  readonly proxy: ProxyOptions | undefined;
  readonly userAgent: string;
  readonly signal: AbortSignal | undefined;
  readonly onStart: (() => void) | undefined;
  readonly onRequest: ((event: RequestEvent) => void) | undefined;
}

/** What logs in; `send` makes the header of it. */
export interface Authorization {
  readonly scheme: 'Basic' | 'Bearer' | 'GSQL-Secret';
  readonly credential: BoundCredential;
  /** For Basic. */
  readonly username?: string;
}

/** Named values to send, credentials among them. What is undefined is left out. */
export type Fields = Readonly<Record<string, string | BoundCredential | undefined>>;

/** A request as described; only `send` turns the credentials in it into text. */
export interface HttpRequest {
  readonly server: 'rest' | 'service';
  /** The pair of base URLs in force. Without it no credential is sent. */
  readonly servers?: Servers | undefined;
  /** Base URL without a trailing slash: one of the pair. */
  readonly base: string;
  readonly method: string;
  /** Starts with a slash; may have a query. Holds no credential. */
  readonly path: string;
  /** Sent in the query. */
  readonly query?: Fields | undefined;
  /** Sent as a JSON object, in place of `body`. */
  readonly json?: Fields | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly authorization?: Authorization | undefined;
  /** Holds no credential. */
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  readonly operation?: Operation | undefined;
  /** What users chose and the server may repeat: graph, user, alias. They tell nothing of what it says. */
  readonly names?: readonly string[] | undefined;
  /** Credentials that the server may know though they are not sent; they too are cut out of what it says. */
  readonly hide?: readonly (BoundCredential | undefined)[] | undefined;
  /** Whether it leaves everything as it was, so that a lost answer loses nothing. By the method when absent. */
  readonly readOnly?: boolean | undefined;
  /** Bytes of answer read at most; 1 MiB when absent. */
  readonly maxBytes?: number | undefined;
}

export interface HttpReply {
  readonly status: number;
  /** Lower-case names; cookies are left out, for the GSQL server puts the login into them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The server's clock (`Date` header), else ours; Unix seconds. */
  readonly timeUnix: number;
}

/** What requests may still take together, in milliseconds. Each one takes its time from it. */
export interface TimeLeft {
  /** Milliseconds left. */
  ms: number;
}
