import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIPv4 } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Call, Reply } from './call.js';

/** Long enough for a client to read the text and the trailer separately, as from a real server. */
const TRAILER_PAUSE_MS = 5;

/** Returns the address to listen on. Throws for anything that could be reached from another machine. */
export function loopback(host: string): string {
  if (host === 'localhost') return '127.0.0.1';
  if (host === '::1' || (isIPv4(host) && host.startsWith('127.'))) return host;
  throw new Error(`The sandbox listens on loopback addresses only; use --host 127.0.0.1, not ${host}.`);
}

export async function listen(server: Server, port: number, host: string): Promise<void> {
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'is taken' : `cannot be opened (${code})`;
    throw new Error(`Port ${port} on ${host} ${why}; choose another one, or 0 for any free port.`);
  }
}

export async function readCall(server: Call['server'], req: IncomingMessage): Promise<Call> {
  const [path = '/', ...query] = (req.url ?? '/').split('?');
  return {
    server,
    method: req.method ?? 'GET',
    path,
    query: new URLSearchParams(query.join('?')),
    headers: req.headers,
    body: await text(req),
  };
}

export async function send(res: ServerResponse, { status, headers, body, trailer }: Reply): Promise<void> {
  if (trailer === undefined) {
    const bytes = Buffer.from(body);
    res.writeHead(status, { ...headers, 'Content-Length': String(bytes.length) }).end(bytes);
    return;
  }
  res.writeHead(status, headers);
  for (const line of body.split(/(?<=\n)/)) await new Promise((written) => res.write(line, written));
  if (trailer !== '') await delay(TRAILER_PAUSE_MS);
  res.end(trailer);
}
