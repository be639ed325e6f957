import type { ClientRequest, IncomingMessage } from 'node:http';
import { type FailureKind, TransportFailure } from './errors.js';
import { connectOptions, openRequest, proxyFor, type Route } from './proxy.js';
import type { HttpReply } from './types.js';

export interface TransportRequest extends Route {
  readonly body: string | Uint8Array | undefined;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Sends one request over a new connection: a server may close a kept one just when a mint is sent, and then it is
 * unknown whether the request arrived. node:http is loaded with getBuiltinModule, because the global fetch (and on newer
 * Nodes an ESM import of node:http) loads undici, which costs more than the rest of a call without a cached token.
 * @throws TransportFailure
 */
export async function performRequest(call: TransportRequest): Promise<HttpReply> {
  const { signal } = call;
  let proxy: URL | undefined;
  let isTunnel = false;
  let sent = false;
  let broken: unknown;
  const stop = new AbortController();
  // AbortSignal.timeout() gives this reason.
  const isOver = () => (signal?.reason as Error | undefined)?.name === 'TimeoutError';
  const cancel = () => stop.abort(new TransportFailure(isOver() ? 'timeout' : 'cancelled', 'signal'));
  const timer = setTimeout(() => stop.abort(new TransportFailure('timeout', 'no answer')), call.timeoutMs);
  signal?.addEventListener('abort', cancel);
  try {
    if (signal?.aborted) cancel();
    stop.signal.throwIfAborted();
    proxy = proxyFor(call.url, call.proxy);
    const options = { ...(await connectOptions(call, () => stop.signal)), signal: stop.signal };
    isTunnel = proxy !== undefined && call.url.protocol === 'https:';
    const request = openRequest(options, () => {
      sent = true;
    });
    // What breaks off in the middle of an answer may be no HTTP, which only the request is told.
    request.on('error', (error) => {
      broken ??= error;
    });
    request.end(call.body);
    const reply = await readReply(await answerTo(request), call.maxBytes);
    // An answer that the closing of its connection ends looks whole when it was stopped.
    stop.signal.throwIfAborted();
    return reply;
  } catch (error) {
    const cause = stop.signal.aborted ? stop.signal.reason : isNoHttp(broken) ? broken : error;
    const [kind, reason] = classify(cause, proxy, sent || isTunnel);
    throw new TransportFailure(kind, reason, sent, proxy?.origin);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
  }
}

/** Waits for the headers of the answer. */
export function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', resolve);
    request.on('error', reject);
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new TransportFailure('malformed', 'HTTP 101'));
    });
  });
}

async function readReply(response: IncomingMessage, maxBytes: number): Promise<HttpReply> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      size += chunk.length;
      if (size > maxBytes) throw new TransportFailure('too-large', `over ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof TransportFailure ? error : new TransportFailure('cut-off', `${size} bytes`);
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined && !name.includes('cookie')) headers[name] = String(value);
  }
  const bytes = Buffer.concat(chunks);
  const date = Math.floor(Date.parse(headers.date ?? '') / 1000);
  const timeUnix = date >= 0 ? date : Math.floor(Date.now() / 1000);
  return { status: response.statusCode ?? 0, headers, body: bytes.toString(), bytes, timeUnix };
}

/** Codes OpenSSL, BoringSSL and Node use for certificates and handshakes. */
const TLS_CODE =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL|ERR_BORINGSSL|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_(?:CA|PURPOSE)|HOSTNAME_MISMATCH|PATH_LENGTH|EPROTO)/;

function isNoHttp(error: unknown): boolean {
  return String((error as NodeJS.ErrnoException | undefined)?.code).startsWith('HPE_');
}

/** @param isPastProxy whether a connection was established, so that the error is not of the one to the proxy */
function classify(error: unknown, proxy: URL | undefined, isPastProxy: boolean): [FailureKind, string] {
  if (error instanceof TransportFailure) return [error.kind, error.reason];
  const { code = 'no answer' } = error as NodeJS.ErrnoException;
  if (isNoHttp(error)) return ['malformed', code];
  const isTls = TLS_CODE.test(code);
  const mayBeProxy = proxy !== undefined && !isPastProxy && (!isTls || proxy.protocol === 'https:');
  return [mayBeProxy ? 'no-proxy' : isTls ? 'tls' : 'network', code];
}
