import { Redis, ReplyError } from 'ioredis';
import type { RedisAddress } from '../store.js';
import { type DialOptions, dial, type GuardedStream, type Limits, watch } from './dial.js';

export type Reply = null | number | Buffer | readonly Reply[];
export type Command = readonly [name: string, ...args: (string | number | Buffer)[]];

/** Thrown when the server answers with an error. */
export class ServerRefusal extends Error {
  /** The first word of its text, such as NOAUTH or READONLY. */
  readonly code: string;
  /** The rest of its text, which must not be shown. */
  readonly detail: string;

  constructor(code: string, detail: string, command: string) {
    super(`it answered ${command} with ${code}`);
    this.code = code;
    this.detail = detail;
  }
}

/** One connection to one server. */
export interface Connection {
  /** Sends all commands at once. Throws ServerRefusal for the first one refused, or whatever broke the connection. */
  send(commands: readonly Command[], limits: Limits): Promise<Reply[]>;
  /** Whether the server has sent anything. */
  hasAnswered(): boolean;
  close(): void;
}

export async function connect(address: RedisAddress, options: DialOptions): Promise<Connection> {
  const stream = await dial(address, options);
  let broken: Error | undefined;
  stream.on('error', (error) => {
    broken = error;
  });
  const redis = new Redis({
    Connector: connectorOf(stream) as never,
    lazyConnect: true,
    // The engine decides when to connect again.
    retryStrategy: () => null,
    protocol: 2,
    enableReadyCheck: false,
    disableClientInfo: true,
    noDelay: false,
    keepAlive: null as never,
  });
  // `send` throws the reason of an error, so this listener does nothing.
  redis.on('error', () => {});
  await redis.connect();

  return {
    async send(commands, limits) {
      stream.limits.expect(commands.length);
      stream.keepAlive(true);
      stream.cork();
      const replies = commands.map(([name, ...args]) => redis.callBuffer(name, ...args));
      stream.uncork();
      const settled = Promise.allSettled(replies);
      const stop = watch(stream.received, limits, (error) => stream.destroy(error));
      const results = await settled;
      stop();
      stream.keepAlive(false);
      return results.map((result, index) => {
        if (result.status === 'fulfilled') return result.value as Reply;
        throw refusalOf(result.reason, String(commands[index]?.[0])) ?? broken ?? result.reason;
      });
    },
    hasAnswered: () => stream.received() > 0,
    close() {
      stream.destroy();
    },
  };
}

/** Lets the library use the connection that is already open. */
function connectorOf(stream: GuardedStream) {
  return class {
    connecting = false;
    async connect() {
      return stream;
    }
    disconnect() {
      stream.destroy();
    }
  };
}

function refusalOf(error: unknown, command: string): ServerRefusal | undefined {
  if (!(error instanceof ReplyError)) return undefined;
  const [, code = '', detail = ''] = /^([A-Z]{1,20})\b\s*(.*)$/s.exec((error as Error).message) ?? [];
  return new ServerRefusal(code || 'an error', detail, command);
}
