import type { Agent, ClientRequest, IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import type { Servers } from '../../core/endpoints.js';
import { TransportFailure } from '../../core/http/errors.js';
import { connectOptions, openRequest } from '../../core/http/proxy.js';
import { answerTo, loginHeader } from '../../core/http/send.js';
import { codeOf, trustingSystem } from '../../core/http/tls.js';
import type { Authorization, ProxyOptions, TlsOptions } from '../../core/http/types.js';
import { isTokenRefused, LONGEST_REFUSAL, readRefusal } from '../../core/protocol/reply.js';
import type { TokenProvider } from '../../core/provider.js';

/** An address on this machine in place of a server, and how requests are passed on from there. */
export interface Door {
  /** What a client must send in place of a credential. */
  readonly key: string;
  /** The base URL to which the paths of requests are added: one of `servers`. */
  readonly base: string;
  /** The beginning of paths for the REST server; the others, or all when it is absent, are for the GSQL server. */
  readonly restPath?: string | undefined;
  readonly servers: Servers;
  readonly tls: TlsOptions;
  readonly proxy: ProxyOptions;
  /** How long to wait for a connection, and for the first byte of an answer, in ms. */
  readonly timeoutMs: number;
  readonly tokens: Pick<TokenProvider<Authorization>, 'get' | 'replace' | 'noteFutile'>;
  readonly gsqlLogin: (() => Promise<Authorization>) | undefined;
}

export interface ForwardedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** As the client wrote it, because the URL class would encode some of it. */
  readonly path: string;
  /** With what keeps the connections to the server. */
  readonly by: Door & { readonly agent: Agent };
  /** What was read of the body; undefined when it is too long to be sent again. */
  body: Buffer[] | undefined;
  upstream?: ClientRequest;
}

/** An answer given in the server's place. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
  }
}

const MOST_KEPT = 1024 * 1024;
/** For how long what may be a refusal is waited for: it comes with its headers, or the rest of it soon. */
const REFUSAL_MS = 200;
const SAFE = ['GET', 'HEAD', 'OPTIONS'];
const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
]);
/** The listener sets these headers itself. */
const OF_REQUEST = new Set([...HOP_BY_HOP, 'host', 'authorization']);

const { getBuiltinModule } = process;

/** Passes a request on with a login, and the answer back: the second one, where the first refused the token. */
export async function forward(forwarded: ForwardedRequest, login: Authorization): Promise<void> {
  const { request, response, by } = forwarded;
  keepBody(forwarded);
  response.once('close', () => {
    forwarded.upstream?.destroy();
    // The client may send the rest of its body before it reads the answer.
    request.unpipe().resume();
  });
  const ask = async (login: Authorization) => {
    const begin = async () => send(forwarded, await upstreamOptions(forwarded, login));
    const reply = await trustingSystem(by.tls, begin);
    const start = await readStart(reply);
    // The GSQL server of 3.x takes a token only for the REST server behind it.
    const takesTokens = by.restPath !== undefined || forwarded.url.pathname.includes('/restpp/');
    const isRefusal = login.scheme === 'Bearer' && takesTokens && refusesToken(forwarded, reply, start);
    return { reply, start, isRefusal };
  };
  let answer = await ask(login);
  const next = answer.isRefusal ? await by.tokens.replace(login).catch(() => undefined) : undefined;
  if (next && forwarded.body) {
    answer = await ask(next);
    if (answer.isRefusal) by.tokens.noteFutile();
  }
  respond(response, answer.reply, answer.start);
}

/** Keeps what is read of a body, so that it can be sent again, unless it is long. */
function keepBody(forwarded: ForwardedRequest): void {
  const { request } = forwarded;
  if (Number(request.headers['content-length']) > MOST_KEPT) forwarded.body = undefined;
  if (!hasBody(request)) return;
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MOST_KEPT) forwarded.body = undefined;
    forwarded.body?.push(chunk);
  });
  // Nothing is read before the server is there to take it.
  request.pause();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** Sends the request, beginning with what was read of its body before, and returns the answer of the server. */
async function send(forwarded: ForwardedRequest, options: RequestOptions): Promise<IncomingMessage> {
  const { request, response, body = [], by } = forwarded;
  request.unpipe();
  forwarded.upstream?.destroy();
  let isConnected = false;
  const upstream = openRequest(options, () => {
    isConnected = true;
    clearTimeout(timer);
    // Before there is a connection, nothing of a body is read: it could not be sent over another one.
    for (const chunk of body) upstream.write(chunk);
    if (request.readableEnded || !hasBody(request)) upstream.end();
    else request.pipe(upstream);
  });
  forwarded.upstream = upstream;
  const limit = (what: string) =>
    setTimeout(
      () => upstream.destroy(new Refused(504, `the server ${what} within ${by.timeoutMs / 1000} s`)),
      by.timeoutMs,
    );
  let timer = limit('could not be reached');
  let isAnswered = false;
  if (response.destroyed) upstream.destroy();
  upstream.on('finish', () => {
    clearTimeout(timer);
    if (!isAnswered) timer = limit('did not answer');
  });
  upstream.on('continue', () => response.writeContinue());
  try {
    const reply = await answerTo(upstream);
    const { statusCode = 0 } = reply;
    if (statusCode >= 200 && statusCode < 600) return reply;
    throw new Refused(502, `the server answers with HTTP ${statusCode}, which is not a valid status`);
  } catch (error) {
    upstream.destroy();
    if (error instanceof Refused) throw error;
    const code = codeOf(error as NodeJS.ErrnoException);
    // The server closed a kept connection just when the request was sent.
    const wasClosed = upstream.reusedSocket && code === 'ECONNRESET';
    if (wasClosed && forwarded.body && SAFE.includes(options.method ?? ''))
      return send(forwarded, { ...options, agent: false });
    const isBroken = isConnected && 'the connection to the server broke; it may have carried out the request';
    const isOther = code.startsWith('HPE_') && 'the answer of the server is not valid HTTP';
    throw new Refused(502, `${isOther || isBroken || 'the server cannot be reached'} (${code})`, error);
  } finally {
    isAnswered = true;
    clearTimeout(timer);
  }
}

