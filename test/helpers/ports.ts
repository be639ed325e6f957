import { once } from 'node:events';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Listens on a free port of 127.0.0.1, and closes it with all connections at the end of the test. Returns the port. */
export async function listenOnFreePort(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return (server.address() as AddressInfo).port;
}

/** Does the same for an HTTP server, and returns its base URL. */
export async function listening(server: Server): Promise<string> {
  return `http://127.0.0.1:${await listenOnFreePort(server)}`;
}

/**
 * Ports that no system gives to a program that asks for any free one, so that none is taken before it is used. There is
 * room for a second range 10,000 above. Processes begin at different places.
 */
const [FIRST_PORT, PORTS] = [10_240, 9_760];
let tried = process.pid * 61;

/** Returns a port of this machine on which nothing listens, another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + (tried++ % PORTS);
    const server = net.createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (isFree) {
      await once(server.close(), 'close');
      return port;
    }
  }
}

/** A loopback address for fixed ports, which no other process of the tests uses. Linux alone has it. */
export const OWN_HOST = `127.91.${(process.pid >> 8) & 255}.${process.pid & 255}`;
