import net from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import type { RedisAddress } from '../store.js';
import { ReplyLimits } from './reply-limits.js';

export interface DialOptions {
  readonly tls: boolean;
  /** CA certificates in PEM, used instead of the system's. */
  readonly ca: string | undefined;
  readonly limits: Limits;
}

const STEPS = 10;

/** Milliseconds of a monotonic clock. Not performance.now(), which loads a module of its own. */
export function uptimeMs(): number {
  return process.uptime() * 1000;
}

/** How long to wait for a server, in ms. */
export interface Limits {
  /** Until the first byte. */
  readonly silentMs: number;
  /** Until the end of what it sends. */
  readonly totalMs: number;
}

/** A connection that passes on only replies within the limits. */
export interface GuardedStream extends Duplex {
  readonly limits: ReplyLimits;
  /** Returns how many bytes the server has sent, those of the TLS handshake included. */
  received(): number;
  /** Whether the process stays alive for this connection. */
  keepAlive(wanted: boolean): void;
}

/** Connects, with TLS if wanted. */
export function dial(address: RedisAddress, options: DialOptions): Promise<GuardedStream> {
  const { host, port, path } = { host: undefined, port: undefined, path: undefined, ...address };
  const raw = net.connect(path === undefined ? { host, port: port as number } : { path });
  return new Promise((resolve, reject) => {
    let socket = raw;
    const failed = (error: Error) => {
      stop();
      socket.destroy();
      raw.destroy();
      reject(error);
    };
    let stop = watch(() => raw.bytesRead, options.limits, failed);
    const ready = () => {
      stop();
      socket.off('error', failed);
      raw.setNoDelay(true);
      resolve(guard(socket, () => raw.bytesRead));
    };
    raw.once('error', failed);
    raw.once('connect', () => {
      if (!options.tls || host === undefined) return ready();
      stop();
      // TLS gets a connected socket, because only the socket below it counts the bytes of the handshake.
      socket = tls.connect({
        socket: raw,
        host,
        ...(options.ca !== undefined && { ca: options.ca }),
        // TLS does not allow an IP address as server name, but the certificate is still checked against it.
        ...(net.isIP(host) === 0 && { servername: host }),
      });
      stop = watch(() => raw.bytesRead, options.limits, failed);
      socket.once('error', failed).once('secureConnect', ready);
    });
  });
}

/**
 * Calls `giveUp` when the server sends nothing, or does not come to an end, in time. The time is counted in steps: on a
 * busy machine timers fire late, and this process has not had the time to receive what the server sent.
 * @returns a function that ends the watch
 */
export function watch(
  received: () => number,
  { silentMs, totalMs }: Limits,
  giveUp: (error: Error) => void,
): () => void {
  const before = received();
  const end = uptimeMs() + totalMs;
  let stopped = false;
  let steps = 0;
  let timer: NodeJS.Timeout;
  const step = () => {
    // Pending input is handled before the server is judged.
    timer = setTimeout(() => setImmediate(judge), silentMs / STEPS);
  };
  const judge = () => {
    if (stopped) return;
    steps++;
    const waits = received() > before || steps < STEPS;
    if (waits && uptimeMs() < end) step();
    else giveUp(Object.assign(new Error('the server does not answer'), { code: 'ETIMEDOUT' }));
  };
  step();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

function guard(socket: net.Socket, received: () => number): GuardedStream {
  const limits = new ReplyLimits();
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
    received,
    keepAlive: (wanted: boolean) => {
      if (wanted) socket.ref();
      else socket.unref();
    },
  });
}
