import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Servers } from '../endpoints.js';
import { GraphException } from '../errors.js';
import { refuseDangerous, resolveInside, TOKEN_REFUSED } from '../raw.js';
import { routeTo } from './proxy.js';
import { loginHeader } from './send.js';
import { bareHost, type ProxyRoute, type RequestOptions, tlsSettings } from './transport.js';
import type { Authorization, ProxyOptions, TlsOptions } from './types.js';

/** What a request asks for: one of the two servers, and the login that is to be put into it. */
export interface Wanted {
  readonly server: 'rest' | 'service';
  readonly scheme: 'Bearer' | 'Basic';
}

export interface DoorOptions {
  /** What a client must send in place of a credential. */
  readonly key: string;
  /** The port to listen on at 127.0.0.1; 0 for a free one. */
  readonly port: number;
  readonly servers: Servers;
  /** Returns the server that a path is for, and the path on that server. */
  route(path: string): { readonly server: Wanted['server']; readonly path: string };
  /** Returns the login; undefined when there is none for that server. Throws when no token can be had. */
  login(wanted: Wanted): Promise<Authorization | undefined>;
  /** Returns the login to try once more with after a refusal; undefined to pass the refusal on. */
  again(refused: Authorization): Promise<Authorization | undefined>;
  /** Called when that login was refused as well. */
  onFutile(): void;
  /** Called for each request that was answered by the server. */
  onServed(): void;
  readonly tls: TlsOptions;
  readonly proxy: ProxyOptions;
  /** How long to wait for a connection, and for the first byte of an answer, in ms. */
  readonly timeoutMs: number;
}

export interface Door {
  readonly port: number;
  /** Stops to listen, and ends what is under way after a moment. */
  close(): Promise<void>;
}

