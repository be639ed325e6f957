import type { ClientRequest, IncomingMessage } from 'node:http';
import { type CreateFetchOptions, createFetch } from 'ofetch';
import type { Servers } from '../endpoints.js';
import { GraphException, usageError } from '../errors.js';
import type { ConnectionOptions } from '../options.js';
import { BoundCredential } from '../sensitive.js';
import { type Deadline, timeIsOver, uptimeMs } from '../time.js';
import {
  addressOf,
  BROKEN,
  credentialsIn,
  describeFailure,
  type FailureKind,
  refuseTransfer,
  TransportFailure,
  urlPath,
  what,
} from './errors.js';
import { connectOptions, openRequest, type ProxyRoute, proxyFor } from './proxy.js';
import { codeOf, trustingSystem } from './tls.js';
import type { Authorization, Fields, HttpReply, HttpRequest, TlsOptions } from './types.js';

/** How requests are sent; the same for all requests of a call. */
export interface HttpSettings extends Pick<ConnectionOptions, 'proxy' | 'signal' | 'onStart' | 'onRequest'> {
  readonly tls: TlsOptions;
}

export interface TransportRequest extends ProxyRoute {
  readonly body: string | Uint8Array | undefined;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal | undefined;
}

const DEFAULT_MAX_BYTES = 1024 * 1024;

/**
 * Sends one request once, and follows no redirect. Returns the answer whatever its status, but throws BAD_RESPONSE for
 * a redirect and SERVER_UNAVAILABLE when the server is not up. Without an answer it throws NETWORK, TIMEOUT, TLS or
 * CANCELLED, with `ambiguous` set if the server may have carried out the request.
 * @param limit the time limit of the call: for connecting, sending, and reading the whole answer of all its requests
 */
export async function send(settings: HttpSettings, request: HttpRequest, limit: Deadline) {
  const startedAt = uptimeMs();
  const { limitMs, forRequestMs: leftMs } = limit;
  // Timers count whole milliseconds, so a shorter rest counts as no time.
  if (leftMs < 1) throw timeIsOver(limitMs, `${what(request)} to ${addressOf(request)} was not sent: the`);
  const { url, ...options } = reveal(request, settings, leftMs);
  const ask = () => ofetch<HttpReply>(url, options);
  let reply: HttpReply | undefined;
  settings.onStart?.();
  try {
    reply = await limit.count(ask).catch((error) => {
      // ofetch's error holds the request with its headers; only the transport's error is passed on.
      throw describeFailure(request, error.cause, limitMs);
    });
    const refusal = refuseTransfer(request, reply);
    if (refusal !== undefined) throw refusal;
    return reply;
  } finally {
    const { server, method } = request;
    const { status, serverTimeUnix } = reply ?? {};
    const ms = Math.round(uptimeMs() - startedAt);
    settings.onRequest?.({ server, method, path: urlPath(request), status, serverTimeUnix, ms });
  }
}

/**
 * Puts the values of credentials into a request; no other function does. A credential is used only for a request to one
 * of its two base URLs, while that pair is in force. Otherwise HOST_MISMATCH is thrown before any value is read.
 */
function reveal(request: HttpRequest, settings: HttpSettings, timeoutMs: number) {
  const { base, path, query, json, method, maxBytes = DEFAULT_MAX_BYTES } = request;
  const url = new URL(base + path);
  if (!url.href.startsWith(`${base}/`)) {
    const message = `The path of this request leads outside ${base}, so it was not sent.`;
    throw new GraphException('HOST_MISMATCH', message, {
      hint: ['check the path of the call; the addresses come from the settings', { command: 'config show' }],
    });
  }
  for (const credential of credentialsIn(request)) refuseElsewhere(credential.servers, request);
  const headers: Record<string, string> = {
    accept: 'application/json, text/plain, */*',
    'accept-encoding': 'identity',
    'user-agent': 'graphcred',
    ...request.headers,
  };
  if (request.authorization) headers.authorization = headerText(request.authorization);
  const body = json ? JSON.stringify(texts(json)) : plain(request.body);
  if (body !== undefined) headers['content-type'] ??= 'application/json';
  if (body !== undefined || method !== 'GET')
    headers['content-length'] = String(Buffer.byteLength(body ?? ''));
  const { tls, proxy, signal } = settings;
  const call = { method, headers, body, maxBytes, timeoutMs, tls, proxy, signal };
  // Without this option ofetch leaves the query of a path as it is written.
  return { url: url.href, call, ...(query && { query: texts(query) }) };
}

/** Returns the header with a login for requests to `base`. Throws HOST_MISMATCH unless the credential belongs there. */
export function loginHeader(authorization: Authorization, base: string, servers: Servers): string {
  refuseElsewhere(authorization.credential.servers, { base, servers });
  return headerText(authorization);
}

