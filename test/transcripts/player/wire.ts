import { once } from 'node:events';
import http from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listening } from '../../helpers/ports.js';

/** One request and its answer, as they went over the wire. */
export interface Exchange {
  readonly server: string;
  readonly method: string;
  /** The path with the query, as sent. */
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  /** What arrived of the body of the answer. */
  answer: string;
}

/** Starts an HTTP proxy in front of a server of this machine that notes each exchange. Returns the proxy's URL. */
export async function startRecorder(
  server: string,
  target: () => string,
  exchanges: Exchange[],
): Promise<string> {
  const recorder = http.createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const body = await buffer(request);
    const exchange: Exchange = { server, method, url, headers, body: body.toString(), answer: '' };
    exchanges.push(exchange);
    const onward = http.request(`${target()}${url}`, { method, headers, agent: false });
    onward.end(body);
    try {
      const [incoming] = (await once(onward, 'response')) as [http.IncomingMessage];
      response.writeHead(incoming.statusCode ?? 0, incoming.headers);
      for await (const chunk of incoming) {
        exchange.answer += chunk;
        response.write(chunk);
      }
      response.end();
    } catch {
      // The server ended the connection, so this one ends too.
      response.destroy();
    }
  });
  return listening(recorder);
}

/** Headers that come with every answer. */
const USUAL = /^(content-type|content-length|transfer-encoding|connection|keep-alive|date)$/i;

/**
 * Sends one request, and returns what arrived of the answer: the status (`000` for none), the content type and unusual
 * headers, or the code of the error that ended the connection, and the body.
 * @param login as `Basic user:password`, `Bearer TOKEN`, another value of the header, or `no login`
 */
export async function sendRaw(
  method: string,
  url: string,
  login: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<{ status: string; about: string[]; text: string }> {
  const [scheme = '', value = ''] = login.split(' ');
  const basic = scheme === 'Basic' && value.includes(':');
  const authorization = basic ? `Basic ${Buffer.from(value).toString('base64')}` : login;
  const onward = http.request(url, {
    method,
    headers: {
      ...headers,
      ...(login !== 'no login' && { authorization }),
      'content-length': Buffer.byteLength(body),
    },
    agent: false,
  });
  onward.end(body);
  const answer = { status: '000', about: [] as string[], text: '' };
  try {
    const [incoming] = (await once(onward, 'response')) as [http.IncomingMessage];
    answer.status = String(incoming.statusCode);
    answer.about.push(incoming.headers['content-type'] ?? 'no type');
    for (let at = 0; at < incoming.rawHeaders.length; at += 2)
      if (!USUAL.test(incoming.rawHeaders[at] ?? ''))
        answer.about.push(`${incoming.rawHeaders[at]}: ${incoming.rawHeaders[at + 1]}`);
    for await (const chunk of incoming) answer.text += chunk;
  } catch (error) {
    answer.about.push(`broken: ${(error as NodeJS.ErrnoException).code}`);
  }
  return answer;
}
