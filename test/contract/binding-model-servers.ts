import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';

export interface Received {
  /** The whole address of the request. */
  readonly url: string;
  /** Method, path, headers and body as received. */
  readonly text: string;
}

/** Two honest databases and one hostile machine, which listens at every port of the other two. */
export interface World {
  readonly honest: readonly { gsql: string; rest: string }[];
  readonly hostile: readonly { gsql: string; rest: string }[];
  readonly received: Received[];
  /** The tokens and secrets that a server has issued since the list was last emptied. */
  readonly givenOut: Set<string>;
  close(): Promise<void>;
}

interface Accounts {
  readonly user: string;
  /** The servers accept all of these, so that no call ends at the first refusal. */
  readonly passwords: readonly string[];
  readonly secrets: readonly string[];
}

const HOSTILE_HOST = '127.0.0.2';
const REAL_PASSWORD = 'the-one-the-sandbox-knows';

export async function startWorld(serverVersion: string, accounts: Accounts): Promise<World> {
  const received: Received[] = [];
  const givenOut = new Set<string>();
  const closing: (() => Promise<unknown>)[] = [];
  const database = async (): Promise<Sandbox> => {
    const sandbox = await startSandbox({
      serverVersion,
      gsqlPort: 0,
      restPort: 0,
      users: [{ name: accounts.user, password: REAL_PASSWORD, role: 'superuser' }],
      secrets: accounts.secrets.map((value, n) => ({
        alias: `seed_${n}`,
        value,
        user: accounts.user,
        graph: 'demo',
      })),
    });
    closing.push(() => sandbox.close());
    return sandbox;
  };
  const front = async (target: string, host: string, port: number) => {
    const server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('end', () => {
        const body = Buffer.concat(chunks);
        received.push({
          url: `${originOf(server, host)}${incoming.url}`,
          text: [
            incoming.method,
            incoming.url,
            ...incoming.rawHeaders,
            body.toString('latin1'),
            body.toString(),
          ].join('\n'),
        });
        const upstream = httpRequest(
          new URL(incoming.url ?? '/', target),
          { method: incoming.method, headers: headersFor(incoming, accounts.passwords) },
          (reply) => {
            const parts: Buffer[] = [];
            reply.on('data', (chunk) => parts.push(chunk));
            reply.on('end', () => {
              const text = Buffer.concat(parts);
              for (const [value] of text.toString().matchAll(/\b[a-z0-9]{32}\b|\beyJ[\w-]+\.[\w-]+\.[\w-]+/g))
                givenOut.add(value);
              outgoing.writeHead(reply.statusCode ?? 500, reply.headers).end(text);
            });
          },
        );
        upstream.on('error', () => outgoing.destroy());
        upstream.end(body);
      });
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, host, resolve);
    });
    closing.push(
      () =>
        new Promise((resolve) => {
          server.close(resolve);
          server.closeAllConnections();
        }),
    );
    return originOf(server, host);
  };
  const fronts = async (sandbox: Sandbox, host: string, ports: readonly [number, number]) => {
    const rest = restPortOf(sandbox);
    return { gsql: await front(sandbox.gsqlUrl, host, ports[0]), rest: await front(rest, host, ports[1]) };
  };
  const honest = [];
  for (let n = 0; n < 2; n++) honest.push(await fronts(await database(), '127.0.0.1', [0, 0]));
  const impostor = await database();
  const hostile = [];
  for (const { gsql, rest } of honest)
    hostile.push(await fronts(impostor, HOSTILE_HOST, [portOf(gsql), portOf(rest)]));
  const close = async () => {
    for (const one of closing.reverse()) await one();
  };
  return { honest, hostile, received, givenOut, close };
}

function originOf(server: Server, host: string): string {
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}

export function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** Starts a REST port that on 4.x answers the same paths as `/restpp` on the other port. */
function restPortOf({ restUrl }: Sandbox): string {
  return restUrl.replace(/\/restpp$/, '');
}

function headersFor({ headers }: IncomingMessage, passwords: readonly string[]): Record<string, string> {
  const own = { ...headers } as Record<string, string>;
  const basic = /^Basic (.*)$/.exec(headers.authorization ?? '')?.[1];
  if (basic === undefined) return own;
  const [, user, password] = /^([^:]*):([\s\S]*)$/.exec(Buffer.from(basic, 'base64').toString()) ?? [];
  if (!passwords.includes(password ?? '')) return own;
  return { ...own, authorization: `Basic ${Buffer.from(`${user}:${REAL_PASSWORD}`).toString('base64')}` };
}
