import http from 'node:http';
import { listening } from './ports.js';

/**
 * Starts a server in front of another one. If `route` matches `METHOD /path body`, `during` runs after the other server has answered and before the
 * caller gets the answer: at that time a new token or secret exists nowhere else. `before` runs before the request is passed on.
 */
export async function gate(
  target: string,
  route: RegExp,
  during: (answer: string) => Promise<unknown>,
  before?: (request: http.IncomingMessage) => Promise<unknown>,
): Promise<string> {
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const { authorization, 'content-type': type } = request.headers;
    const fits = route.test(
      `${request.method} ${request.url} ${decodeURIComponent(body.replaceAll('+', ' '))}`,
    );
    if (fits) await before?.(request);
    const reply = await fetch(target + request.url, {
      method: request.method ?? 'GET',
      headers: { ...(authorization && { authorization }), ...(type && { 'content-type': type }) },
      ...(body !== '' && { body }),
    }).catch(() => undefined);
    // The server behind may have ended with its test.
    if (reply === undefined) return response.destroy();
    const answer = await reply.text();
    if (fits) await during(answer);
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? 'text/plain' });
    response.end(answer);
  });
  return listening(server);
}
