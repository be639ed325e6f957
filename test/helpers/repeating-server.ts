// A hostile server: it repeats everything that it receives, in every encoding, and sends commands of the GitHub runner.
import { createServer, type IncomingMessage } from 'node:http';
import { encodings } from './canary.js';
import { listening } from './listening.js';

/** Makes the answer from the texts to repeat. `token` is the value that the server returns as a token. */
type Answer = (
  words: string,
  token: string,
) => { status: number; body: string; headers?: Record<string, string> };

const COMMANDS =
  '\n::set-output name=token::evil\n::add-path::/tmp/evil\n##[add-path]/tmp/evil\r\n::stop-commands::x\n::debug::';

/**
 * @param is4 whether the server reports that it is a 4.x server
 * @param answer the answer to everything except the request for the version
 */
export async function repeatingServer(
  is4: boolean,
  answer: Answer,
): Promise<{ url: string; sent: string[] }> {
  const sent: string[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const { authorization = '' } = request.headers;
    const [, login = ''] = authorization.split(' ');
    const credentials = [
      login,
      Buffer.from(login, 'base64').toString(),
      ...fieldsOf(body),
      ...queryOf(request),
    ];
    const words = [authorization, request.url, body, ...credentials.flatMap(encodings)].join(`${COMMANDS} `);
    sent.push(`${request.method} ${request.url}`);
    if (/\/version$/.test(request.url ?? '')) {
      const newer = request.url === '/gsql/v1/version';
      response
        .writeHead(newer && !is4 ? 404 : 200)
        .end(`GSQL version: ${is4 ? '4.1.2' : '3.10.1'}\n${words}`);
      return;
    }
    // The server returns a credential as the token, so that it would be printed as one.
    const token = credentials.find((value) => /^[\x21-\x7e]{8,}$/.test(value)) ?? 't'.repeat(32);
    const { status, body: text, headers } = answer(words, token);
    response.writeHead(status, headers).end(text);
  });
  return { url: await listening(server), sent };
}

function fieldsOf(body: string): string[] {
  try {
    return Object.values(JSON.parse(body) as Record<string, unknown>).map(String);
  } catch {
    return [];
  }
}

const queryOf = (request: IncomingMessage) => [
  ...new URL(request.url ?? '/', 'http://x').searchParams.values(),
];

const json = (value: unknown, status = 200) => ({ status, body: JSON.stringify(value) });

export const ANSWERS: Record<string, Answer> = {
  'says yes, and gives a credential for a token': (words, token) =>
    json({ error: false, message: words, token, expiration: words, code: words, results: { token, words } }),
  'says no': (words) => json({ error: true, message: words, code: words }, 200),
  'refuses the login': (words) =>
    json({ error: true, message: `wrong password ${words}`, code: 'REST-10016' }, 401),
  'refuses the login without an envelope': (words) => ({ status: 401, body: words }),
  'makes the user wait': (words) => json({ error: true, message: `Please re-login after ${words}` }, 403),
  'denies it': (words) => json({ error: true, message: `permission denied ${words}` }, 403),
  'does not know the graph': (words) =>
    json({ error: true, message: `graph ${words} does not exist`, code: 'REST-1004' }, 404),
  'has no REST authentication': (words) =>
    json({ error: true, code: 'REST-1000', message: `/requesttoken ${words}` }, 404),
  'is starting': (words) => ({ status: 503, body: `is starting ${words}` }),
  'shows a page': (words) => ({ status: 500, body: `<html>${words}</html>` }),
  'sends elsewhere': (words) => ({
    status: 302,
    body: words,
    headers: { location: `/x?${encodeURIComponent(words)}` },
  }),
  'talks nonsense': (words) => ({ status: 200, body: words }),
  'sends a header of its own': (words, token) => ({
    ...json({ error: false, token, expiration: 4_000_000_000 }),
    headers: { 'x-words': encodeURIComponent(words), 'set-cookie': token },
  }),
};
