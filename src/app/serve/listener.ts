import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuseDangerous, resolveInside } from '../../core/call-rules.js';
import { GraphException } from '../../core/errors.js';
import { listenLocally } from '../../run/listen-locally.js';
import { type Door, type ForwardedRequest, Refused } from './door.js';
import { forward } from './forward.js';

const HEADERS_MS = 10_000;
/** Servers close idle connections, and a request sent at that moment is lost, so none is kept for long. */
const KEPT_MS = 4000;
const CLOSE_MS = 2000;

export const OTHER_PORT =
  'choose another port with --port or --service-port, or leave the option out for a free port';

const { getBuiltinModule } = process;

/** Opens a server on loopback that passes requests with the key on, with a login in place of the key. */
export async function openListener(door: Door, port: number) {
  const server = getBuiltinModule('node:http').createServer({
    headersTimeout: HEADERS_MS,
    // A request without a Host is refused like one with another.
    requireHostHeader: false,
    connectionsCheckingInterval: HEADERS_MS / 2,
    // A body may take any time, and so may a connection with the key; another gets no second request on one.
    requestTimeout: 0,
    keepAliveTimeout: 0,
  });
  const { Agent } = getBuiltinModule(door.base.startsWith('https:') ? 'node:https' : 'node:http');
  const by = { ...door, agent: new Agent({ keepAlive: true, timeout: KEPT_MS }) };
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    void pass(request, response, by).catch((error) => answerRefusal(response, error));
  server.on('request', handle);
  // The server behind decides whether the client is to continue.
  server.on('checkContinue', handle);
  server.on('connect', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
  const url = await listenLocally(server, port, OTHER_PORT);
  return {
    url,
    close: async () => {
      const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      await new Promise((resolve) => server.close(resolve));
      clearTimeout(timer);
      by.agent.destroy();
    },
  };
}

function answerRefusal(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const status = error instanceof Refused ? error.status : error instanceof GraphException ? 503 : 500;
  const message = status === 500 ? 'graphcred ran into a bug' : (error as Error).message;
  const code = error instanceof GraphException ? error.code : `GRAPHCRED-${status}`;
  const body = JSON.stringify({ error: true, code, message: `graphcred proxy: ${message}` });
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    // What the client still sends is not read.
    connection: 'close',
  });
  response.end(body);
}

async function pass(request: IncomingMessage, response: ServerResponse, by: ForwardedRequest['by']) {
  const { url = '', method = '', headers, socket } = request;
  const { key, base, restPath } = by;
  const [, port] = /^(?:127\.0\.0\.1|localhost|\[::1\]):(\d+)$/i.exec(headers.host ?? '') ?? [];
  if (port !== String(socket.localPort))
    throw new Refused(403, 'the Host header does not match this address');
  const scheme = schemeOf(headers.authorization, key);
  if (scheme === undefined)
    throw new Refused(401, 'the header Authorization does not hold the key of this proxy');
  if (!/^(?:chunked)?$/i.test(headers['transfer-encoding'] ?? ''))
    throw new Refused(501, 'the only Transfer-Encoding that is passed on is chunked');
  const isRest = restPath !== undefined && url.startsWith(restPath);
  const prefix = isRest ? restPath.slice(0, -1) : '';
  const inside = refusingWith(400, () => resolveInside(base + prefix, url.slice(prefix.length)));
  refusingWith(403, () => refuseDangerous(method, inside));
  const login = await (isRest || scheme === 'bearer' ? by.tokens.get() : by.gsqlLogin?.());
  if (login === undefined)
    throw new Refused(
      403,
      'there is no login for the GSQL server: start the proxy with a password, or (3.6.2 and later) a secret',
    );
  const path = base.slice(inside.origin.length) + url;
  await forward({ request, response, url: inside, path, by, body: [] }, login);
}

function refusingWith<T>(status: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Refused(status, error instanceof GraphException ? error.message : 'the path is malformed');
  }
}

function schemeOf(authorization = '', key: string): 'bearer' | 'basic' | undefined {
  const [, scheme = '', value = ''] = /^(bearer|basic) +([^ ]+)$/i.exec(authorization) ?? [];
  const isBasic = scheme.toLowerCase() === 'basic';
  const login = isBasic ? Buffer.from(value, 'base64').toString() : '';
  // In Basic the key is the password, and any user name will do.
  const given = isBasic ? login.slice(login.indexOf(':') + 1) : value;
  const [left, right] = [Buffer.from(given), Buffer.from(key)];
  // The comparison takes the same time whatever is given.
  const isKey = left.length === right.length && getBuiltinModule('node:crypto').timingSafeEqual(left, right);
  return isKey ? (isBasic ? 'basic' : 'bearer') : undefined;
}
