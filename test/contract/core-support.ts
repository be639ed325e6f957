import { createServer, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import type { Exchange } from '../../src/core/http/types.js';
import type { ServerCall, ServerSession } from '../../src/core/protocol/session.js';
import { versionOf } from '../../src/core/protocol/version.js';
import { type ConnectionOptions, GraphConnection, GraphException } from '../../src/index.js';
import type { Sandbox } from '../../src/sandbox/server.js';
import { listening } from '../helpers/ports.js';

/** One server of each generation. */
export const SERVERS = [
  { generation: '3.0', serverVersion: '3.2.0' },
  { generation: '3.5', serverVersion: '3.10.1' },
  { generation: '4', serverVersion: '4.1.2' },
] as const;

export const SERVERS_3 = SERVERS.filter(({ generation }) => generation !== '4');

export { listening };

/** A session of 3.x, with a login and a graph that was accepted before. `ask` answers each statement behind `USE GRAPH`. */
export function statementSession(ask: (call: ServerCall, statement: string) => Exchange): ServerSession {
  const graph = { graph: 'demo', graphsSeen: new Set(['USE GRAPH demo']) };
  const logins = { token: () => undefined, secretOr: () => undefined, basicLogin: () => ({}) };
  const own = { version: versionOf('3'), ...graph, ...logins };
  const answer = async (call: ServerCall) => {
    const text = decodeURIComponent(String(call.body).replaceAll('+', ' '));
    return ask(call, text.replace('USE GRAPH demo\n', ''));
  };
  return { ...own, ask: answer } as unknown as ServerSession;
}

/** Calls this at the end of the test that runs. */
export function cleanUp(close: () => unknown): void {
  onTestFinished(async () => void (await close()));
}

export { testSandbox as sandbox } from '../helpers/sandbox.js';

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

/** Starts a server that answers as the test says, and returns its base URL. */
export async function rawServer(listener: RequestListener): Promise<string> {
  return listening(createServer(listener));
}

export interface Asked {
  /** Method and path. */
  readonly line: string;
  readonly body: string;
}

export interface Answer {
  readonly status?: number | undefined;
  readonly headers?: Record<string, string> | undefined;
  /** A text, or what is sent as JSON. */
  readonly body: unknown;
}

/** Starts a server that answers each request as `answer` says, and breaks the connection for undefined. */
export async function answering(
  answer: (asked: Asked) => Answer | undefined,
): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const url = await rawServer(async (request, response) => {
    const one = { line: `${request.method} ${request.url}`, body: await text(request) };
    asked.push(one);
    const answered = answer(one);
    if (answered === undefined) return request.socket.destroy();
    const { status = 200, headers, body } = answered;
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  return { url, asked };
}

/** Returns the error of a call. Fails if there is none, or if it is not a GraphException. */
export async function refusalOf(call: Promise<unknown>): Promise<GraphException> {
  const error = await call.then(
    (value) => expect.fail(`was not refused, but answered ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GraphException);
  return error as GraphException;
}

/** Returns every text of an error that could contain a credential. */
export function spilled(error: Error): string {
  const own = Object.getOwnPropertyNames(error).map((name) => String(Reflect.get(error, name)));
  return [...own, String(error), JSON.stringify(error), String(error.cause)].join('\n');
}

/** Returns a 3.x connection whose two servers are both at `url`. */
export function connectionAt(url: string, options: ConnectionOptions = {}): GraphConnection {
  return new GraphConnection({
    restUrl: url,
    gsqlUrl: url,
    graph: 'demo',
    username: 'ada',
    password: 'correct-horse',
    serverVersion: '3.10.1',
    timeoutMs: 5000,
    ...options,
  });
}
