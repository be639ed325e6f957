import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Call, failure, type Reply } from './call.js';
import { ACTIONS, type Fault, takeHits } from './faults.js';
import { listen, loopback, readCall, send } from './http.js';
import { describe, maskPath, type RequestLogEntry } from './request-log.js';
import { answer } from './routes.js';
import { replyOf } from './say.js';
import { parseServerVersion } from './server-version.js';
import { emptyState, loadState, revokeAll, seed, stateWriter } from './state.js';
import { SWITCHES } from './switches.js';
import type { SandboxOptions, World } from './world.js';

export type { Fault } from './faults.js';
export type { SandboxOptions } from './world.js';

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

const MOST_REQUESTS = 1000;

/** What one sandbox has beside the world of its handlers. */
interface Running {
  readonly world: World;
  readonly save: (() => void) | undefined;
  readonly servers: Server[];
  readonly sockets: Set<Socket>;
  readonly closing: AbortController;
}

/** Starts both servers. Rejects with a plain sentence when an option is not valid or a port is in use. */
export async function startSandbox(options: SandboxOptions = {}) {
  const version = parseServerVersion(options.serverVersion ?? '3.10.1');
  const state = (options.stateFile && loadState(options.stateFile)) || emptyState();
  const save = options.stateFile ? stateWriter(options.stateFile, state) : undefined;
  const now = options.now ?? Date.now;
  const world: World = {
    options,
    version,
    state,
    switches: { ...SWITCHES, ...options.switches },
    faults: (options.faults ?? []).map((fault) => ({ fault, seen: 0 })),
    throttle: new Map(),
    requests: [],
    clockOffset: 0,
    now: () => now() + world.clockOffset * 1000,
  };
  const running: Running = { world, save, servers: [], sockets: new Set(), closing: new AbortController() };
  const { user, graph } = seed(state, options, version.generation);
  const close = () => closeServers(running);

  let gsqlUrl: string;
  let restUrl: string;
  try {
    gsqlUrl = await openPort(running, 'gsql', options.gsqlPort ?? 14240);
    restUrl = `${gsqlUrl}/restpp`;
    if (version.generation !== '4') restUrl = await openPort(running, 'rest', options.restPort ?? 9000);
    else if (options.restPort !== undefined) await openPort(running, 'rest', options.restPort);
    save?.();
  } catch (error) {
    await close();
    throw error;
  }

  const { name: username, password } = user;
  const ready = { restUrl, gsqlUrl, serverVersion: version.text, username, password, graph };
  return {
    ...ready,
    requests: world.requests,
    switches: world.switches,
    /** Returns how many calls the fault has matched, as a number that grows. */
    addFault(fault: Fault): { readonly seen: number } {
      const armed = { fault, seen: 0 };
      world.faults.push(armed);
      return armed;
    },
    /** Resolves when both ports are closed; open connections are cut at once. */
    close,
    readyLine: () => JSON.stringify(ready),
  };
}

/** Computes the answer. Changes of the state are written to the file before the answer is sent. */
function handle({ world, save }: Running, call: Call): Reply {
  const reply = replyOf(() => answer(world, call)) ?? unknown(world, call);
  save?.();
  return reply;
}

function unknown(world: World, call: Call): Reply {
  const shown = `${call.method} ${maskPath(call.path, world.state)}`;
  world.options.warn?.(
    `The sandbox does not imitate ${shown} on the ${call.server} port of ${world.version.text}; it answered 501.`,
  );
  return failure(501, `The sandbox does not imitate ${shown}.`);
}

async function serve(running: Running, server: Call['server'], req: IncomingMessage, res: ServerResponse) {
  const { world } = running;
  const started = performance.now();
  const call = await readCall(server, req);
  const entry = describe(call, world.state);
  const hits = takeHits(world.faults, call.method, call.path);
  const status = await perform(running, call, res, hits);
  const logged: RequestLogEntry = {
    time: new Date(world.now()).toISOString(),
    ...entry,
    status,
    milliseconds: Math.round(performance.now() - started),
    faults: hits.map((fault) => fault.action),
  };
  world.requests.push(logged);
  if (world.requests.length > MOST_REQUESTS) world.requests.shift();
  world.options.log?.(JSON.stringify(logged));
}

/** Answers the call: delays, clocks and revocations add up, then the first other fault. Returns the status, or 0. */
async function perform(running: Running, call: Call, res: ServerResponse, hits: Fault[]): Promise<number> {
  const { world, closing } = running;
  let decisive: Fault | undefined;
  for (const fault of hits) {
    if (fault.action === 'clock') world.clockOffset = fault.seconds ?? 0;
    else if (fault.action === 'revoke') revokeAll(world.state);
    else if (fault.action === 'delay') await delay(fault.ms ?? 1000, undefined, { signal: closing.signal });
    else decisive ??= fault;
  }
  const instead = decisive && ACTIONS[decisive.action];
  const reply = decisive && instead ? instead(decisive) : handle(running, call);
  if (!reply || decisive?.action === 'drop-after') {
    res.socket?.destroy();
    return 0;
  }
  const dated = { ...reply, headers: { ...reply.headers, Date: new Date(world.now()).toUTCString() } };
  if (decisive && !instead) await sendBroken(res, dated, decisive);
  else await send(res, dated);
  return reply.status;
}

/** Sends half of an answer, or the body that the fault names; `truncate` then cuts the connection. */
async function sendBroken(res: ServerResponse, reply: Reply, broken: Fault): Promise<void> {
  const { status, headers, trailer = '' } = reply;
  const body = Buffer.from(broken.body ?? reply.body + trailer);
  const half = body.subarray(0, Math.max(1, Math.floor(body.length / 2)));
  if (broken.action === 'malformed')
    return send(res, { status, headers, body: broken.body ?? half.toString() });
  res.writeHead(status, { ...headers, 'Content-Length': String(Math.max(2, body.length)) });
  res.write(half, () => res.socket?.destroy());
}

async function openPort(running: Running, server: Call['server'], port: number): Promise<string> {
  const { options } = running.world;
  const host = loopback(options.host ?? '127.0.0.1');
  const created = options.tls ? tlsServer(options.tls) : createServer();
  created.on('request', (req, res) => {
    serve(running, server, req, res).catch((error) => fail(running, req, res, error));
  });
  // Pooled connections of clients must not be closed between two calls.
  created.keepAliveTimeout = 120_000;
  // `closeAllConnections` does not know a connection whose TLS handshake has not ended.
  created.on('connection', (socket: Socket) => {
    running.sockets.add(socket);
    socket.on('close', () => running.sockets.delete(socket));
  });
  await listen(created, port, host);
  running.servers.push(created);
  const shown = host.includes(':') ? `[${host}]` : (options.host ?? host);
  return `${options.tls ? 'https' : 'http'}://${shown}:${(created.address() as AddressInfo).port}`;
}

function tlsServer(tls: { cert: string; key: string }): Server {
  try {
    return createTlsServer({ ...tls });
  } catch {
    throw new Error('The certificate and its key cannot be used; give two PEM files that belong together.');
  }
}

function fail({ closing, world }: Running, req: IncomingMessage, res: ServerResponse, error: Error): void {
  if (closing.signal.aborted || res.destroyed) return;
  world.options.warn?.(`The sandbox failed on ${req.method} (${error.message}).`);
  if (!res.headersSent) res.writeHead(500);
  res.end();
}

async function closeServers({ closing, servers, sockets }: Running): Promise<void> {
  closing.abort();
  const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
}