function refuseElsewhere(own: Servers, { base, servers }: Pick<HttpRequest, 'base' | 'servers'>): void {
  const samePair = own.restUrl === servers?.restUrl && own.gsqlUrl === servers.gsqlUrl;
  if (samePair && (base === own.restUrl || base === own.gsqlUrl)) return;
  const isOtherRest = own.gsqlUrl === servers?.gsqlUrl;
  const textOf = ({ restUrl, gsqlUrl }: Servers) => (isOtherRest ? `the REST server ${restUrl}` : gsqlUrl);
  const inForce = samePair || servers === undefined ? base : textOf(servers);
  const message = `This credential is for ${textOf(own)}, and is not sent to ${inForce}.`;
  throw new GraphException('HOST_MISMATCH', message, {
    hint: ['if the servers have moved, give it anew', { command: 'login' }, 'else correct the addresses'],
  });
}

function texts(fields: Fields): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plain(value)]));
}

function plain<T>(value: T | BoundCredential): T | string {
  return value instanceof BoundCredential ? value.reveal() : value;
}

function headerText({ scheme, credential, username }: Authorization): string {
  const value = credential.reveal();
  if (scheme === 'Basic') return `Basic ${Buffer.from(`${username}:${value}`).toString('base64')}`;
  if (/^[\x21-\x7e]+$/.test(value)) return `${scheme} ${value}`;
  const name = scheme === 'Bearer' ? 'token' : 'secret';
  const named = [name, credential.origin].filter(Boolean).join(' ');
  throw usageError(
    `The ${named} has a blank or another character that it cannot have.`,
    'give the value alone, on one line',
  );
}

/**
 * ofetch, which adds the query, over `performRequest`, whose request is the option `call`. The answer is its `_data`,
 * which is for what was read of a body. A Response or Headers of Node load all of undici.
 */
const ofetch = createFetch({
  fetch: async (url: string, { call }: { readonly call: Omit<TransportRequest, 'url'> }) => {
    const reply = await performRequest({ ...call, url: new URL(url) });
    return { status: reply.status, _data: reply };
  },
  Headers: Map,
  // The rules of `send` for retries and statuses count.
  defaults: { retry: false, ignoreResponseError: true },
} as unknown as CreateFetchOptions);

/**
 * Sends one request over a new connection: a server may close a kept one just when a mint is sent, and then it is
 * unknown whether the request arrived. getBuiltinModule, because an import of node:http may load undici, which costs more
 * than the rest of a call without a cached token.
 * @throws TransportFailure
 */
export async function performRequest(call: TransportRequest): Promise<HttpReply> {
  let proxy: URL | undefined;
  let sent = false;
  const { stop, release } = limited(call);
  try {
    stop.throwIfAborted();
    proxy = proxyFor(call.url, call.proxy);
    const reply = await trustingSystem(call.tls, async () => {
      const options = { ...(await connectOptions(call, () => stop)), signal: stop };
      const request = openRequest(options, () => {
        sent = true;
      });
      request.end(call.body);
      return readReply(await answerTo(request), call.maxBytes);
    });
    // An answer that the closing of its connection ends looks whole when it was stopped.
    stop.throwIfAborted();
    return reply;
  } catch (error) {
    const cause = stop.aborted ? stop.reason : error;
    // A tunnel is built before, and tells its own failures.
    const isOfProxy = proxy !== undefined && call.url.protocol === 'http:' && !sent;
    const [kind, reason] = classify(cause, isOfProxy);
    throw new TransportFailure(kind, reason, sent, proxy?.origin);
  } finally {
    release();
  }
}

/** Returns a signal that ends a request, with a TransportFailure as its reason. */
function limited({ signal, timeoutMs }: Pick<TransportRequest, 'signal' | 'timeoutMs'>) {
  const stop = new AbortController();
  const end = (kind: FailureKind, limit = '') => stop.abort(new TransportFailure(kind, limit));
  // AbortSignal.timeout() gives this reason, and does not tell its time.
  const abort = () => end(signal?.reason?.name === 'TimeoutError' ? 'timeout' : 'cancelled', 'in time');
  const timer = setTimeout(end, timeoutMs, 'timeout');
  if (signal?.aborted) abort();
  // Each request in progress listens, and Node warns of the eleventh listener.
  if (signal) process.getBuiltinModule('node:events').setMaxListeners(0, signal);
  signal?.addEventListener('abort', abort);
  const release = () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  };
  return { stop: stop.signal, release };
}

export function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', resolve);
    request.on('error', reject);
    // Without this a server that changes the protocol would be waited for until the time is over.
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
  const serverTimeUnix = date >= 0 ? date : undefined;
  return { status: response.statusCode ?? 0, headers, body: bytes.toString(), bytes, serverTimeUnix };
}

/** Codes of OpenSSL, BoringSSL and Node for certificates and handshakes. */
const TLS_CODE =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL|ERR_BORINGSSL|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_(?:CA|PURPOSE)|HOSTNAME_MISMATCH|PATH_LENGTH|EPROTO)/;

function classify(error: unknown, isOfProxy: boolean): [FailureKind, string] {
  if (error instanceof TransportFailure) return [error.kind, error.message];
  const code = codeOf(error as NodeJS.ErrnoException);
  if (code.startsWith('HPE_')) return ['malformed', code];
  if (isOfProxy) return ['no-proxy', code];
  if (TLS_CODE.test(code)) return ['tls', code];
  return [BROKEN.test(code) ? 'broken' : 'network', code];
}
