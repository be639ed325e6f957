import type { GraphException } from '../../core/errors.js';
import { readRefusal, writeRefusal } from '../lock/shared-error.js';
import type { RedisAddress } from '../store.js';
import type { Command, Connection, Reply } from './client.js';
import { uptimeMs } from './dial.js';
import { unavailable } from './engine-errors.js';
import {
  type Attempt,
  AWAY_ANSWER_MS,
  type EngineOptions,
  isFinal,
  limitsOf,
  redirection,
  Servers,
} from './servers.js';

/**
 * How long to wait for a server that does not answer: if it answered before, if it never did, and if Sentinels may be
 * replacing it.
 */
const KNOWN_MS = 10_000;
const UNKNOWN_MS = 2_000;
const SENTINEL_MS = 6_000;
/** For this time after a process waited in vain, the other processes of the machine ask once and do not wait. */
const AWAY_MS = 30_000;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
const MOST_REDIRECTIONS = 5;

const WRITES_REFUSED = /^(READONLY|NOREPLICAS|OOM|MISCONF)$/;

/** Commands to send; a function makes them anew for each attempt. */
type Commands = readonly Command[] | (() => readonly Command[]);

/** The current Redis master, wherever it runs. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #awayFile: string | undefined;
  readonly #servers: Servers;
  #connection: Connection | undefined;
  #answered = false;
  #failure: GraphException | undefined;
  #redirectedTo: RedisAddress | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  /** @param awayFile tells the processes of this machine that one of them waited in vain; without it each one waits */
  constructor(options: EngineOptions, awayFile?: string) {
    this.#options = options;
    this.#awayFile = awayFile;
    this.#servers = new Servers(options);
  }

  /**
   * Sends commands and reads the replies, and retries until the server answers or the time limit ends. `read` throws
   * InvalidReply when the replies do not fit the commands.
   * @throws GraphException STORE_UNAVAILABLE; every later call then fails at once, unless only writes are refused
   */
  run<T>(commands: Commands, read: (replies: Reply[]) => T): Promise<T> {
    // Only one runs at a time; otherwise two that lose the connection would both reconnect.
    const turn = this.#queue.then(() => this.#runWithTimeout(commands, read));
    this.#queue = turn.catch(() => {});
    return turn;
  }

  /** Closes the connection until the next command. */
  disconnect(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  async #runWithTimeout<T>(commands: Commands, read: (replies: Reply[]) => T): Promise<T> {
    if (this.#failure) throw this.#failure;
    const away = this.#connection === undefined && this.#isAway();
    const attempt = this.#attempt(away);
    let redirections = 0;
    for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const { addresses } = this.#options;
        this.#connection ??= await this.#servers.open(
          this.#redirectedTo ? [this.#redirectedTo] : addresses,
          attempt,
        );
        const now = typeof commands === 'function' ? commands() : commands;
        const value = read(await this.#connection.send(now, limitsOf(attempt, this.#connection)));
        this.#answered = true;
        return value;
      } catch (error) {
        this.disconnect();
        this.#redirectedTo =
          redirections < MOST_REDIRECTIONS ? redirection(error, this.#servers.last) : undefined;
        if (this.#redirectedTo) {
          redirections++;
          continue;
        }
        const final = isFinal(error, this.#options);
        if (final || uptimeMs() + pause >= attempt.silentEnd) throw this.#giveUp(error, !final && !away);
      }
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
    }
  }

  /** Whether another process of this machine has just waited in vain. */
  #isAway(): boolean {
    const now = this.#options.now();
    return this.#awayFile !== undefined && readRefusal(this.#awayFile, now - AWAY_MS, now) !== undefined;
  }

  #attempt(away: boolean): Attempt {
    const { sentinelMaster, timeoutMs } = this.#options;
    const unknownMs = sentinelMaster === undefined ? UNKNOWN_MS : SENTINEL_MS;
    const begun = uptimeMs();
    const endAfter = (ms: number) => begun + Math.min(ms, timeoutMs);
    const silentEnd = endAfter(away ? AWAY_ANSWER_MS : this.#answered ? KNOWN_MS : unknownMs);
    return { silentEnd, end: endAfter(KNOWN_MS) };
  }

  /** Returns the error for the caller. With `waited`, the other processes of this machine are told. */
  #giveUp(error: unknown, waited: boolean): GraphException {
    const { addresses, sentinelMaster, now } = this.#options;
    const named = sentinelMaster === undefined ? undefined : this.#servers.last;
    const thrown = unavailable(error, named ? [named] : addresses);
    if (this.#awayFile !== undefined && waited) writeRefusal(this.#awayFile, thrown, now());
    // A server that refuses writes can still be read, and a lock can be deleted where memory is full.
    if (!WRITES_REFUSED.test(thrown.serverCode ?? '')) this.#failure = thrown;
    return thrown;
  }
}
