import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Question } from './question.js';
import { fillIn, fillUrl, type Values } from './values.js';

/** A pair of servers. Credentials are sent to these two base URLs and nowhere else. */
export interface Target {
  readonly gsqlUrl: string;
  readonly restUrl: string;
  /** The URL with port 9000, which 4.x does not use; undefined if that port is known to be closed. */
  readonly oldRestUrl: string | undefined;
  readonly tls?: { readonly ca?: string; readonly rejectUnauthorized?: boolean };
  readonly wait: (seconds: number, signal: AbortSignal | undefined) => Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The time by the server's clock, in Unix seconds. */
  readonly time: number;
}

/** The reason why no answer came, in one word. */
export interface Failure {
  readonly failure: string;
}

const HEADERS = ['content-type', 'www-authenticate', 'location'];
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 1024 * 1024;

/** Sends one request and reads the answer. It follows no redirect and uses no proxy. */
export async function send(
  target: Target,
  question: Question,
  values: Values,
  signal?: AbortSignal,
): Promise<Answer | Failure> {
  const { server, method, login } = question;
  const base = { rest: target.restUrl, gsql: target.gsqlUrl, 'old-rest': target.oldRestUrl }[server];
  if (base === undefined) return { failure: 'refused' };
  if (server === 'old-rest' && (login ?? question.json ?? question.text) !== undefined) {
    throw new Error('Nothing but a plain request may go to the old REST port.');
  }
  const url = new URL(base + fillUrl(question.path, values));
  for (const [name, value] of Object.entries(question.query ?? {})) {
    url.searchParams.set(name, fillIn(value, values));
  }
  const body = bodyOf(question, values);
  const headers: Record<string, string | number> = { 'User-Agent': 'graphcred-conformance' };
  if (body !== undefined) {
    headers['Content-Type'] = question.json ? 'application/json' : 'text/plain';
    if (question.path.startsWith('/gsqlserver/gsql/'))
      headers['Content-Type'] = 'application/x-www-form-urlencoded';
    headers['Content-Length'] = Buffer.byteLength(body);
  }
  const authorization = authorizationOf(question, values);
  if (authorization !== undefined) headers.Authorization = authorization;
  const options = { method, headers, timeout: TIMEOUT_MS, ...(signal && { signal }) };
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      if (signal?.aborted) reject(error);
      else resolve({ failure: error.code === 'ECONNREFUSED' ? 'refused' : (error.code ?? 'cut') });
    };
    const sent =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, ...target.tls })
        : requestHttp(url, options);
    const deadline = setTimeout(() => sent.destroy(timedOut()), TIMEOUT_MS);
    sent.on('error', fail).on('close', () => clearTimeout(deadline));
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_BYTES)
          sent.destroy(Object.assign(new Error('The answer is too long.'), { code: 'ETOOLONG' }));
        else chunks.push(chunk);
      });
      response.on('error', fail);
      response.on('end', () => {
        const kept = HEADERS.flatMap((name) => {
          const value = response.headers[name];
          return value === undefined ? [] : [[name, String(value)] as const];
        });
        const date = Date.parse(response.headers.date ?? '');
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(kept),
          body: Buffer.concat(chunks).toString(),
          time: Math.floor((Number.isNaN(date) ? Date.now() : date) / 1000),
        });
      });
    });
    sent.end(body);
  });
}

function timedOut(): Error {
  return Object.assign(new Error('The server did not answer in time.'), { code: 'ETIMEDOUT' });
}

function bodyOf({ json, text, path }: Question, values: Values): string | undefined {
  if (json !== undefined) {
    return JSON.stringify(json, (_, value) => (typeof value === 'string' ? fillIn(value, values) : value));
  }
  if (text === undefined) return undefined;
  const filled = fillIn(text, values);
  return path === '/gsqlserver/gsql/file' ? encodeURIComponent(filled) : filled;
}

function authorizationOf({ login }: Question, values: Values): string | undefined {
  if (login === undefined) return undefined;
  if (typeof login === 'object') {
    return 'bearer' in login
      ? `Bearer ${values.get(login.bearer)}`
      : `GSQL-Secret ${values.get(login.secret)}`;
  }
  const password = values.get(login === 'password' ? 'password' : 'wrongPassword');
  return `Basic ${Buffer.from(`${values.get('user')}:${password}`).toString('base64')}`;
}
