import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { GraphException } from '../../core/errors.js';
import { listenLocally } from '../../run/listen-locally.js';

const PAGE =
  '<!doctype html><meta charset="utf-8"><title>graphcred</title><p>You can close this window.</p>\n';
const PAGE_MS = 1000;
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * Waits on loopback for the browser that the provider sends back. What comes with another `state`, without the cookie, or
 * from a page's script, is refused and the waiting goes on, so that a neighbour who reads the list of processes can
 * neither end the login nor complete it.
 * @param port 0 for a free one
 */
export async function awaitCallback(port: number, state: string, timeoutMs: number) {
  const { createServer } = process.getBuiltinModule('node:http');
  const { randomUUID } = process.getBuiltinModule('node:crypto');
  const [start, key] = [`/${randomUUID()}`, randomUUID()];
  /** The provider's address, until the browser has been sent there. */
  let provider: string | undefined;
  let hasArrived = false;
  const server = createServer({ headersTimeout: 10_000 }, (request, response) => {
    const answer = (status: number, headers: Record<string, string> = {}, body = '') =>
      void response.writeHead(status, { ...HEADERS, ...headers, connection: 'close' }).end(body);
    if (!URL.canParse(request.url ?? '/', origin)) return answer(400);
    const url = new URL(request.url ?? '/', origin);
    // Browsers share the cookies of all ports of a host.
    const cookie = `graphcred_${url.port}=${key}`;
    const refusal = refusalOf(request, origin);
    if (refusal) return answer(refusal);
    if (url.pathname === '/done' && hasArrived) {
      response.once('finish', () => server.emit('shown'));
      return answer(200, {}, PAGE);
    }
    if (url.pathname === start && provider !== undefined) {
      answer(302, { location: provider, 'set-cookie': `${cookie}; Path=/callback; HttpOnly; SameSite=Lax` });
      provider = undefined;
      return;
    }
    if (url.pathname !== '/callback') return answer(404);
    if (!request.headers.cookie?.split('; ').includes(cookie)) return answer(403);
    if (url.searchParams.get('state') !== state) return answer(400);
    if (hasArrived) return answer(409);
    hasArrived = true;
    // The code leaves the address bar, and the history.
    answer(303, { location: '/done' });
    server.emit('arrived', url);
  });
  const shown = new Promise<void>((resolve) => server.once('shown', resolve));
  const hint = 'end the other program, set another oidc.port, or log in with --device';
  const origin = await listenLocally(server, port, hint);
  return {
    redirectUri: `${origin}/callback`,
    /** Returns the address that sends the browser, once, to that of the provider. */
    startAt: (url: string) => {
      provider = url;
      return origin + start;
    },
    arrived: arrival(server, timeoutMs),
    /** Waits a moment for the browser to fetch the page that says that its window can be closed. */
    close: async () => {
      if (hasArrived) await Promise.race([shown, new Promise((resolve) => setTimeout(resolve, PAGE_MS))]);
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Returns the status for a request that is not the browser's own, for this address. */
function refusalOf({ method, headers }: IncomingMessage, origin: string): number | undefined {
  if (`http://${headers.host}` !== origin) return 403;
  if ((headers['sec-fetch-mode'] ?? 'navigate') !== 'navigate') return 403;
  return method === 'GET' ? undefined : 405;
}

function arrival(server: Server, timeoutMs: number): Promise<URL> {
  const tooLate = () => {
    const late = `The login in the browser was not finished within ${timeoutMs / 1000} s.`;
    const hint = ['log in again; on a machine without a browser', { command: 'login --device' }];
    throw new GraphException('TIMEOUT', late, { hint });
  };
  const signal = AbortSignal.timeout(timeoutMs);
  const arrived = once(server, 'arrived', { signal }).then(([url]): URL => url, tooLate);
  // The login may fail before it awaits this promise, whose rejection must then not end the process.
  arrived.catch(() => {});
  return arrived;
}
