import type { Agent, IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { GraphException } from '../errors.js';
import { refuseDangerous, resolveInside } from '../raw.js';
import { type Forwarding, forward, type Passage, Refused } from './forward.js';
import { listenLocally } from './listen.js';
import { loginHeader } from './send.js';
import type { Authorization } from './types.js';

export interface DoorOptions extends Forwarding {
  /** What a client must send in place of a credential. */
  readonly key: string;
  /** The port to listen on at 127.0.0.1; 0 for a free one. */
  readonly port: number;
  /** With this begin the paths that are for the REST server; none when absent. The others are for the GSQL server. */
  readonly restPath?: string | undefined;
  /** Returns the login for the GSQL server; undefined when there is none. */
  gsqlLogin(): Promise<Authorization | undefined>;
  /** Called for each request that was answered by the server. */
  onServed(): void;
}

export interface Door {
  readonly url: string;
  /** Stops listening, and ends what is under way after a moment. */
  close(): Promise<void>;
}

/** More connections without a request under way are closed, the oldest first. */
const MOST_IDLE = 256;
const HEADERS_MS = 10_000;
/** Servers close idle connections, and a request sent at that moment is lost, so none is kept for long. */
const KEPT_MS = 4000;
/** The longest body that logs a shell in. */
const LONGEST_LOGIN = 1024;
const CLOSE_MS = 2000;

const { getBuiltinModule } = process;

/**
 * Opens a server on loopback that passes requests with the key on, with a login in place of the key.
 * @throws GraphException USAGE when the port is taken
 */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const server = getBuiltinModule('node:http').createServer({
    headersTimeout: HEADERS_MS,
    connectionsCheckingInterval: HEADERS_MS / 2,
    // A body may take as long as it likes, and clients may keep a connection for as long.
    requestTimeout: 0,
    keepAliveTimeout: 0,
  });
  const idle = limitIdle(server);
  const { Agent } = getBuiltinModule(options.base.startsWith('https:') ? 'node:https' : 'node:http');
  const agent = new Agent({ keepAlive: true, timeout: KEPT_MS });
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    idle.delete(request.socket);
    response.once('close', () => {
      if (!request.socket.destroyed) idle.add(request.socket);
    });
    pass(request, response, options, agent).catch((error) => refuse(response, error));
  };
  server.on('request', handle);
  // The server behind decides whether the client is to continue.
  server.on('checkContinue', handle);
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n');
  });
  const url = await listenLocally(
    server,
    options.port,
    'choose another one with --port or --service-port, or leave it out for a free one',
  );
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
        server.close(() => {
          clearTimeout(timer);
          agent.destroy();
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/** Closes the connection that was idle longest when too many are. */
function limitIdle(server: Server): Set<Socket> {
  const idle = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    idle.add(socket);
    socket.once('close', () => idle.delete(socket));
    if (idle.size <= MOST_IDLE) return;
    const [oldest] = idle;
    oldest?.destroy();
  });
  return idle;
}

/** Answers in the server's place, with a JSON body that says why. */
function refuse(response: ServerResponse, error: unknown): void {
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

async function pass(
  request: IncomingMessage,
  response: ServerResponse,
  options: DoorOptions,
  agent: Agent,
): Promise<void> {
  const { base, servers, tokens } = options;
  const shell = await readShellLogin(request);
  const isLogin = shell !== undefined;
  const { scheme, ...target } = check(request, options, shell ?? request.headers.authorization);
  const login = await (target.server === 'rest' || scheme === 'bearer' ? tokens.get() : options.gsqlLogin());
  if (login === undefined) throw new Refused(403, 'the credential at hand has no login for the GSQL server');
  const body = isLogin ? [Buffer.from(loginHeader(login, base, servers).replace('Basic ', ''))] : [];
  await forward({ request, response, ...target, agent, by: options, isLogin, body }, login);
  options.onServed();
}

/**
 * Returns what the GSQL shell of 3.x logs in with, as a header: it sends the login as the body, and no header. Undefined
 * for every other request.
 */
async function readShellLogin(request: IncomingMessage): Promise<string | undefined> {
  const { url, headers } = request;
  if (url !== '/gsqlserver/gsql/login' || headers.authorization !== undefined) return undefined;
  if (!(Number(headers['content-length']) <= LONGEST_LOGIN)) return undefined;
  const timer = setTimeout(() => request.destroy(), HEADERS_MS);
  const { text } = getBuiltinModule('node:stream/consumers');
  return `Basic ${await text(request).finally(() => clearTimeout(timer))}`;
}

/** Checks all that a request must fulfil before anything is sent on. */
function check(
  { url = '', method = '', headers, socket }: IncomingMessage,
  { key, base, restPath }: DoorOptions,
  authorization: string | undefined,
): Pick<Passage, 'server' | 'url' | 'path'> & { readonly scheme: Scheme } {
  const [, port] = /^(?:127\.0\.0\.1|localhost|\[::1\]):(\d+)$/i.exec(headers.host ?? '') ?? [];
  if (port !== String(socket.localPort))
    throw new Refused(403, 'the Host header is not that of this address');
  const scheme = schemeOf(authorization, key);
  if (scheme === undefined) throw new Refused(401, 'the request does not carry the key');
  // Java's client offers HTTP/2 with its first request, which a server may ignore.
  if (headers.upgrade !== undefined && headers.upgrade !== 'h2c')
    throw new Refused(501, 'another protocol is not passed on');
  const isRest = restPath !== undefined && url.startsWith(restPath);
  const prefix = isRest ? restPath.slice(0, -1) : '';
  const inside = refusingWith(400, () => resolveInside(base + prefix, url.slice(prefix.length)));
  refusingWith(403, () => refuseDangerous(method, inside));
  return {
    scheme,
    server: isRest ? 'rest' : 'service',
    url: inside,
    path: base.slice(inside.origin.length) + url,
  };
}

function refusingWith<T>(status: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Refused(status, error instanceof GraphException ? error.message : 'the path is malformed');
  }
}

/** How a request carries the key. */
type Scheme = 'bearer' | 'basic';

/** Returns the scheme with which a request carries the key; undefined when it does not. */
function schemeOf(authorization = '', key: string): Scheme | undefined {
  const [, scheme = '', value = ''] = /^(bearer|basic) +([^ ]+)$/i.exec(authorization) ?? [];
  const isBasic = scheme.toLowerCase() === 'basic';
  const given = isBasic
    ? Buffer.from(value, 'base64')
        .toString()
        .replace(/^[^:]*:/, '')
    : value;
  const [left, right] = [Buffer.from(given), Buffer.from(key)];
  // The comparison takes the same time whatever is given.
  const isKey = left.length === right.length && getBuiltinModule('node:crypto').timingSafeEqual(left, right);
  return isKey ? (isBasic ? 'basic' : 'bearer') : undefined;
}