/** A larger body is not kept to be sent again. */
const MOST_KEPT = 1024 * 1024;
/** A refusal is short, so a longer answer is none. */
const LONGEST_REFUSAL = 16_384;
/** More connections without a request under way are closed, the oldest first. */
const MOST_IDLE = 256;
const HEADERS_MS = 10_000;
const CLOSE_MS = 2000;
/** A server may close an idle connection at any time, so none is kept for long. */
const KEPT_MS = 4000;
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Opens a server on loopback that passes requests with the key on, with a login in place of the key. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const http = process.getBuiltinModule('node:http');
  const agents = new Map<string, Agent>();
  const server = http.createServer({
    headersTimeout: HEADERS_MS,
    connectionsCheckingInterval: HEADERS_MS / 2,
    // A body may take as long as it likes.
    requestTimeout: 0,
  });
  const idle = limitIdle(server);
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    idle.delete(request.socket);
    response.once('close', () => {
      if (!request.socket.destroyed) idle.add(request.socket);
    });
    new Passage(request, response, options, agents).run().catch((error) => refuse(response, error));
  };
  server.on('request', handle);
  // `handle` asks the server, which decides whether the client is to continue.
  server.on('checkContinue', handle);
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
        server.close(() => {
          clearTimeout(timer);
          for (const agent of agents.values()) agent.destroy();
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

/** An answer of the door itself. */
class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
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

/** Where a request goes, and its path as it was written. */
interface Target {
  /** The base URL of the server. */
  readonly base: string;
  readonly url: URL;
  readonly path: string;
}

/** One request on its way through the door. */
class Passage {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: DoorOptions;
  readonly #agents: Map<string, Agent>;
  /** What was read of the body so far, while it may have to be sent again. */
  #kept: Buffer[] | undefined = [];
  #keptBytes = 0;
  #upstream: ClientRequest | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    options: DoorOptions,
    agents: Map<string, Agent>,
  ) {
    this.#request = request;
    this.#response = response;
    this.#options = options;
    this.#agents = agents;
  }

  async run(): Promise<void> {
    const { login, again, onServed, onFutile } = this.#options;
    const { scheme, target, server } = this.#check();
    const used = await login({ server, scheme });
    if (used === undefined) throw new Refused(403, 'the credential at hand has no login for the GSQL server');
    this.#request.on('data', (chunk: Buffer) => this.#keep(chunk));
    this.#request.pause();
    this.#response.once('close', () => this.#upstream?.destroy());
    let reply = await this.#send(target, used);
    const start = await startOf(reply);
    if (used.scheme === 'Bearer' && isRefusal(reply, start)) {
      const next = await again(used).catch(() => undefined);
      if (next && this.#canSendAgain()) {
        if (!reply.readableEnded) reply.destroy();
        this.#request.unpipe();
        reply = await this.#send(target, next);
        const second = await startOf(reply);
        if (isRefusal(reply, second)) onFutile();
        this.#answer(reply, second);
        onServed();
        return;
      }
    }
    this.#answer(reply, start);
    onServed();
  }

  /** Checks all that a request must fulfil before anything is sent on. */
  #check(): Wanted & { target: Target } {
    const { url = '', method = '', headers, socket } = this.#request;
    const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((host) => `${host}:${socket.localPort}`);
    if (!hosts.includes(headers.host?.toLowerCase() ?? ''))
      throw new Refused(403, 'the Host header is not that of this address');
    const scheme = schemeOf(headers.authorization, this.#options.key);
    if (scheme === undefined) throw new Refused(401, 'the request does not carry the key');
    // Java's client offers HTTP/2 with its first request, which a server may ignore.
    if (headers.upgrade !== undefined && headers.upgrade !== 'h2c')
      throw new Refused(501, 'another protocol is not passed on');
    const { servers, route } = this.#options;
    const { path, server } = route(url);
    const base = server === 'rest' ? servers.restUrl : servers.gsqlUrl;
    let inside: URL;
    try {
      inside = resolveInside(base, path);
    } catch (error) {
      throw new Refused(400, error instanceof GraphException ? error.message : 'the path is malformed');
    }
    try {
      refuseDangerous(method, inside);
    } catch (error) {
      throw new Refused(403, (error as Error).message);
    }
    // The path goes on as it was written: the URL class would encode some of it.
    return {
      scheme,
      server,
      target: { base, url: inside, path: new URL(base).pathname.replace(/\/$/, '') + path },
    };
  }

  #keep(chunk: Buffer): void {
    this.#keptBytes += chunk.length;
    if (this.#keptBytes > MOST_KEPT) this.#kept = undefined;
    else this.#kept?.push(chunk);
  }

  #canSendAgain(): boolean {
    const declared = Number(this.#request.headers['content-length'] ?? 0);
    const isWhole = this.#request.complete || declared > 0 || this.#keptBytes === 0;
    return this.#kept !== undefined && declared <= MOST_KEPT && isWhole;
  }

  /** Sends the request, with what was read of its body already, and returns the answer of the server. */
  async #send(target: Target, login: Authorization, isRetry = false): Promise<IncomingMessage> {
    const { timeoutMs } = this.#options;
    const stop = new AbortController();
    const options = await this.#upstreamOptions(target, login, stop.signal);
    const secure = options.protocol === 'https:';
    const upstream = process.getBuiltinModule(secure ? 'node:https' : 'node:http').request(options);
    this.#upstream = upstream;
    if (this.#response.destroyed) upstream.destroy();
    return new Promise((resolve, reject) => {
      const tooLate = (what: string) => () => {
        stop.abort();
        upstream.destroy(new Refused(504, `the server ${what} within ${timeoutMs / 1000} s`));
      };
      let isAnswered = false;
      let timer = setTimeout(tooLate('could not be reached'), timeoutMs);
      upstream.on('socket', (socket) => {
        if (upstream.reusedSocket) clearTimeout(timer);
        else socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(timer));
      });
      upstream.on('finish', () => {
        clearTimeout(timer);
        if (!isAnswered) timer = setTimeout(tooLate('did not answer'), timeoutMs);
      });
      upstream.on('continue', () => this.#response.writeContinue());
      upstream.on('response', (reply) => {
        isAnswered = true;
        clearTimeout(timer);
        resolve(reply);
      });
      upstream.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        const { method = '' } = this.#request;
        // The server closed a kept connection just when the request was sent.
        if (upstream.reusedSocket && !isRetry && SAFE.has(method) && error.code === 'ECONNRESET')
          this.#send(target, login, true).then(resolve, reject);
        else
          reject(
            error instanceof Refused
              ? error
              : new Refused(502, `the server cannot be reached (${error.code ?? 'no answer'})`),
          );
      });
      this.#sendBody(upstream);
    });
  }

  #sendBody(upstream: ClientRequest): void {
    const request = this.#request;
    for (const chunk of this.#kept ?? []) upstream.write(chunk);
    if (request.complete && request.readableEnded) upstream.end();
    else if (hasBody(request)) {
      if (request.headers.expect !== undefined) upstream.flushHeaders();
      request.pipe(upstream);
    } else {
      request.resume();
      upstream.end();
    }
  }

  async #upstreamOptions(
    { base, url: target, path }: Target,
    login: Authorization,
    stop: AbortSignal,
  ): Promise<RequestOptions> {
    const { tls, proxy, servers } = this.#options;
    const { method = 'GET', rawHeaders, headers } = this.#request;
    const secure = target.protocol === 'https:';
    const kept = passedOn(rawHeaders, headers.connection, ['host', 'authorization']);
    // Without a length, Node would send no body with some methods.
    if (headers['transfer-encoding'] !== undefined) kept.push('Transfer-Encoding', 'chunked');
    const direct: RequestOptions = {
      protocol: target.protocol,
      hostname: bareHost(target),
      port: target.port,
      path,
      method,
      headers: ['Host', target.host, 'Authorization', loginHeader(login, base, servers), ...kept] as never,
      agent: this.#agentFor(secure),
      autoSelectFamilyAttemptTimeout: 1000,
      ...(secure ? tlsSettings(tls) : {}),
    };
    const route: ProxyRoute | undefined = routeTo(target, proxy);
    if (route === undefined) return direct;
    const call = { url: target, method, headers: {}, tls } as unknown as Parameters<ProxyRoute['open']>[0];
    const opened = await route.open(call, direct, stop);
    const { headers: own = {} } = opened;
    if (Array.isArray(own)) return opened;
    // A proxy that is asked in plain HTTP gets its own login besides.
    return {
      ...opened,
      headers: [
        ...(direct.headers as never as string[]),
        ...Object.entries(own).flatMap(([name, value]) => (name === 'host' ? [] : [name, String(value)])),
      ] as never,
    };
  }

  #agentFor(secure: boolean): Agent {
    const name = secure ? 'node:https' : 'node:http';
    const { Agent } = process.getBuiltinModule(name);
    const agent = this.#agents.get(name) ?? new Agent({ keepAlive: true, timeout: KEPT_MS });
    this.#agents.set(name, agent);
    return agent;
  }

  #answer(reply: IncomingMessage, start: Buffer): void {
    const response = this.#response;
    const { statusCode = 502, statusMessage, rawHeaders, headers } = reply;
    response.sendDate = false;
    response.writeHead(statusCode, statusMessage, passedOn(rawHeaders, headers.connection, []));
    // An answer that was cut off must not look whole.
    reply.on('error', () => response.destroy());
    if (start.length > 0) response.write(start);
    reply.pipe(response);
  }
}

