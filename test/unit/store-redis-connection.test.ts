import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { uptimeMs } from '../../src/core/time.js';
import { Connection } from '../../src/store/redis/connection.js';
import { ReplyLimits } from '../../src/store/redis/replies.js';
import { certificate } from '../helpers/certificate.js';
import { array, bulk } from '../helpers/hostile-redis.js';
import { listenOnFreePort } from '../helpers/listening.js';
import { failureOf, openRedis } from '../helpers/redis-store.js';

let own: { cert: string; key: string };
beforeAll(async () => {
  own = await certificate('localhost', '127.0.0.1');
});

/** Starts a TLS server that answers PING, and writes down the names that it was told. */
async function startTls(host = '127.0.0.1') {
  const names: (string | false)[] = [];
  const server = createServer(own, (socket) => {
    names.push((socket as TLSSocket & { servername: string | false }).servername);
    socket.on('error', () => {}).on('data', () => socket.write('+PONG\r\n'));
  });
  server.on('tlsClientError', () => {}).listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { names, port: (server.address() as AddressInfo).port };
}

test.each([
  ['localhost', 'localhost'],
  ['127.0.0.1', false],
])('the TLS server at %s is told the name %s, since TLS has no names for addresses', async (host, name) => {
  const { names, port } = await startTls(host);
  await openRedis(`rediss://${host}:${port}`, { ca: own.cert }).store.check();
  expect(names).toEqual([name]);
});

/** Starts a server that answers everything it gets with `answer`. Returns its port, and its first connection. */
async function startPlain(answer: string | Buffer) {
  const server = net.createServer((socket) => {
    socket.on('error', () => {}).on('data', () => socket.write(answer));
  });
  const connected = once(server, 'connection').then(([socket]) => socket as net.Socket);
  return { port: await listenOnFreePort(server), connected };
}

test('a connection that is given up, or whose login is refused, is closed', async () => {
  const silent = await startPlain('');
  const soon = { silentEnd: uptimeMs(), end: uptimeMs() + 30 };
  const opened = Connection.open({ host: '127.0.0.1', port: silent.port }, { tls: true, ca: own.cert }, soon);
  const closed = silent.connected.then((socket) => once(socket, 'close'));
  expect(await failureOf(opened)).toMatchObject({ code: 'ETIMEDOUT' });
  await closed;
  const refusing = await startPlain('-WRONGPASS no\r\n');
  const { store } = openRedis(`redis://127.0.0.1:${refusing.port}`, { password: new Sensitive('wrong') });
  expect(await failureOf(store.check())).toMatchObject({ serverCode: 'WRONGPASS' });
  const refused = await refusing.connected;
  if (!refused.closed) await once(refused, 'close');
});

test('a Sentinel is left when it has named the server', async () => {
  const server = await startPlain('+PONG\r\n');
  const sentinel = await startPlain(array(bulk('127.0.0.1'), bulk(`${server.port}`)));
  const url = `redis://127.0.0.1:${sentinel.port}`;
  await openRedis(url, { sentinelMaster: 'tokens' }).store.check();
  const left = await sentinel.connected;
  if (!left.closed) await once(left, 'close');
  (await server.connected).destroy();
});

// holds: C11.11
test('any byte counts as an answer, of a reply and of the TLS handshake', async () => {
  const { port: target } = await startTls();
  // All that the server sends comes in two parts: one byte, and the others when the first limit has passed.
  const slow = net.createServer((client) => {
    const server = net.connect(target, '127.0.0.1');
    client
      .on('error', () => {})
      .on('close', () => server.destroy())
      .pipe(server);
    server
      .on('error', () => {})
      .on('data', (bytes: Buffer) => {
        client.write(bytes.subarray(0, 1));
        setTimeout(() => client.write(bytes.subarray(1)), 400);
      });
  });
  const port = await listenOnFreePort(slow);
  const attempt = { silentEnd: uptimeMs() + 250, end: uptimeMs() + 5000 };
  const connection = await Connection.open({ host: '127.0.0.1', port }, { tls: true, ca: own.cert }, attempt);
  expect(String(await connection.send([['PING']], attempt))).toBe('PONG');
  expect(await failureOf(connection.send([['PING']], { ...attempt, end: uptimeMs() + 300 }))).toMatchObject({
    code: 'ETIMEDOUT',
  });
  connection.close();
});

describe('the limits on replies', () => {
  const accept = (bytes: string | Buffer, expected = 1) => {
    const limits = new ReplyLimits();
    limits.expect(expected);
    return limits.accept(Buffer.from(bytes as string)).toString();
  };

  test.each([
    '-NOAUTH Authentication required.\r\n',
    ':-42\r\n',
    '$-1\r\n',
    '$5\r\na\r\nb!\r\n',
    '*-1\r\n',
    '*0\r\n',
    '*2\r\n$3\r\nfoo\r\n*1\r\n:1\r\n',
  ])('allow the one reply %j', (bytes) => {
    expect(accept(bytes)).toBe(bytes);
    expect(() => accept(`${bytes}${bytes}`)).toThrow('a reply to no command');
  });

  test.each([
    ['a push', '>1\r\n+message\r\n', 'a malformed reply'],
    ['a lone carriage return', '+a\rb\r\n', 'a malformed reply'],
    ['an array longer than is needed', '*10000\r\n', 'a malformed reply'],
    ['a length that is no number', '$1e3\r\n', 'a malformed reply'],
    ['arrays in arrays without end', '*1\r\n'.repeat(100), 'a reply nested too deeply'],
    ['a string without end', Buffer.concat([Buffer.from('$9999999\r\n'), Buffer.alloc(1 << 20)]), 'too long'],
  ])('refuse %s', (_what, bytes, fault) => {
    expect(() => accept(bytes)).toThrow(fault);
  });

  test('apply to the replies of one call, however they are split and however many came before', () => {
    const limits = new ReplyLimits();
    const bytes = Buffer.from(`*2\r\n$400000\r\n${'x'.repeat(400_000)}\r\n:1\r\n`);
    for (let call = 0; call < 4; call++) {
      limits.expect(1);
      const parts = [bytes.subarray(0, 5), bytes.subarray(5, 200_000), bytes.subarray(200_000)];
      expect(Buffer.concat(parts.map((part) => limits.accept(part))).equals(bytes)).toBe(true);
    }
    expect(() => limits.accept(Buffer.from('+'))).toThrow('a reply to no command');
  });
});
