import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, expect } from 'vitest';
import { type ConnectionOptions, GraphConnection, GraphException } from '../../src/index.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';

/** One server of each generation. */
export const SERVERS = [
  { generation: '3.0', serverVersion: '3.2.0' },
  { generation: '3.5', serverVersion: '3.10.1' },
  { generation: '4', serverVersion: '4.1.2' },
] as const;

export const SERVERS_3 = SERVERS.filter(({ generation }) => generation !== '4');

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

export function cleanUp(close: () => unknown): void {
  open.push(close);
}

type Vary = (options: SandboxOptions) => SandboxOptions;
let vary: Vary = (options) => options;

/** From now on the sandboxes of this file answer otherwise; what a test asks for itself stays. */
export function varySandboxes(with_: Vary): void {
  vary = with_;
}

export async function sandbox(asked: SandboxOptions): Promise<Sandbox> {
  const options = vary(asked);
  // On 4.x a REST port is opened only when asked for, and what these tests talk to is behind the other one.
  const restPort = options.serverVersion?.startsWith('4') ? {} : { restPort: 0 };
  const started = await startSandbox({ gsqlPort: 0, ...restPort, ...options });
  cleanUp(() => started.close());
  return started;
}

export function connect(to: Sandbox, options: ConnectionOptions = {}): GraphConnection {
  return new GraphConnection({
    restUrl: to.restUrl,
    gsqlUrl: to.gsqlUrl,
    graph: 'demo',
    username: 'tigergraph',
    password: 'tigergraph',
    timeoutMs: 10_000,
    ...options,
  });
}

/** A server that answers as the test says; its base URL. */
export async function rawServer(listener: RequestListener): Promise<string> {
  return listening(createServer(listener));
}

/** Listens on a free port until the test is over; connections still open then are cut. */
export async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What a call was refused with; fails when it was not, or with anything but a GraphException. */
export async function refusalOf(call: Promise<unknown>): Promise<GraphException> {
  const error = await call.then(
    (value) => expect.fail(`was not refused, but answered ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GraphException);
  return error as GraphException;
}

/** Everything an error could show, for looking whether a credential is in it. */
export function spilled(error: Error): string {
  const own = Object.getOwnPropertyNames(error).map((name) => String(Reflect.get(error, name)));
  return [...own, String(error), JSON.stringify(error), String(error.cause)].join('\n');
}
