import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';

/** 14 November 2023, 22:13:20 UTC: the clock of every test. */
export const NOW = 1_700_000_000;

export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The header names as they were sent. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** Sends one request exactly as given; only Host and Content-Length are added. */
export function raw(
  base: string,
  requestLine: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
  ca?: string,
): Promise<RawReply> {
  const [method, path] = requestLine.split(' ') as [string, string];
  const url = new URL(base);
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const req = send(
      {
        host: url.hostname,
        port: url.port,
        method,
        path: url.pathname.replace(/\/$/, '') + path,
        headers: {
          ...headers,
          ...(body === '' ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
        },
        agent: false,
        ...(ca === undefined ? {} : { ca }),
      },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () =>
          resolve({
            status: res.statusCode ?? 0,
            headers: res.headers,
            rawHeaders: res.rawHeaders,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    req.on('error', reject);
    req.end(body);
  });
}

interface Answer {
  readonly status: number;
  readonly error: boolean;
  readonly code?: string;
  readonly message: string;
  readonly token?: string;
  readonly results?: { readonly token?: string };
}

/** Sends a request whose answer is JSON, and returns it with its status. */
export async function ask(
  base: string,
  requestLine: string,
  headers: object = {},
  body: object | string = '',
): Promise<Answer> {
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  const reply = await raw(base, requestLine, headers as Record<string, string>, sent);
  return { status: reply.status, ...(JSON.parse(reply.body) as object) } as Answer;
}

export function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}

/** Users, graphs and credentials from the samples in the protocol notes. */
export const SECRET = 's0000000000000000000000000000001';
export const LOGIN = { Authorization: 'Basic ZGVtb191c2VyOmRlbW9fcGFzcw==' };

export function demo(options: SandboxOptions): Promise<Sandbox> {
  return startSandbox({
    restPort: 0,
    gsqlPort: 0,
    users: [
      { name: 'demo_user', password: 'demo_pass', role: 'superuser' },
      { name: 'second', password: 'pass:with:colons', role: 'admin' },
      { name: 'watcher', password: 'look-only', role: 'reader' },
    ],
    graphs: ['demo_graph', 'other_graph'],
    secrets: [{ alias: 'demo_alias', value: SECRET, user: 'demo_user', graph: 'demo_graph' }],
    now: () => NOW * 1000,
    ...options,
  });
}

/** Starts a demo sandbox that closes when the test has finished. */
export async function start(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await demo(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}
