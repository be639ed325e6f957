import type { Agent, ClientRequest, IncomingMessage, RequestOptions as NodeRequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { TlsOptions } from './types.js';

export type { Socket };

export type RequestOptions = NodeRequestOptions & {
  autoSelectFamilyAttemptTimeout?: number;
  /** The connection through a proxy, opened for this request and closed with it. */
  tunnel?: Socket;
};

export type FailureKind =
  | 'network'
  | 'timeout'
  | 'tls'
  | 'cancelled'
  | 'malformed'
  | 'too-large'
  | 'cut-off'
  | 'proxy'
  | 'no-proxy'
  | 'bad-proxy';

/** The reason why no answer came. It contains nothing of the request. */
export class TransportFailure extends Error {
  readonly kind: FailureKind;
  /** Node's or OpenSSL's code, for example ECONNREFUSED. */
  readonly reason: string;
  /** True when the connection was established, so that the server may have read the request. */
  readonly sent: boolean;
  /** Origin of the proxy on the way. */
  readonly proxy: string | undefined;

  constructor(kind: FailureKind, reason: string, sent: boolean, proxy?: string) {
    super(reason);
    this.kind = kind;
    this.reason = reason;
    this.sent = sent;
    this.proxy = proxy;
  }
}

export interface TransportRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array | undefined;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly tls: TlsOptions;
  readonly proxy: ProxyRoute | undefined;
  readonly signal: AbortSignal | undefined;
  /** The caller's agent, which keeps connections. */
  readonly agent?: object | undefined;
}

/** The way through a proxy. */
export interface ProxyRoute {
  /** The proxy's scheme, host and port. */
  readonly origin: string;
  /** Returns the options that send the request through it; `stop` is aborted when the request ends. */
  open(
    call: Pick<TransportRequest, 'url' | 'method' | 'headers' | 'tls'>,
    direct: RequestOptions,
    stop: AbortSignal,
  ): Promise<RequestOptions>;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly bytes: Uint8Array;
}

/** Returns the name or address to connect to, without the brackets that an IPv6 address has in a URL. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/**
 * Returns the TLS options for https.request and tls.connect. The name in the certificate is checked unless `insecure`.
 */
export function tlsSettings(tls: TlsOptions): {
  ca?: string;
  cert?: string;
  key?: string;
  rejectUnauthorized: boolean;
} {
  return {
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    rejectUnauthorized: tls.insecure !== true,
  };
}

/**
 * Sends one request over a new connection. A server may close a kept-alive connection just when a mint is sent, and
 * then it is unknown whether the request arrived. The time limit covers request and answer. node:http is loaded with
 * getBuiltinModule, because the global fetch (and on newer Nodes an ESM import of node:http) loads undici, which costs
 * more than the rest of a call without a cached token.
 */
export function performRequest(call: TransportRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let sent = false;
    let settled = false;
    let tunneled = false;
    let request: ClientRequest | undefined;
    const stop = new AbortController();

    const settle = (then: () => void): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', cancel);
      then();
    };
    const fail = (kind: FailureKind, reason: string): void => {
      settle(() => reject(new TransportFailure(kind, reason, sent, call.proxy?.origin)));
      stop.abort();
      request?.destroy();
    };
    const failWith = (error: unknown): void => {
      if (error instanceof TransportFailure) fail(error.kind, error.reason);
      else {
        const [kind, reason] = classify(error);
        // A tunnel is open before the request begins, so this was the connection to the proxy.
        const mayBeProxy = kind === 'network' || (kind === 'tls' && call.proxy?.origin.startsWith('https:'));
        const isOfProxy = mayBeProxy && call.proxy !== undefined && !sent && !tunneled;
        fail(isOfProxy ? 'no-proxy' : kind, reason);
      }
    };
    const cancel = (): void => {
      // AbortSignal.timeout() gives this reason.
      const isOver = (call.signal?.reason as Error | undefined)?.name === 'TimeoutError';
      fail(isOver ? 'timeout' : 'cancelled', 'signal');
    };
    const timer = setTimeout(() => fail('timeout', 'no answer'), call.timeoutMs);
    call.signal?.addEventListener('abort', cancel);
    if (call.signal?.aborted) {
      cancel();
      return;
    }

    const receive = (response: IncomingMessage): void => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > call.maxBytes) fail('too-large', `over ${call.maxBytes} bytes`);
        else chunks.push(chunk);
      });
      response.on('error', () => fail('cut-off', `${size} bytes`));
      response.on('end', () => {
        const { statusCode = 0, headers } = response;
        const bytes = Buffer.concat(chunks);
        settle(() => resolve({ status: statusCode, headers, body: bytes.toString('utf8'), bytes }));
      });
    };

    const start = async (): Promise<void> => {
      const direct = directRoute(call);
      const options = (await call.proxy?.open(call, direct, stop.signal)) ?? direct;
      tunneled = options.tunnel !== undefined;
      if (settled) {
        options.tunnel?.destroy();
        return;
      }
      const secure = options.protocol === 'https:';
      const http = process.getBuiltinModule(secure ? 'node:https' : 'node:http');
      request = http.request(options);
      request.on('socket', (socket) => {
        const marked = (): void => {
          sent = true;
        };
        if (socket.connecting || secure) socket.once(secure ? 'secureConnect' : 'connect', marked);
        else marked();
      });
      request.on('response', receive);
      request.on('error', failWith);
      request.on('upgrade', () => fail('malformed', 'HTTP 101'));
      request.end(call.body);
    };
    start().catch(failWith);
  });
}

function directRoute(call: TransportRequest): RequestOptions {
  const { url } = call;
  return {
    protocol: url.protocol,
    hostname: bareHost(url),
    port: url.port,
    path: url.pathname + url.search,
    method: call.method,
    headers: { ...call.headers, host: url.host },
    agent: (call.agent as Agent | undefined) ?? false,
    // Node tries each address of a host for 250 ms, too short for a server on another continent.
    autoSelectFamilyAttemptTimeout: 1000,
    ...(url.protocol === 'https:' ? tlsSettings(call.tls) : {}),
  };
}

/** Codes OpenSSL, BoringSSL and Node use for certificates and handshakes. */
const TLS_CODE =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL|ERR_BORINGSSL|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_(?:CA|PURPOSE)|HOSTNAME_MISMATCH|PATH_LENGTH|EPROTO)/;

function classify(error: unknown): [FailureKind, string] {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string') return ['network', 'no answer'];
  if (code.startsWith('HPE_')) return ['malformed', code];
  if (TLS_CODE.test(code)) return ['tls', code];
  return ['network', code];
}
