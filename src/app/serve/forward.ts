import type { IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import { TransportFailure } from '../../core/http/errors.js';
import { connectOptions, openRequest } from '../../core/http/proxy.js';
import { answerTo, loginHeader } from '../../core/http/send.js';
import { codeOf, trustingSystem } from '../../core/http/tls.js';
import type { Authorization } from '../../core/http/types.js';
import { type ForwardedRequest, Refused } from './door.js';
import { headersToClient, headersToServer } from './headers.js';
import { isRead, readStart, refusesToken } from './refusal.js';

const MOST_KEPT = 1024 * 1024;
const SAFE = ['GET', 'HEAD', 'OPTIONS'];

const { getBuiltinModule } = process;

/** Passes a request on with a login, and the answer back: the second one, where the first refused the token. */
export async function forward(forwarded: ForwardedRequest, login: Authorization): Promise<void> {
  const { request, response, url, by } = forwarded;
  keepBody(forwarded);
  response.once('close', () => {
    forwarded.upstream?.destroy();
    // The client may send the rest of its body before it reads the answer.
    request.unpipe().resume();
  });
  // The GSQL server of 3.x takes a token only for the REST server behind it.
  const takesTokens = by.restPath !== undefined || url.pathname.includes('/restpp/');
  const ask = async (login: Authorization) => {
    const begin = async () => sendUpstream(forwarded, await upstreamOptions(forwarded, login));
    const reply = await trustingSystem(by.tls, begin);
    const mayRefuse = login.scheme === 'Bearer' && takesTokens;
    const start = mayRefuse ? await readStart(reply) : '';
    return { reply, start, isRefusal: mayRefuse && refusesToken(url, reply, start) };
  };
  let answer = await ask(login);
  // What is read of the body from here on would go to the connection that is given up.
  if (answer.isRefusal) request.unpipe();
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
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MOST_KEPT) forwarded.body = undefined;
    forwarded.body?.push(chunk);
  });
  // Nothing is read before the server is there to take it.
  request.pause();
}

/** Sends the request, beginning with what was read of its body before, and returns the answer of the server. */
async function sendUpstream(forwarded: ForwardedRequest, options: RequestOptions): Promise<IncomingMessage> {
  const { request, response, body = [], by } = forwarded;
  request.unpipe();
  forwarded.upstream?.destroy();
  let isConnected = false;
  const upstream = openRequest(options, () => {
    isConnected = true;
    // Before there is a connection, nothing of a body is read: it could not be sent over another one.
    for (const chunk of body) upstream.write(chunk);
    if (request.readableEnded) upstream.end();
    else request.pipe(upstream);
  });
  forwarded.upstream = upstream;
  if (response.destroyed) upstream.destroy();
  const timer = setTimeout(() => {
    // A body may take as long as it likes.
    if (isConnected && !upstream.writableFinished) return;
    const what = isConnected ? 'did not answer' : 'could not be reached';
    upstream.destroy(new Refused(504, `the server ${what} within ${by.timeoutMs / 1000} s`));
  }, by.timeoutMs);
  const waitForAnswer = () => timer.refresh();
  upstream.on('finish', waitForAnswer);
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
      return sendUpstream(forwarded, { ...options, agent: false });
    const isBroken = isConnected && 'the connection to the server broke; it may have carried out the request';
    const isOther = code.startsWith('HPE_') && 'the answer of the server is not valid HTTP';
    throw new Refused(502, `${isOther || isBroken || 'the server cannot be reached'} (${code})`, error);
  } finally {
    // A server may answer before it has the whole request.
    upstream.off('finish', waitForAnswer);
    clearTimeout(timer);
  }
}

async function upstreamOptions(forwarded: ForwardedRequest, login: Authorization): Promise<RequestOptions> {
  const { request, url, path } = forwarded;
  const { base, servers, tls, proxy, agent, timeoutMs } = forwarded.by;
  const { method = 'GET' } = request;
  const headers = { host: url.host, authorization: loginHeader(login, base, servers) };
  const route = { url, path, method, headers, tls, proxy, agent };
  const options = await connectOptions(route, () => AbortSignal.timeout(timeoutMs)).catch((error) => {
    if (!(error instanceof TransportFailure)) throw error;
    throw new Refused(502, `the HTTP proxy on the way to the server failed (${error.message})`, error);
  });
  // A proxy that is asked in plain HTTP gets its own login besides.
  const own = Object.entries(options.headers ?? {}).flat() as string[];
  return { ...options, headers: [...own, ...headersToServer(request)] };
}

function respond(response: ServerResponse, reply: IncomingMessage, start: string): void {
  const { statusCode = 502, statusMessage } = reply;
  response.sendDate = false;
  response.writeHead(statusCode, statusMessage, headersToClient(reply));
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
