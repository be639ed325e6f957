import type { Agent, ClientRequest, IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import type { Servers } from '../endpoints.js';
import { isTokenRefused, refusalOf } from '../raw.js';
import { TransportFailure } from './errors.js';
import { connectOptions, openRequest } from './proxy.js';
import { loginHeader } from './send.js';
import { answerTo } from './transport.js';
import type { Authorization, ProxyOptions, TlsOptions } from './types.js';

/** How requests are passed on. */
export interface Forwarding {
  readonly servers: Servers;
  readonly tls: TlsOptions;
  readonly proxy: ProxyOptions;
  /** How long to wait for a connection, and for the first byte of an answer, in ms. */
  readonly timeoutMs: number;
  /** Returns the login to try once more with after a refusal; undefined to pass the refusal on. */
  again(refused: Authorization): Promise<Authorization | undefined>;
  /** Called when that login was refused as well. */
  onFutile(): void;
}

/** Where a request goes. */
export interface Target {
  readonly server: 'rest' | 'service';
  /** The base URL of the server. */
  readonly base: string;
  readonly url: URL;
  /** As it was written: the URL class would encode some of it. */
  readonly path: string;
}

/** They keep the connections to the servers. */
export type Agents = { [protocol: string]: Agent };

/** One request on its way. */
interface Passage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  readonly agents: Agents;
  /** A login that is sent as the body, in place of the client's body and of a header. */
  readonly body: Buffer | undefined;
  upstream?: ClientRequest;
}

/** An answer given in the server's place. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A larger body is not kept to be sent again. */
const MOST_KEPT = 1024 * 1024;
/** Refusals are short, so no more of an answer is read before it is passed on. */
const LONGEST_REFUSAL = 16_384;
/** Servers close idle connections, and a request sent at that moment is lost, so none is kept for long. */
const KEPT_MS = 4000;
const SAFE = ['GET', 'HEAD', 'OPTIONS'];
const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
]);
/** The door sets these itself. */
const OF_REQUEST = new Set([...HOP_BY_HOP, 'host', 'authorization']);
const OF_LOGIN = new Set([...OF_REQUEST, 'content-length']);

const { getBuiltinModule } = process;

/**
 * Passes a request on with a login, and the answer back: the second one, when the first refused the token and the body
 * could be kept.
 * @throws Refused when the server does not answer
 */
export async function forward(
  passage: Passage,
  login: Authorization,
  { again, onFutile, ...options }: Forwarding,
): Promise<void> {
  const { request, response } = passage;
  const kept = passage.body ? { chunks: [passage.body], isWhole: false } : keepBody(request);
  response.once('close', () => passage.upstream?.destroy());
  const ask = async (login: Authorization): Promise<Answer> =>
    readStart(await send(passage, await upstreamOptions(passage, login, options), kept, options.timeoutMs));
  const isRefusal = ({ reply, start }: Answer, { scheme }: Authorization) =>
    scheme === 'Bearer' && refusesToken(passage.target, reply, start);
  let answer = await ask(login);
  const next = isRefusal(answer, login) && (await again(login).catch(() => undefined));
  if (next && kept.isWhole) {
    request.unpipe();
    passage.upstream?.destroy();
    answer = await ask(next);
    if (isRefusal(answer, next)) onFutile();
  }
  respond(response, answer);
}

/** What was read of a body. */
interface Kept {
  readonly chunks: Buffer[];
  /** Whether that is all that was read, so that it can be sent again. */
  isWhole: boolean;
}

function keepBody(request: IncomingMessage): Kept {
  const kept: Kept = {
    chunks: [],
    isWhole: Number(request.headers['content-length'] ?? 0) <= MOST_KEPT,
  };
  if (!hasBody(request)) {
    request.resume();
    return kept;
  }
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MOST_KEPT) kept.isWhole = false;
    if (kept.isWhole) kept.chunks.push(chunk);
    else kept.chunks.length = 0;
  });
  request.pause();
  return kept;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** Sends the request, with what was read of its body already, and returns the answer of the server. */
