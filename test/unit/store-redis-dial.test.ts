import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { dial } from '../../src/store/redis/dial.js';
import { certificate } from '../helpers/certificate.js';

test('a TLS server is told the host name it was asked for, since several may share its address', async () => {
  const own = await certificate('localhost');
  const names: (string | false)[] = [];
  const server = createServer(own, (socket) => {
    names.push((socket as TLSSocket & { servername: string | false }).servername);
    socket.end();
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  const options = { tls: true, ca: own.cert, timeoutMs: 5000 };
  const stream = await dial({ host: 'localhost', port }, options);
  await new Promise((resolve) => stream.on('error', () => {}).on('close', resolve));
  expect(names).toEqual(['localhost']);
});