async function upstreamOptions(forwarded: ForwardedRequest, login: Authorization): Promise<RequestOptions> {
  const { request, url, path } = forwarded;
  const { base, servers, tls, proxy, agent, timeoutMs } = forwarded.by;
  const { method = 'GET', headers } = request;
  const own = { host: url.host, authorization: loginHeader(login, base, servers) };
  const route = { url, path, method, headers: own, tls, proxy, agent };
  const options = await connectOptions(route, () => AbortSignal.timeout(timeoutMs)).catch((error) => {
    if (!(error instanceof TransportFailure)) throw error;
    throw new Refused(502, `the HTTP proxy on the way to the server failed (${error.message})`, error);
  });
  // A proxy that is asked in plain HTTP gets its own login besides.
  const sent = Object.entries(options.headers ?? {}).flat() as string[];
  sent.push(...passedOn(request, OF_REQUEST));
  // Without these headers Node would drop the body, or announce a body in chunks for a POST that has none.
  if (headers['transfer-encoding'] !== undefined) sent.push('Transfer-Encoding', 'chunked');
  else if (headers['content-length'] === undefined && /^P/.test(method)) sent.push('Content-Length', '0');
  options.headers = sent;
  return options;
}

/** Returns the headers to pass on, as they were sent: without those of this hop, which `connection` may name more of. */
function passedOn({ rawHeaders: raw, headers }: IncomingMessage, dropped: Set<string>): string[] {
  const named = headers.connection?.toLowerCase().split(/\s*,\s*/) ?? [];
  const passed: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const [name, value] = [raw[at] as string, raw[at + 1] as string];
    const key = name.toLowerCase();
    // Without its length the server would read a body as the next request.
    const isNamed = named.includes(key) && key !== 'content-length';
    if (!dropped.has(key) && !isNamed) passed.push(name, value);
  }
  return passed;
}

/** Reads what came with the headers, and more while it may refuse the token. Returns it, one character a byte. */
async function readStart(reply: IncomingMessage): Promise<string> {
  const { statusCode = 0, headers } = reply;
  const byStatus = statusCode === 401 || statusCode === 403;
  // Servers before 3.6.3 do not name the type of their answers.
  const isJson = /json/.test(headers['content-type'] ?? 'json');
  const length = Number(headers['content-length']);
  const soon = AbortSignal.timeout(REFUSAL_MS);
  let start = '';
  for (;;) {
    start += (reply.read() as Buffer | null)?.toString('latin1') ?? '';
    // What says that there is no error is a result, of any length.
    const isResult = !isJson || length > LONGEST_REFUSAL || /"error"\s*:\s*"?f/.test(start);
    // The rest of a short answer that has begun is waited for.
    const signal = byStatus || (start !== '' && length <= LONGEST_REFUSAL) ? undefined : soon;
    if (isRead(reply) || reply.destroyed || start.length > LONGEST_REFUSAL) return start;
    if ((isResult && !(byStatus && isJson)) || signal?.aborted) return start;
    // An answer that breaks off has been destroyed, which ends the loop.
    await getBuiltinModule('node:events')
      .once(reply, 'readable', { signal })
      .catch(() => {});
  }
}

function isRead(reply: IncomingMessage): boolean {
  return reply.complete && reply.readableLength === 0;
}

/** Whether the server refuses the token, rather than what was asked for with it. */
function refusesToken({ url }: ForwardedRequest, reply: IncomingMessage, start: string): boolean {
  const { statusCode: status = 0, headers } = reply;
  if (status !== 401 && status !== 403 && !start.includes('REST-100')) return false;
  let body = Buffer.from(start, 'latin1');
  try {
    const limits = { maxOutputLength: LONGEST_REFUSAL };
    if (headers['content-encoding'] === 'gzip') body = getBuiltinModule('node:zlib').gunzipSync(body, limits);
  } catch {
    // An answer that is cut off or too long refuses nothing.
  }
  const request = { server: 'rest', base: url.origin, method: 'GET', path: '/' } as const;
  const read = { status, headers: {}, body: body.toString() };
  return isTokenRefused(readRefusal({ request, reply: read }));
}

function respond(response: ServerResponse, reply: IncomingMessage, start: string): void {
  const { statusCode = 502, statusMessage } = reply;
  response.sendDate = false;
  response.writeHead(statusCode, statusMessage, passedOn(reply, HOP_BY_HOP));
  if (isRead(reply)) {
    // Headers and a body that is a string leave in one write.
    response.end(start, 'latin1');
    return;
  }
  if (start !== '') response.write(start, 'latin1');
  // A client may wait for the headers of an answer whose body comes much later.
  else response.flushHeaders();
  // The answer of a server that breaks off breaks off too, and must not look whole.
  getBuiltinModule('node:stream').pipeline(reply, response, () => {});
}
