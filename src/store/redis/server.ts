import { readRefusal, writeRefusal } from '../lock.js';
import type { RedisOptions, StoreOptions } from '../store.js';
import { type Client, makeClient } from './client.js';
import { InvalidReply, isAboutTls, isReply, unavailable } from './errors.js';
import type { Reply } from './replies.js';
import { addressText, isOnThisMachine } from './url.js';

export type ServerOptions = RedisOptions & Pick<StoreOptions, 'warn'>;
export type Command = readonly [name: string, ...args: (string | number | Buffer)[]];

/** Longest time for connecting, and for a command. */
const LIMIT_MS = 5_000;
/** For this time after a process waited in vain, the other processes of the machine do not ask. */
const AWAY_MS = 30_000;
/** A server that refuses one command may grant another: it can still be read. */
const REFUSES_ONE = /^(READONLY|NOREPLICAS|OOM|MISCONF|NOPERM.*)$/;

/** The Redis server, as ioredis finds it. What ioredis reports is final for the call, unless it is about one command. */
export class RedisServer {
  readonly #options: ServerOptions;
  readonly #awayFile: string | undefined;
  #client: Client | undefined;
  /** What the client met since a command succeeded. */
  #troubles: Error[] = [];
  #warned = false;
  #failure: Error | undefined;

  /** @param awayFile tells the processes of this machine that one of them waited in vain; without it each one waits */
  constructor(options: ServerOptions, awayFile?: string) {
    this.#options = options;
    this.#awayFile = awayFile;
  }

  /**
   * Sends commands and reads the replies. `read` throws InvalidReply when the replies do not fit the commands.
   * @throws GraphException STORE_UNAVAILABLE
   */
  run<T>(commands: readonly Command[], read: (replies: Reply[]) => T): Promise<T> {
    return this.#options.deadline.count(async () => {
      if (this.#failure) throw this.#failure;
      if (this.#options.deadline.forRequestMs < 1) throw this.#giveUp(new Error('timed out'));
      this.#client ??= this.#open();
      const client = this.#client;
      try {
        const replies = await Promise.all(commands.map((command) => client.callBuffer(...command)));
        const value = read(replies as Reply[]);
        this.#troubles = [];
        return value;
      } catch (error) {
        throw this.#giveUp(error as Error);
      }
    });
  }

  /** Closes the connection until the next command. */
  disconnect(): void {
    this.#client?.disconnect();
    this.#client = undefined;
  }

  #open(): Client {
    const { addresses, tls, deadline, warn, now } = this.#options;
    const away = this.#awayFile && readRefusal(this.#awayFile, now() - AWAY_MS, now());
    if (away) throw away;
    const far = addresses.find((address) => !isOnThisMachine(address));
    if (!tls && far && !this.#warned) {
      this.#warned = true;
      warn(
        `the Redis server ${addressText(far)} is reached without encryption: use rediss:// if it offers TLS`,
      );
    }
    const limitMs = Math.min(LIMIT_MS, deadline.forRequestMs);
    return makeClient(this.#options, limitMs, (error) => this.#troubles.push(error));
  }

  /** Returns the error for the caller, and tells the other processes of the machine of a server that is away. */
  #giveUp(error: Error): Error {
    this.disconnect();
    const causes = [error, ...this.#troubles] as const;
    const thrown = unavailable(causes, this.#options.addresses);
    const isAnswer = isReply(error) || error instanceof InvalidReply || causes.some(isAboutTls);
    // What the caller's own time limit ended says nothing of the server.
    const isCut = this.#options.deadline.forRequestMs < 1;
    if (this.#awayFile !== undefined && !isAnswer && !isCut)
      writeRefusal(this.#awayFile, thrown, this.#options.now());
    if (!REFUSES_ONE.test(thrown.serverCode ?? '')) this.#failure = thrown;
    return thrown;
  }
}
