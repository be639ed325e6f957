import type { GraphException } from '../../core/errors.js';
import type { RedisAddress, RedisOptions } from '../store.js';
import { type Command, type Connection, connect, type Reply, ServerRefusal } from './client.js';
import { isAboutTls, unavailable } from './engine-errors.js';
import { InvalidReply } from './reply-limits.js';
import { addressText, isOnThisMachine } from './url.js';

export interface EngineOptions extends RedisOptions {
  warn(message: string): void;
}

/** The current Redis master, wherever it runs. */
export interface Engine {
  /**
   * Sends commands and reads the replies, and retries until the server answers or the time limit ends. `commands` is
   * called for each attempt; `read` throws InvalidReply when the replies do not fit the commands.
   * @throws GraphException STORE_UNAVAILABLE; every later call then fails at once
   */
  run<T>(commands: () => readonly Command[], read: (replies: Reply[]) => T): Promise<T>;
}

/**
 * How long to wait for a server that does not answer: if it answered before, if it never did, and if Sentinels may be
 * replacing it.
 */
const KNOWN_MS = 10_000;
const UNKNOWN_MS = 2_000;
const SENTINEL_MS = 6_000;
/** A connection without an answer for this time is closed, because its server may no longer be the master. */
const ANSWER_MS = 2_500;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
const MOST_REDIRECTIONS = 5;

/**
 * The refusals that are only temporary: the server is starting, is failing over, or does not know yet that it is the
 * master.
 */
const TRANSIENT_CODES =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|ASK|MOVED|BUSY|NOREPLICAS|UNBLOCKED)$/;

export function createEngine(options: EngineOptions): Engine {
  let connection: Connection | undefined;
  let answered = false;
  let failure: GraphException | undefined;
  let lastAddress: RedisAddress | undefined;
  let redirectedTo: RedisAddress | undefined;
  let warned = false;
  let queue: Promise<unknown> = Promise.resolve();

  async function open(timeoutMs: number): Promise<Connection> {
    const { addresses, sentinelMaster } = options;
    const candidates = redirectedTo ? [redirectedTo] : addresses;
    const deadline = uptimeMs() + timeoutMs;
    let failure: unknown;
    for (const [index, address] of candidates.entries()) {
      // The time that is left is divided among the remaining addresses, so the last one gets all of it.
      const limit = Math.max(1, (deadline - uptimeMs()) / (candidates.length - index));
      try {
        if (sentinelMaster === undefined) return await openServer(address, limit);
        const master = await askSentinel(address, sentinelMaster, limit);
        return await openServer(master, Math.max(1, deadline - uptimeMs()));
      } catch (error) {
        if (isFinal(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  async function dialled(address: RedisAddress, timeoutMs: number): Promise<Connection> {
    if (!options.tls && !isOnThisMachine(address) && !warned) {
      warned = true;
      options.warn(
        `the Redis server ${addressText(address)} is reached without encryption: use rediss:// if it offers TLS`,
      );
    }
    return connect(address, { tls: options.tls, ca: options.ca, timeoutMs });
  }

  async function openServer(address: RedisAddress, timeoutMs: number): Promise<Connection> {
    const deadline = uptimeMs() + timeoutMs;
    lastAddress = address;
    const opened = await dialled(address, timeoutMs);
    const commands = [...login(), ...(options.database > 0 ? [['SELECT', options.database] as const] : [])];
    try {
      if (commands.length > 0) await opened.send(commands, Math.max(1, deadline - uptimeMs()));
      return opened;
    } catch (error) {
      opened.close();
      throw error;
    }
  }

  async function askSentinel(
    address: RedisAddress,
    master: string,
    timeoutMs: number,
  ): Promise<RedisAddress> {
    const deadline = uptimeMs() + timeoutMs;
    const sentinel = await dialled(address, timeoutMs);
    const ask = () =>
      sentinel.send([['SENTINEL', 'get-master-addr-by-name', master]], Math.max(1, deadline - uptimeMs()));
    try {
      return masterAddress(
        await ask().catch(async (error) => {
          // Most Sentinels have no password, so one gets it only if it asks for it.
          if (!(error instanceof ServerRefusal) || error.code !== 'NOAUTH') throw error;
          await sentinel.send(login(), Math.max(1, deadline - uptimeMs()));
          return ask();
        }),
      );
    } finally {
      sentinel.close();
    }
  }

  function login(): Command[] {
    const { username, password } = options;
    if (password === undefined) return [];
    return [['AUTH', ...(username === undefined ? [] : [username]), password.reveal()]];
  }

  async function runWithTimeout<T>(
    commands: () => readonly Command[],
    read: (replies: Reply[]) => T,
  ): Promise<T> {
    if (failure) throw failure;
    const timeoutMs = answered ? KNOWN_MS : options.sentinelMaster === undefined ? UNKNOWN_MS : SENTINEL_MS;
    const deadline = uptimeMs() + Math.min(timeoutMs, options.timeoutMs);
    let redirections = 0;
    for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const limit = () => Math.max(1, Math.min(deadline - uptimeMs(), ANSWER_MS));
        connection ??= await open(limit());
        const value = read(await connection.send(commands(), limit()));
        answered = true;
        return value;
      } catch (error) {
        connection?.close();
        connection = undefined;
        redirectedTo = redirections < MOST_REDIRECTIONS ? redirection(error, lastAddress) : undefined;
        if (redirectedTo) {
          redirections++;
          continue;
        }
        if (isFinal(error) || uptimeMs() + pause >= deadline) {
          failure = unavailable(error, options.addresses);
          throw failure;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
    }
  }

  return {
    run(commands, read) {
      // Only one runs at a time; otherwise two that lose the connection would both reconnect.
      const turn = queue.then(() => runWithTimeout(commands, read));
      queue = turn.catch(() => {});
      return turn;
    },
  };
}

/** Milliseconds of a monotonic clock. Not performance.now(), which loads a module of its own. */
export function uptimeMs(): number {
  return process.uptime() * 1000;
}

function isFinal(error: unknown): boolean {
  if (error instanceof InvalidReply) return true;
  if (error instanceof ServerRefusal)
    return !TRANSIENT_CODES.test(error.code) && !/^max number of clients/.test(error.detail);
  // A certificate that is refused now will be refused on a retry as well.
  return isAboutTls(error);
}

/** Returns the node of a cluster that has our keys, if the error names it; all keys are in one slot. */
function redirection(error: unknown, from: RedisAddress | undefined): RedisAddress | undefined {
  if (!(error instanceof ServerRefusal) || error.code !== 'MOVED') return undefined;
  const [, host, port] = /^\d+ (.*):(\d{1,5})$/.exec(error.detail) ?? [];
  if (host === undefined) return undefined;
  // Without a host, the redirection means the same host.
  if (host !== '') return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  return from && 'host' in from ? { host: from.host, port: Number(port) } : undefined;
}

function masterAddress([reply]: Reply[]): RedisAddress {
  if (reply === null) throw new ServerRefusal('no such master', '', 'SENTINEL');
  const [host, port] = Array.isArray(reply) ? reply : [];
  if (!Buffer.isBuffer(host) || !Buffer.isBuffer(port) || !/^\d{1,5}$/.test(port.toString()))
    throw new InvalidReply('a Sentinel sent no address');
  return { host: host.toString(), port: Number(port.toString()) };
}
