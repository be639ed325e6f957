import net from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import type { RedisAddress } from '../store.js';
import { type ReplyLimits, replyLimits } from './reply-limits.js';

export interface DialOptions {
  readonly tls: boolean;
  /** CA certificates in PEM, used instead of the system's. */
  readonly ca: string | undefined;
  readonly timeoutMs: number;
}

/** A connection that passes on only replies within the limits. */
export interface GuardedStream extends Duplex {
  readonly limits: ReplyLimits;
  /** Whether the process stays alive for this connection. */
  keepAlive(wanted: boolean): void;
}

/** Connects, with TLS if wanted. */
export function dial(address: RedisAddress, options: DialOptions): Promise<GuardedStream> {
  const { host, port, path } = { host: undefined, port: undefined, path: undefined, ...address };
  const socket =
    options.tls && host !== undefined
      ? tls.connect({
          host,
          port,
          ...(options.ca !== undefined && { ca: options.ca }),
          // TLS does not allow an IP address as server name, but the certificate is still checked against it.
          ...(net.isIP(host) === 0 && { servername: host }),
        })
      : net.connect(path === undefined ? { host, port: port as number } : { path });
  const connected = options.tls && host !== undefined ? 'secureConnect' : 'connect';
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(
      // On a busy machine the timer may fire although the connection is ready, so pending input is handled first.
      () =>
        setImmediate(() => failed(Object.assign(new Error('connection timed out'), { code: 'ETIMEDOUT' }))),
      options.timeoutMs,
    );
    socket.once('error', failed);
    socket.once(connected, () => {
      clearTimeout(timer);
      socket.off('error', failed);
      socket.setNoDelay(true);
      resolve(guard(socket));
    });
  });
}

function guard(socket: net.Socket): GuardedStream {
  const limits = replyLimits();
  const stream = new Duplex({
    // Nothing is done here: replies are limited in size, so the server need not be slowed down.
    read() {},
    writev(chunks, done) {
      socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
    },
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    if (stream.destroyed) return;
    try {
      const fit = limits.accept(chunk);
      if (fit.length > 0) stream.push(fit);
    } catch (error) {
      stream.destroy(error as Error);
    }
  });
  socket.on('error', (error) => stream.destroy(error));
  socket.on('close', () => {
    if (!stream.destroyed) stream.destroy(new Error('the server closed the connection'));
  });
  return Object.assign(stream, {
    limits,
    keepAlive: (wanted: boolean) => {
      if (wanted) socket.ref();
      else socket.unref();
    },
  });
}
