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
    const fail: Fail = (kind, reason) => {
      settle(() => reject(new TransportFailure(kind, reason, sent, call.proxy?.origin)));
      stop.abort();
      request?.destroy();
    };
    const failWith = (error: unknown): void => fail(...classify(error, call.proxy, sent || tunneled));
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
      onConnected(request, secure, () => {
        sent = true;
      });
      request.on('response', (response) =>
        readAnswer(response, call.maxBytes, fail, (answer) => settle(() => resolve(answer))),
      );
      request.on('error', failWith);
      request.on('upgrade', () => fail('malformed', 'HTTP 101'));
      request.end(call.body);
    };
    start().catch(failWith);
  });
}

type Fail = (kind: FailureKind, reason: string) => void;

function onConnected(request: ClientRequest, secure: boolean, done: () => void): void {
  request.on('socket', (socket) => {
    if (socket.connecting || secure) socket.once(secure ? 'secureConnect' : 'connect', done);
    else done();
  });
}

function readAnswer(
  response: IncomingMessage,
  maxBytes: number,
  fail: Fail,
  done: (answer: Answer) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) fail('too-large', `over ${maxBytes} bytes`);
    else chunks.push(chunk);
  });
  response.on('error', () => fail('cut-off', `${size} bytes`));
  response.on('end', () => {
    const { statusCode = 0, headers } = response;
    const bytes = Buffer.concat(chunks);
    done({ status: statusCode, headers, body: bytes.toString('utf8'), bytes });
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

/** @param isPastProxy whether a connection was established, so that the error is not of the one to the proxy */
function classify(
  error: unknown,
  proxy: ProxyRoute | undefined,
  isPastProxy: boolean,
): [FailureKind, string] {
  if (error instanceof TransportFailure) return [error.kind, error.reason];
  const [kind, reason] = classifyCode((error as NodeJS.ErrnoException).code);
  // A tunnel is open before the request begins, so this was the connection to the proxy.
  const mayBeProxy = kind === 'network' || (kind === 'tls' && proxy?.origin.startsWith('https:'));
  return [proxy !== undefined && mayBeProxy && !isPastProxy ? 'no-proxy' : kind, reason];
}

function classifyCode(code: string | undefined): [FailureKind, string] {
  if (typeof code !== 'string') return ['network', 'no answer'];
  if (code.startsWith('HPE_')) return ['malformed', code];
  if (TLS_CODE.test(code)) return ['tls', code];
  return ['network', code];
}
