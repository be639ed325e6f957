import type { Sensitive } from './sensitive.js';

/** PEM texts, not files. */
export interface TlsOptions {
  /** Trusted instead of the system's roots. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Accept any certificate. */
  readonly insecure?: boolean | undefined;
}

/** What HTTP_PROXY, HTTPS_PROXY and NO_PROXY hold. Loopback addresses never go through a proxy. */
export interface ProxyOptions {
  readonly http?: string | undefined;
  readonly https?: string | undefined;
  readonly noProxy?: string | undefined;
}

/** One finished request, told to `onRequest`. Holds no query, header or body. */
export interface RequestEvent {
  readonly server: 'rest' | 'service';
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** HTTP status; undefined when no answer came. */
  readonly status: number | undefined;
  readonly ms: number;
}

/** How requests travel; the same for all requests of a connection. */
export interface Wire {
  /** For a whole call: connecting, sending, and the last byte of the answer. */
  readonly timeoutMs: number;
  readonly tls: TlsOptions;
  readonly proxy: ProxyOptions | undefined;
  readonly userAgent: string;
  readonly signal: AbortSignal | undefined;
  readonly onRequest: ((event: RequestEvent) => void) | undefined;
}

export interface HttpRequest {
  readonly server: 'rest' | 'service';
  /** Base URL without a trailing slash. */
  readonly base: string;
  readonly method: string;
  /** Starts with a slash; may have a query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly authorization?: Sensitive | undefined;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  /** Bytes of answer read at most; 1 MiB when absent. */
  readonly maxBytes?: number | undefined;
}

export interface HttpReply {
  readonly status: number;
  /** Lower-case names; cookies are left out, for the service server puts the login into them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The server's clock (`Date` header), else ours; Unix seconds. */
  readonly timeUnix: number;
}

export async function send(_wire: Wire, _request: HttpRequest): Promise<HttpReply> {
  throw new Error('not written yet');
}
