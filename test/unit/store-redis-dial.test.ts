import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { connect } from '../../src/store/redis/client.js';
import { dial } from '../../src/store/redis/dial.js';
import { certificate } from '../helpers/certificate.js';
import { array, bulk } from '../helpers/hostile-redis.js';
import { failureOf, openRedis } from '../helpers/redis-store.js';

const LIMITS = { silentMs: 5000, totalMs: 5000 };

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
  const options = { tls: true, ca: own.cert, limits: LIMITS };
  const stream = await dial({ host: 'localhost', port: server.port }, options);
  await new Promise((resolve) => stream.on('error', () => {}).on('close', resolve));
  expect(server.names).toEqual(['localhost']);
});

test('a server at an address is told no name, for TLS has names of hosts alone', async () => {
  const server = await startServer('127.0.0.1');
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  const options = { tls: true, ca: own.cert, limits: LIMITS };
  const stream = await dial({ host: '127.0.0.1', port: server.port }, options);
  await new Promise((resolve) => stream.on('error', () => {}).on('close', resolve));
  expect(server.names).toEqual([false]);
  expect(warn).not.toHaveBeenCalled();
});

/** Starts a server that answers everything it gets with `answer`. Returns its port, and its first connection. */
async function startPlain(answer: string | Buffer) {
  const server = net.createServer((socket) => {
    socket.on('error', () => {}).on('data', () => socket.write(answer));
  });
  const connected = once(server, 'connection').then(([socket]) => socket as net.Socket);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, connected };
}

test('a connection that is given up, or whose login is refused, is closed', async () => {
  const silent = await startPlain('');
  const options = { tls: true, ca: own.cert, limits: { silentMs: 30, totalMs: 30 } };
  const dialled = failureOf(dial({ host: '127.0.0.1', port: silent.port }, options) as Promise<unknown>);
  const [given] = await Promise.all([silent.connected.then((socket) => once(socket, 'close')), dialled]);
  expect(given).toHaveLength(1);
  const refusing = await startPlain('-WRONGPASS no\r\n');
  const { store } = openRedis(`redis://127.0.0.1:${refusing.port}`, { password: new Sensitive('wrong') });
  expect(await failureOf(store.check())).toMatchObject({ serverCode: 'WRONGPASS' });
  const refused = await refusing.connected;
  if (!refused.closed) await once(refused, 'close');
  expect(refused.closed).toBe(true);
});

test('a Sentinel is left when it has named the server', async () => {
  const server = await startPlain('+PONG\r\n');
  const sentinel = await startPlain(array(bulk('127.0.0.1'), bulk(`${server.port}`)));
  const url = `redis://127.0.0.1:${sentinel.port}`;
  await openRedis(url, { sentinelMaster: 'tokens' }).store.check();
  const left = await sentinel.connected;
  if (!left.closed) await once(left, 'close');
  expect(left.closed).toBe(true);
  (await server.connected).destroy();
});

test('a connection keeps the process alive while it waits for an answer, and no longer', async () => {
  const server = await startPlain('+PONG\r\n');
  const calls: string[] = [];
  for (const name of ['ref', 'unref'] as const) {
    const spy = vi.spyOn(net.Socket.prototype, name).mockImplementation(function (this: net.Socket) {
      if (this.remotePort === server.port) calls.push(name);
      return this;
    });
    onTestFinished(() => spy.mockRestore());
  }
  await openRedis(`redis://127.0.0.1:${server.port}`).store.check();
  expect(calls).toEqual(['ref', 'unref']);
  (await server.connected).destroy();
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

// holds: C11.11
test('any byte counts as an answer, of a reply and of the TLS handshake', async () => {
  const tlsServer = createServer(own, (socket) =>
    socket.on('error', () => {}).on('data', () => socket.write('+PONG\r\n')),
  );
  tlsServer.listen(0, '127.0.0.1');
  onTestFinished(() => void tlsServer.close());
  await once(tlsServer, 'listening');
  // All that the server sends comes in two parts: one byte, and the others when the first limit has passed.
  const slow = net.createServer((client) => {
    const target = net.connect((tlsServer.address() as AddressInfo).port, '127.0.0.1');
    client
      .on('error', () => {})
      .on('close', () => target.destroy())
      .pipe(target);
    target
      .on('error', () => {})
      .on('data', (bytes: Buffer) => {
        client.write(bytes.subarray(0, 1));
        setTimeout(() => client.write(bytes.subarray(1)), 150);
      });
  });
  slow.listen(0, '127.0.0.1');
  onTestFinished(() => void slow.close());
  await once(slow, 'listening');
  const { port } = slow.address() as AddressInfo;
  const limits = { silentMs: 75, totalMs: 5000 };
  const connection = await connect({ host: '127.0.0.1', port }, { tls: true, ca: own.cert, limits });
  expect(String(await connection.send([['PING']], limits))).toBe('PONG');
  expect(await failureOf(connection.send([['PING']], { silentMs: 75, totalMs: 80 }))).toMatchObject({
    code: 'ETIMEDOUT',
  });
  connection.close();
});
