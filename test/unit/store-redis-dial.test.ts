import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { dial } from '../../src/store/redis/dial.js';
import { certificate } from '../helpers/certificate.js';
import { failureOf, openRedis } from '../helpers/redis-store.js';

let own: { cert: string; key: string };
beforeAll(async () => {
  own = await certificate('localhost', '127.0.0.1');
});

/** Starts a TLS server, which writes down the names that it was told and how many connections were made. */
async function startServer(host = 'localhost') {
  const seen = { names: [] as (string | false)[], connections: 0, port: 0 };
  const server = createServer(own, (socket) => {
    seen.names.push((socket as TLSSocket & { servername: string | false }).servername);
    socket.end();
  });
  server.on('connection', () => seen.connections++).on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  seen.port = (server.address() as AddressInfo).port;
  return seen;
}

test('a TLS server is told the host name it was asked for, since several may share its address', async () => {
  const server = await startServer();
  const options = { tls: true, ca: own.cert, timeoutMs: 5000 };
  const stream = await dial({ host: 'localhost', port: server.port }, options);
  await new Promise((resolve) => stream.on('error', () => {}).on('close', resolve));
  expect(server.names).toEqual(['localhost']);
});

test('a server at an address is told no name, for TLS has names of hosts alone', async () => {
  const server = await startServer('127.0.0.1');
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  const options = { tls: true, ca: own.cert, timeoutMs: 5000 };
  const stream = await dial({ host: '127.0.0.1', port: server.port }, options);
  await new Promise((resolve) => stream.on('error', () => {}).on('close', resolve));
  expect(server.names).toEqual([false]);
  expect(warn).not.toHaveBeenCalled();
});

test('a certificate that is not trusted is an error at once, with the setting to check', async () => {
  const server = await startServer();
  const { store } = openRedis(`rediss://localhost:${server.port}`);
  expect(await failureOf(store.check())).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(/: the certificate is self-signed or its CA is unknown$/),
    hint: 'set GRAPHCRED_REDIS_CA to the PEM file of the CA',
    setting: 'redis.ca',
  });
  expect(server.connections).toBe(1);
});
