import net from 'node:net';
import tls from 'node:tls';
import { Redis } from 'ioredis';
import { uptimeMs } from '../../core/time.js';
import type { RedisAddress, RedisOptions } from '../store.js';
import { type Reply, ReplyLimits } from './replies.js';

export type Command = readonly [name: string, ...args: (string | number | Buffer)[]];

/** When an attempt ends, in ms of `uptimeMs`: while the server has sent nothing, and at the latest. */
export interface Attempt {
  readonly silentEnd: number;
  readonly end: number;
}

/** Errors that have no code of their own, and the name each has here. */
const KNOWN_ERRORS: readonly (readonly [name: string, text: RegExp])[] = [
  ['NOPERM in a script', /ACL failure in script|The user executing the script can't/],
  ['no such command', /^unknown command/],
  ['no password set', /called without any password/],
];

type ConnectOptions = Pick<RedisOptions, 'tls' | 'ca'>;

/** Thrown when the server answers with an error. */
export class ServerRefusal extends Error {
  /** The first word of its text, such as NOAUTH or READONLY, or a name of KNOWN_ERRORS. */
  readonly code: string;
  /** The rest of its text, which must not be shown. */
  readonly detail: string;

  constructor(code: string, detail: string, command: string) {
    super(`it answered ${command} with ${code}`);
    this.code = code;
    this.detail = detail;
  }
}

/** For this time at least a server is waited for, however late this process came to ask it. */
export const SHORTEST_WAIT_MS = 250;
/** A connection without an answer for this time is closed, because its server may no longer be the master. */
const ANSWER_MS = 2_500;
const STEPS = 10;

/** One connection to one server. It keeps the process alive only while it waits for the server. */
export class Connection {
  /** The socket below TLS, which counts the bytes of the handshake too. */
  readonly #socket: net.Socket;
  readonly #limits = new ReplyLimits();
  #stream: net.Socket;
  #redis!: Redis;
  #broken = new Error('the server closed the connection');

  static async open(address: RedisAddress, options: ConnectOptions, attempt: Attempt): Promise<Connection> {
    const connection = new Connection(address);
    await connection.#inTime(attempt, () => connection.#start(address, options));
    return connection;
  }

  private constructor(address: RedisAddress) {
    this.#socket = net.connect({ ...address, noDelay: true }).on('error', this.#fail);
    this.#stream = this.#socket;
  }

  readonly #fail = (error: Error): void => {
    this.#broken = error;
    this.close();
  };

  async #start(address: RedisAddress, { tls: isSecure, ca }: ConnectOptions): Promise<void> {
    const isTls = isSecure && 'host' in address;
    if (!isTls) this.#guard();
    // TLS must not begin on a socket that still tries the addresses of a host: Node 20 crashes at the second one.
    await occurs(this.#stream, 'connect');
    if (isTls) {
      this.#stream = tls
        .connect({
          socket: this.#socket,
          host: address.host,
          ...(ca !== undefined && { ca }),
          // TLS does not allow an IP address as server name, but the certificate is still checked against it.
          ...(net.isIP(address.host) === 0 && { servername: address.host }),
        })
        .on('error', this.#fail);
      this.#guard();
      await occurs(this.#stream, 'secureConnect');
    }
    this.#redis = new Redis({
      Connector: connectorOf(this.#stream) as never,
      lazyConnect: true,
      connectTimeout: 0,
      retryStrategy: () => null,
      protocol: 2,
      enableReadyCheck: false,
      disableClientInfo: true,
      keepAlive: null as never,
    });
    // What breaks the connection is thrown by `#inTime`.
    this.#redis.on('error', () => {});
    await this.#redis.connect();
  }

  /** Checks all that the server sends before ioredis sees it. */
  #guard(): void {
    const push = this.#stream.push.bind(this.#stream);
    this.#stream.push = (chunk: Buffer | null) => {
      try {
        return push(chunk && this.#limits.accept(chunk));
      } catch (error) {
        this.#fail(error as Error);
        return false;
      }
    };
  }

  /** Sends all commands at once. Throws ServerRefusal for the first one refused, or whatever broke the connection. */
  async send(commands: readonly Command[], attempt: Attempt): Promise<Reply[]> {
    this.#limits.expect(commands.length);
    const pipeline = this.#redis.pipeline(commands.map((command) => ['callBuffer', ...command]));
    const results = (await this.#inTime(attempt, () => pipeline.exec())) ?? [];
    return results.map(([error, reply], index) => {
      if (!error) return reply as Reply;
      if (error.name !== 'ReplyError') throw this.#broken;
      const [, code = 'an error', detail = ''] = /^([A-Z]{1,20})\b\s*(.*)$/s.exec(error.message) ?? [];
      const [known] = KNOWN_ERRORS.find(([, text]) => code === 'ERR' && text.test(detail)) ?? [code];
      throw new ServerRefusal(known, detail, String(commands[index]?.[0]));
    });
  }

  close(): void {
    this.#stream.destroy();
    this.#socket.destroy();
  }

  /**
   * Closes the connection when the server sends nothing, or does not come to an end, in time. The time is counted in
   * steps: on a busy machine timers fire late, and this process has not had the time to receive what the server sent.
   */
  async #inTime<T>({ silentEnd, end }: Attempt, work: () => Promise<T>): Promise<T> {
    const before = this.#socket.bytesRead;
    const now = uptimeMs();
    // Any byte counts as an answer, so that a busy machine does not take a live server for a dead one.
    const left = (before > 0 ? end : silentEnd) - now;
    const silentMs = Math.min(Math.max(left, SHORTEST_WAIT_MS), ANSWER_MS, Math.max(1, end - now));
    let steps = 0;
    const judge = () => {
      const isSilent = this.#socket.bytesRead === before && ++steps >= STEPS;
      if (!isSilent && uptimeMs() < end) return;
      this.#stream.destroy(Object.assign(new Error('the server does not answer'), { code: 'ETIMEDOUT' }));
    };
    // Pending input is handled before the server is judged.
    const timer = setInterval(() => setImmediate(judge), silentMs / STEPS);
    this.#stream.ref();
    try {
      return await work();
    } catch {
      throw this.#broken;
    } finally {
      clearInterval(timer);
      this.#stream.unref();
    }
  }
}

/** Waits for an event of a stream. Throws when the stream is closed before. */
function occurs(stream: net.Socket, event: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.once(event, resolve).once('close', reject);
  });
}

/** Lets ioredis use a socket of ours. */
function connectorOf(stream: net.Socket) {
  return class {
    connecting = true;
    async connect() {
      return stream;
    }
    disconnect() {
      stream.destroy();
    }
  };
}