/** Returns the scheme with which a request carries the key; undefined when it does not. */
function schemeOf(authorization: string | undefined, key: string): Wanted['scheme'] | undefined {
  const [, scheme = '', value = ''] = /^(bearer|basic) +([^ ]+)$/i.exec(authorization ?? '') ?? [];
  const isBasic = scheme.toLowerCase() === 'basic';
  const given = isBasic
    ? Buffer.from(value, 'base64')
        .toString()
        .replace(/^[^:]*:/, '')
    : value;
  if (!isSame(given, key)) return undefined;
  return isBasic ? 'Basic' : 'Bearer';
}

/** Compares in constant time. */
function isSame(given: string, key: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(key)];
  return one.length === other.length && process.getBuiltinModule('node:crypto').timingSafeEqual(one, other);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** Returns the headers to pass on, as they were sent: without those of this hop and without `own`. */
function passedOn(raw: readonly string[], connection = '', own: readonly string[]): string[] {
  const ofHop = new Set([...HOP_BY_HOP, ...own, ...connection.toLowerCase().split(/\s*,\s*/)]);
  return raw.filter((_, at) => !ofHop.has((raw[at - (at % 2)] as string).toLowerCase()));
}

/** Reads an answer that may be a refusal, up to the length of one. What was read is to be sent on. */
async function startOf(reply: IncomingMessage): Promise<Buffer> {
  const { statusCode = 0, headers } = reply;
  const length = Number(headers['content-length'] ?? Number.NaN);
  const mayRefuse =
    statusCode === 401 ||
    statusCode === 403 ||
    (length <= LONGEST_REFUSAL && /json/.test(headers['content-type'] ?? ''));
  if (!mayRefuse || length === 0) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let size = 0;
  await new Promise<void>((resolve) => {
    const stop = () => {
      reply.off('data', take).off('end', stop).off('close', stop);
      reply.pause();
      resolve();
    };
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > LONGEST_REFUSAL) stop();
    };
    reply.on('data', take).on('end', stop).on('close', stop);
  });
  return Buffer.concat(chunks);
}

/** Whether the server refuses the token, rather than what was asked for with it. */
function isRefusal({ statusCode = 0 }: IncomingMessage, start: Buffer): boolean {
  const text = start.toString('latin1');
  if (TOKEN_REFUSED.test(text)) return true;
  return statusCode === 401 && !text.includes('REST-10018');
}
