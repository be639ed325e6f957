import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { expect, onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.js';
import { defined } from '../helpers/defined.js';

/** 14 November 2023, 22:13:20 UTC: the clock of every contract table. */
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

export function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}

/** Users, graphs and credentials from the samples in the protocol notes. */
export const SECRET = 's0000000000000000000000000000001';
export const LOGIN = { Authorization: 'Basic ZGVtb191c2VyOmRlbW9fcGFzcw==' };
export const READER = { Authorization: basic('watcher', 'look-only') };

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

/** The values that every row may use as `{{name}}`. */
export function wellKnown(): Map<string, string> {
  return new Map([
    ['secret', SECRET],
    ['login', LOGIN.Authorization],
    ['second', basic('second', 'pass:with:colons')],
    ['reader', READER.Authorization],
    ['wrongPassword', basic('demo_user', 'wrong')],
    ['secretAsUser', basic('__GSQL__secret', SECRET)],
  ]);
}

/**
 * One line of a contract table. The letters for evidence are those of docs/dev/sandbox.md: R recorded, D documented, C needed by published clients, F
 * field report, A assumed.
 * `{{name}}` in an answer stands for a credential that is new there and is remembered; in a request it stands for a remembered one. The first letter
 * of the name gives its form: `s` and `t` are 32 characters of [a-z0-9], `j` is a JWT, `a` is a generated alias, and `x` is any text.
 */
export interface Row {
  readonly evidence: 'R' | 'D' | 'C' | 'F' | 'A';
  readonly what: string;
  /** The steps of the table that come first. */
  readonly after?: readonly string[];
  /** The name of the sandbox's text that the answer uses; the text is then tried with every status. */
  readonly text?: string;
  readonly options?: SandboxOptions;
  readonly server?: 'rest' | 'gsql';
  readonly request: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Content;
  readonly status: number;
  readonly answer: Content;
  /** The content type of the answer; null means that there must be none. */
  readonly type?: string | null;
}

/** A text, a list of lines, or JSON that is compared byte for byte. */
type Content = string | readonly string[] | object;

function written(content: Content): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.join('\n') : JSON.stringify(content);
}

const FORMS: Record<string, string> = {
  s: '[a-z0-9]{32}',
  t: '[a-z0-9]{32}',
  j: '[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+',
  a: 'AUTO_GENERATED_ALIAS_[a-z0-9]{7}',
  x: '[\\s\\S]*?',
};

export async function play(sandbox: Sandbox, row: Row, memory: Map<string, string>): Promise<void> {
  const recall = (text: string) =>
    text.replace(/\{\{(\w+)\}\}/g, (mark, name: string) => {
      const value = memory.get(name);
      if (value === undefined) throw new Error(`${mark} is not known yet in: ${row.what}`);
      return value;
    });
  const headers = Object.fromEntries(
    Object.entries(row.headers ?? {}).map(([name, value]) => [name, recall(value)]),
  );
  const base = (row.server ?? 'gsql') === 'rest' ? sandbox.restUrl : sandbox.gsqlUrl;
  const reply = await raw(base, recall(row.request), headers, recall(written(row.body ?? '')));

  const names: string[] = [];
  const wanted = written(row.answer);
  const pattern = wanted
    .split(/(\{\{\w+\}\})/)
    .map((part) => {
      const name = /^\{\{(\w+)\}\}$/.exec(part)?.[1];
      if (name === undefined) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      const known = memory.get(name);
      if (known !== undefined) return known.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      names.push(name);
      return `(${FORMS[defined(name[0])]})`;
    })
    .join('');
  const match = new RegExp(`^${pattern}$`).exec(reply.body);
  expect({ status: reply.status, body: match ? wanted : reply.body }).toEqual({
    status: row.status,
    body: wanted,
  });
  if (row.type !== undefined) expect(reply.headers['content-type'] ?? null).toBe(row.type);
  names.forEach((name, i) => {
    memory.set(name, defined(defined(match)[i + 1]));
  });
}
