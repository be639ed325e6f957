import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Call, json, type Reply } from './call.js';
import { control } from './control.js';
import { delayOf, type Fault, faultList, faultReply } from './faults/faults.js';
import { head, listen, loopback, readCall, send } from './http.js';
import { loadState, stateWriter } from './persistence.js';
import { describe, maskPath, type RequestLogEntry } from './request-log.js';
import { answer } from './routes.js';
import { chooseTexts } from './say.js';
import { seed } from './seed.js';
import { parseServerVersion, spoken } from './server-version.js';
import { emptyState } from './state.js';
import { initialSwitches, setSwitches } from './switches.js';
import type { Sandbox, SandboxOptions } from './types.js';
import type { World } from './world.js';

export type { Fault } from './faults/faults.js';
export type { Sandbox, SandboxOptions } from './types.js';

const MAX_REQUESTS = 1000;
const MAX_UNKNOWN = 100;

/** Starts both servers. Rejects with a plain sentence when an option is not valid or a port is in use. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const version = parseServerVersion(options.serverVersion ?? '3.10.1');
  const host = loopback(options.host ?? '127.0.0.1');
  const restAuth = oneOf('REST authentication', options.restAuth ?? 'on', ['on', 'off']);
  const lifetimeUnit = oneOf('the lifetime unit', options.lifetimeUnit ?? 's', ['s', 'ms']);
  const state = (options.stateFile && loadState(options.stateFile)) || emptyState();
  const switches = initialSwitches();
  setSwitches(switches, options.switches ?? {});
  const first = seed(state, options, spoken(version, switches).generation);
  const save = options.stateFile ? stateWriter(options.stateFile, state) : undefined;

  const now = options.now ?? Date.now;
  const faults = faultList();
  for (const fault of options.faults ?? []) faults.add(fault);
  const requests: RequestLogEntry[] = [];
  const unknownRoutes: string[] = [];
  let clockOffset = 0;
  let dirty = false;

  const world: World = {
    get version() {
      return spoken(version, this.switches);
    },
    state,
    switches,
    texts: new Map(),
    finished: new Map(),
    restAuth: restAuth === 'on',
    lifetimeUnit,
    throttle: new Map(),
    now: () => now() + clockOffset * 1000,
    changed: () => {
      dirty = true;
    },
    warn: (line) => options.warn?.(line),
  };
  chooseTexts(world.texts, options.texts ?? {});
  const setClockOffset = (seconds: number) => {
    clockOffset = seconds;
  };

  /** Computes the answer. Changes of the state are written to the file before the answer is sent. */
  const handle = async (call: Call): Promise<Reply> => {
    dirty = false;
    const reply = answer(world, call) ?? unknown(call);
    if (dirty) await save?.();
    return reply;
  };

  const unknown = (call: Call): Reply => {
    const shown = `${call.method} ${maskPath(call.path, state)}`;
    unknownRoutes.push(shown);
    if (unknownRoutes.length > MAX_UNKNOWN) unknownRoutes.shift();
    world.warn(
      `The sandbox does not imitate ${shown} on the ${call.server} port of ${version.text}; it answered 501.`,
    );
    return json(501, { error: true, message: `The sandbox does not imitate ${shown}.` });
  };

  const serve = async (server: 'rest' | 'gsql', req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const started = performance.now();
    const call = await readCall(server, req);
    if (!call) {
      res.writeHead(413, { Connection: 'close' }).end();
      return;
    }
    if (call.path.startsWith('/__sandbox/')) {
      await send(res, control(call, { world, faults, requests, unknownRoutes, setClockOffset }), world.now());
      return;
    }
    const entry = describe(call, state);
    const hits = faults.matching(call.method, call.path);
    const status = await perform(call, res, hits);
    const logged: RequestLogEntry = {
      time: new Date(world.now()).toISOString(),
      server,
      method: call.method,
      ...entry,
      status,
      milliseconds: Math.round(performance.now() - started),
      faults: hits.map((fault) => fault.action),
    };
    requests.push(logged);
    if (requests.length > MAX_REQUESTS) requests.shift();
    options.log?.(JSON.stringify(logged));
  };

  /** Answers the call, faults included; returns the status sent, 0 for none. */
  const perform = async (call: Call, res: ServerResponse, hits: Fault[]): Promise<number> => {
    for (const fault of hits) {
      if (fault.action === 'clock') setClockOffset(fault.seconds ?? 0);
      const ms = delayOf(fault);
      if (ms > 0) await delay(ms, undefined, { signal: closing.signal });
    }
    if (hits.some((fault) => fault.action === 'drop-before')) {
      res.socket?.destroy();
      return 0;
    }
    const replaced = hits.map((fault) => faultReply(world, fault)).find((reply) => reply !== undefined);
    const reply = replaced ?? (await handle(call));
    if (hits.some((fault) => fault.action === 'drop-after')) {
      res.socket?.destroy();
      return 0;
    }
    const broken = hits.find((fault) => fault.action === 'truncate' || fault.action === 'malformed');
    if (!broken) {
      await send(res, reply, world.now());
      return reply.status;
    }
    const body = Buffer.from(broken.body ?? reply.body + (reply.trailer ?? ''));
    const half = body.subarray(0, Math.max(1, Math.floor(body.length / 2)));
    if (broken.action === 'malformed') {
      const { trailer: _, ...whole } = reply;
      await send(res, { ...whole, body: broken.body ?? half.toString() }, world.now());
    } else {
      res.writeHead(reply.status, {
        ...head(reply, world.now()),
        'Content-Length': String(Math.max(2, body.length)),
      });
      res.write(half, () => res.socket?.destroy());
    }
    return reply.status;
  };

  const closing = new AbortController();
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  const open = async (server: 'rest' | 'gsql', port: number): Promise<string> => {
    const listener: RequestListener = (req, res) => {
      serve(server, req, res).catch((error: unknown) => {
        if (closing.signal.aborted || res.destroyed) {
          res.destroy();
          return;
        }
        world.warn(
          `The sandbox failed on ${req.method} (${error instanceof Error ? error.message : 'unknown'}).`,
        );
        if (!res.headersSent) res.writeHead(500);
        res.end();
      });
    };
    const created = options.tls ? tlsServer(options.tls, listener) : createServer(listener);
    // Pooled connections of clients must not be closed between two calls.
    created.keepAliveTimeout = 120_000;
    created.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    servers.push(await listen(created, port, host));
    const scheme = options.tls ? 'https' : 'http';
    const shown = host.includes(':') ? `[${host}]` : (options.host ?? host);
    return `${scheme}://${shown}:${(created.address() as AddressInfo).port}`;
  };

  const close = async () => {
    closing.abort();
    const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
    await save?.().catch(() => undefined);
  };

  const major4 = version.generation === '4';
  let gsqlUrl: string;
  let restUrl: string;
  try {
    gsqlUrl = await open('gsql', options.gsqlPort ?? 14240);
    restUrl = `${gsqlUrl}/restpp`;
    if (!major4) restUrl = await open('rest', options.restPort ?? 9000);
    else if (options.restPort !== undefined) await open('rest', options.restPort);
    await save?.().catch((error: NodeJS.ErrnoException) => {
      throw new Error(
        `The state file ${options.stateFile} cannot be written (${error.code}); name another file.`,
      );
    });
  } catch (error) {
    await close();
    throw error;
  }

  return {
    restUrl,
    gsqlUrl,
    serverVersion: version.text,
    username: first.user.name,
    password: first.user.password,
    graph: first.graph,
    requests,
    unknownRoutes,
    addFault: (fault) => faults.add(fault),
    setClockOffset,
    close,
    readyLine: () =>
      JSON.stringify({
        restUrl,
        gsqlUrl,
        serverVersion: version.text,
        username: first.user.name,
        password: first.user.password,
        graph: first.graph,
      }),
  };
}

function oneOf<T extends string>(what: string, given: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === given);
  if (found === undefined) throw new Error(`For ${what} give ${allowed.join(' or ')}, not ${given}.`);
  return found;
}

function tlsServer(tls: { cert: string; key: string }, listener: RequestListener): Server {
  try {
    return createTlsServer({ ...tls }, listener);
  } catch {
    throw new Error('The certificate and its key cannot be used; give two PEM files that belong together.');
  }
}
