import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphException } from '../../core/errors.js';
import { listenLocally } from '../serve/listen-locally.js';

/** The address on this machine to which the provider sends the browser back. */
export interface Callback {
  readonly redirectUri: string;
  /** Returns the address that sends the browser, once, to that of the provider. */
  startAt(url: string): string;
  /** The address that the browser came back with. */
  readonly arrived: Promise<URL>;
  /** Waits a moment for the browser to fetch the page that says that its window can be closed. */
  close(): Promise<void>;
}

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

interface PendingLogin {
  readonly state: string;
  /** The path at which the browser starts, and gets the cookie. */
  readonly start: string;
  readonly cookie: string;
  /** The provider's address, until the browser has been sent there. */
  provider?: string | undefined;
  hasArrived: boolean;
}

/**
 * Waits on loopback for the browser. What comes with another `state`, without the cookie, or from a page's script, is
 * refused and the waiting goes on, so that a neighbour who reads the list of processes can neither end the login nor
 * complete it.
 * @param port 0 for a free one
 * @throws GraphException USAGE when the port is taken, TIMEOUT
 */
export async function awaitCallback(port: number, state: string, timeoutMs: number): Promise<Callback> {
  const { createServer } = process.getBuiltinModule('node:http');
  const { randomUUID } = process.getBuiltinModule('node:crypto');
  const pending: PendingLogin = {
    state,
    start: `/${randomUUID()}`,
    cookie: randomUUID(),
    hasArrived: false,
  };
  const server = createServer({ headersTimeout: 10_000 }, (request, response) => {
    if (!URL.canParse(request.url ?? '/', origin)) return answer(response, 400, '');
    const url = new URL(request.url ?? '/', origin);
    const status = judge(request, url, origin, pending);
    if (status === 200) response.once('finish', () => server.emit('shown'));
    answer(response, status, status === 200 ? PAGE : '', headersFor(status, url, pending));
    if (status === 302) pending.provider = undefined;
    if (status !== 303) return;
    pending.hasArrived = true;
    server.emit('arrived', url);
  });
  const shown = new Promise<void>((resolve) => server.once('shown', resolve));
  const origin = await listenLocally(
    server,
    port,
    'end the other program, set another oidc.port, or log in with --device',
    ', so no browser can come back to it',
  );
  const arrived = new Promise<URL>((resolve, reject) => {
    const late = `Nobody came back from the browser in ${timeoutMs / 1000} s.`;
    const hint = ['log in again; on a machine without a browser', { command: 'login --device' }];
    server.once('arrived', resolve);
    setTimeout(() => reject(new GraphException('TIMEOUT', late, { hint })), timeoutMs).unref();
  });
  // The login may fail before it awaits this promise, whose rejection must then not end the process.
  arrived.catch(() => {});
  return {
    redirectUri: `${origin}/callback`,
    startAt: (url) => {
      pending.provider = url;
      return `${origin}${pending.start}`;
    },
    arrived,
    close: async () => {
      if (pending.hasArrived)
        await Promise.race([shown, new Promise((resolve) => setTimeout(resolve, PAGE_MS))]);
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Returns the status to answer with; 302 for the browser that starts, 303 for the one callback that counts. */
function judge(
  { method, headers }: IncomingMessage,
  { pathname, searchParams, port }: URL,
  origin: string,
  { state, start, cookie, provider, hasArrived }: PendingLogin,
): number {
  if (`http://${headers.host}` !== origin) return 403;
  if ((headers['sec-fetch-mode'] ?? 'navigate') !== 'navigate') return 403;
  if (method !== 'GET') return 405;
  if (pathname === '/done') return hasArrived ? 200 : 404;
  if (pathname === start && provider !== undefined) return 302;
  if (pathname !== '/callback') return 404;
  if (!headers.cookie?.split('; ').includes(`${cookieName(port)}=${cookie}`)) return 403;
  if (searchParams.get('state') !== state) return 400;
  return hasArrived ? 409 : 303;
}

/** Browsers share the cookies of all ports of a host. */
const cookieName = (port: string) => `graphcred_${port}`;

function headersFor(
  status: number,
  { port }: URL,
  { provider = '', cookie }: PendingLogin,
): Record<string, string> {
  if (status === 302)
    return {
      location: provider,
      'set-cookie': `${cookieName(port)}=${cookie}; Path=/callback; HttpOnly; SameSite=Lax`,
    };
  // The code leaves the address bar, and the history.
  return status === 303 ? { location: '/done' } : {};
}

function answer(
  response: ServerResponse,
  status: number,
  body: string,
  more: Record<string, string> = {},
): void {
  response.writeHead(status, { ...HEADERS, ...more, connection: 'close' }).end(body);
}