async function send(
  passage: Passage,
  options: RequestOptions,
  kept: Kept,
  timeoutMs: number,
  isRetry = false,
): Promise<IncomingMessage> {
  const { request, response } = passage;
  const upstream = openRequest(options, () => clearTimeout(timer));
  const limit = (what: string) =>
    setTimeout(
      () => upstream.destroy(new Refused(504, `the server ${what} within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
  let timer = limit('could not be reached');
  let isOver = false;
  passage.upstream = upstream;
  if (response.destroyed) upstream.destroy();
  upstream.on('finish', () => {
    clearTimeout(timer);
    if (!isOver) timer = limit('did not answer');
  });
  upstream.on('continue', () => response.writeContinue());
  sendBody(request, upstream, kept);
  try {
    return await answerTo(upstream);
  } catch (error) {
    if (error instanceof Refused) throw error;
    const { code } = error as NodeJS.ErrnoException;
    // The server closed a kept connection just when the request was sent.
    const wasClosed = upstream.reusedSocket && code === 'ECONNRESET';
    if (!wasClosed || isRetry || !kept.isWhole || !SAFE.includes(options.method ?? ''))
      throw new Refused(502, `the server cannot be reached (${code ?? 'no answer'})`);
    request.unpipe();
    return send(passage, options, kept, timeoutMs, true);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

function sendBody(request: IncomingMessage, upstream: ClientRequest, { chunks }: Kept): void {
  for (const chunk of chunks) upstream.write(chunk);
  if (request.readableEnded || !hasBody(request)) upstream.end();
  else request.pipe(upstream);
}

async function upstreamOptions(
  { request, target: { base, url, path }, agents, body }: Passage,
  login: Authorization,
  { servers, tls, proxy, timeoutMs }: Pick<Forwarding, 'servers' | 'tls' | 'proxy' | 'timeoutMs'>,
): Promise<RequestOptions> {
  const { method = 'GET', rawHeaders, headers } = request;
  const { protocol } = url;
  const passed = passedOn(rawHeaders, headers.connection, body ? OF_LOGIN : OF_REQUEST);
  // Node would send a body without a length in no form, and with some methods announce one that is not there.
  if (headers['transfer-encoding'] !== undefined) passed.push('Transfer-Encoding', 'chunked');
  else if (headers['content-length'] === undefined && /^P/.test(method)) passed.push('Content-Length', '0');
  const own = [
    ...['Host', url.host],
    ...(body
      ? ['Content-Length', String(body.length)]
      : ['Authorization', loginHeader(login, base, servers)]),
  ];
  const { Agent } = getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http');
  agents[protocol] ??= new Agent({ keepAlive: true, timeout: KEPT_MS });
  const call = { url, path, method, headers: {}, tls, proxy, agent: agents[protocol] };
  try {
    const options = await connectOptions(call, () => AbortSignal.timeout(timeoutMs));
    // A proxy that is asked in plain HTTP gets its own login besides.
    const { host: _, ...ofProxy } = options.headers as Record<string, string>;
    return { ...options, headers: [...own, ...Object.entries(ofProxy).flat(), ...passed] };
  } catch (error) {
    if (!(error instanceof TransportFailure)) throw error;
    throw new Refused(502, `the HTTP proxy on the way to the server failed (${error.reason})`);
  }
}

/** Returns the headers to pass on, as they were sent: without those of this hop, which `connection` may name more of. */
function passedOn(raw: readonly string[], connection: string | undefined, dropped: Set<string>): string[] {
  const named = connection?.toLowerCase().split(/\s*,\s*/) ?? [];
  const isDropped = (name: string) => dropped.has(name) || named.includes(name);
  return raw.filter((_, at) => !isDropped((raw[at - (at % 2)] as string).toLowerCase()));
}

/** An answer, and what was read of its body, which is still to be passed on. */
interface Answer {
  readonly reply: IncomingMessage;
  readonly start: Buffer;
}

/** Reads an answer that may refuse the token, as far as that takes. */
async function readStart(reply: IncomingMessage): Promise<Answer> {
  const { statusCode = 0, headers } = reply;
  const byStatus = statusCode === 401 || statusCode === 403;
  const chunks: Buffer[] = [];
  let size = 0;
  // Servers before 3.6.3 do not name the type of their answers.
  if (byStatus || /json/.test(headers['content-type'] ?? 'json'))
    await new Promise<void>((resolve) => {
      const stop = () => {
        reply.off('data', take).off('end', stop).off('close', stop);
        reply.pause();
        resolve();
      };
      const take = (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        // What begins without an error is a result, of any length.
        const mayRefuse = byStatus || /"error"\s*:\s*"?true/.test(chunk.toString('latin1'));
        if (size > LONGEST_REFUSAL || !(mayRefuse || chunks.length > 1)) stop();
      };
      reply.on('data', take).on('end', stop).on('close', stop);
    });
  return { reply, start: Buffer.concat(chunks) };
}

/** Whether the server refuses the token, rather than what was asked for with it. */
function refusesToken({ server, base }: Target, reply: IncomingMessage, start: Buffer): boolean {
  const { statusCode: status = 0, headers } = reply;
  if (status !== 401 && status !== 403 && !start.includes('REST-100')) return false;
  let body = start;
  try {
    if (headers['content-encoding'] === 'gzip') body = getBuiltinModule('node:zlib').gunzipSync(start);
  } catch {
    // An answer that is cut off or too long is none.
  }
  const request = { server, base, method: 'GET', path: '/' } as const;
  const read = { status, headers: {}, body: body.toString(), timeUnix: 0 };
  return isTokenRefused(refusalOf({ request, reply: read }));
}

function respond(response: ServerResponse, { reply, start }: Answer): void {
  const { statusCode = 502, statusMessage, rawHeaders, headers } = reply;
  response.sendDate = false;
  response.writeHead(statusCode, statusMessage, passedOn(rawHeaders, headers.connection, HOP_BY_HOP));
  if (reply.complete && reply.readableLength === 0) {
    reply.resume();
    // Headers and a body that is a string leave in one write.
    response.end(start.toString('latin1'), 'latin1');
    return;
  }
  if (start.length > 0) response.write(start);
  // A client may wait for the headers of an answer whose body comes much later.
  else if (reply.readableLength === 0 && !reply.complete) response.flushHeaders();
  // The answer of a server that breaks off breaks off too, and must not look whole.
  getBuiltinModule('node:stream').pipeline(reply, response, () => {});
}
