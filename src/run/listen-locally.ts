import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { GraphException } from '../core/errors.js';

/** Listens on loopback alone. Returns the URL. @param port 0 for a free one */
export async function listenLocally(server: Server, port: number, hint: string) {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch(({ code }: NodeJS.ErrnoException) => {
    const why = code === 'EADDRINUSE' ? 'is taken' : `cannot be opened (${code})`;
    throw new GraphException('USAGE', `Port ${port} of 127.0.0.1 ${why}.`, { hint });
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
