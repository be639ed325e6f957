import { createFetch, type Fetch } from 'ofetch';
import { uptimeMs } from './clock.js';
import { describeFailure, pathOf, refuseTransfer, timeIsOver } from './failures.js';
import type { TimeLeft } from './options.js';
import type { Sensitive } from './sensitive.js';
import { type Answer, exchange } from './transport.js';

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
  /** Credentials in the request; they are cut out of whatever the server says about it. */
  readonly hide?: readonly (Sensitive | undefined)[] | undefined;
  /** Whether it leaves everything as it was, so that a lost answer loses nothing. By the method when absent. */
  readonly readOnly?: boolean | undefined;
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

const DEFAULT_MAX_BYTES = 1024 * 1024;

/**
 * One request, one answer: never repeated, never redirected. Any status is an answer except redirects
 * (BAD_RESPONSE) and those of a server that is not up (SERVER_UNAVAILABLE). No answer is NETWORK, TIMEOUT, TLS
 * or CANCELLED, with `ambiguous` set if the server may have acted on the request all the same.
 * @param until when the time of the call is over, in ms as uptimeMs() counts; what is late already is not sent
 */
export async function send(wire: Wire, request: HttpRequest, until: number): Promise<HttpReply> {
  const path = pathOf(request);
  const startedAt = uptimeMs();
  const { timeLeft } = wire;
  const leftMs = Math.min(wire.timeoutMs, until - startedAt, timeLeft?.ms ?? Number.POSITIVE_INFINITY);
  // Timers count whole milliseconds.
  if (leftMs < 1) throw timeIsOver(request, wire.timeoutMs);
  let status: number | undefined;
  wire.onStart?.();
  try {
    const reply = await ask(wire, request, leftMs);
    status = reply.status;
    const refusal = refuseTransfer(request, reply);
    if (refusal !== undefined) throw refusal;
    return reply;
  } finally {
    const { server, method } = request;
    const ms = uptimeMs() - startedAt;
    if (timeLeft) timeLeft.ms -= ms;
    wire.onRequest?.({ server, method, path, status, ms: Math.round(ms) });
  }
}

async function ask(wire: Wire, request: HttpRequest, timeoutMs: number): Promise<HttpReply> {
  const headers: Record<string, string> = {
    accept: 'application/json, text/plain, */*',
    'user-agent': wire.userAgent,
    ...request.headers,
  };
  if (request.authorization !== undefined) headers.authorization = request.authorization.reveal();
  if (request.body !== undefined) {
    headers['content-type'] ??= request.contentType ?? 'application/json';
    headers['content-length'] = String(Buffer.byteLength(request.body));
  } else if (request.method !== 'GET') {
    headers['content-length'] = '0';
  }
  const url = new URL(request.base + request.path);
  const { proxy } = wire;
  const detour = proxy?.http || proxy?.https ? (await import('./proxy.js')).detourBy(proxy) : undefined;
  let answer: Answer | undefined;
  const fetch = createFetch({
    fetch: (async (_url: string, init: { method: string; headers: HeaderBag; body?: string }) => {
      answer = await exchange({
        url,
        method: init.method,
        headers: init.headers.all(),
        body: init.body,
        timeoutMs,
        maxBytes: request.maxBytes ?? DEFAULT_MAX_BYTES,
        tls: wire.tls,
        detour,
        signal: wire.signal,
      });
      const { body } = answer;
      return { status: answer.status, headers: new HeaderBag(), body, text: async () => body };
    }) as unknown as Fetch,
    Headers: HeaderBag as unknown as typeof globalThis.Headers,
    AbortController,
  });
  const options = { method: request.method, headers, retry: false, ignoreResponseError: true } as const;
  try {
    await fetch.raw(url.href, {
      ...options,
      ...(request.body === undefined ? {} : { body: request.body }),
      responseType: 'text',
    });
  } catch (error) {
    // ofetch's error holds the request with its headers; only what the transport said is carried on.
    throw describeFailure(request, (error as Error).cause, wire.timeoutMs);
  }
  return toReply(answer as unknown as Answer);
}

function toReply(answer: Answer): HttpReply {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined && !name.includes('cookie')) headers[name] = String(value);
  }
  const date = Math.floor(Date.parse(headers.date ?? '') / 1000);
  const timeUnix = date > 0 ? date : Math.floor(Date.now() / 1000);
  return { status: answer.status, headers, body: answer.body, timeUnix };
}

/** As much of the Headers class as ofetch uses; the global one would load all of undici. */
class HeaderBag {
  readonly #values = new Map<string, string>();

  constructor(init: Readonly<Record<string, string>> = {}) {
    for (const [name, value] of Object.entries(init)) this.set(name, value);
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), value);
  }

  all(): Record<string, string> {
    return Object.fromEntries(this.#values);
  }
}
