import type { GraphException } from '../../core/errors.js';
import { readRefusal, writeRefusal } from '../lock/shared-error.js';
import type { RedisAddress, RedisOptions } from '../store.js';
import { type Command, type Connection, connect, type Reply, ServerRefusal } from './client.js';
import type { Limits } from './dial.js';
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
   * @throws GraphException STORE_UNAVAILABLE; every later call then fails at once, unless only writes are refused
   */
  run<T>(commands: () => readonly Command[], read: (replies: Reply[]) => T): Promise<T>;
  /** Closes the connection until the next command. */
  disconnect(): void;
}

/** When an attempt ends, in ms of `uptimeMs`: while the server is silent, and at the latest. */
interface Attempt {
  readonly silentEnd: number;
  readonly end: number;
}

/**
 * How long to wait for a server that does not answer: if it answered before, if it never did, and if Sentinels may be
 * replacing it.
 */
const KNOWN_MS = 10_000;
const UNKNOWN_MS = 2_000;
const SENTINEL_MS = 6_000;
/** For this time after a process waited in vain, the other processes of the machine ask once and do not wait. */
const AWAY_MS = 30_000;
const AWAY_ANSWER_MS = 250;
/** A connection without an answer for this time is closed, because its server may no longer be the master. */
const ANSWER_MS = 2_500;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
const MOST_REDIRECTIONS = 5;

/** The refusals that are only temporary: the server is starting, busy or failing over. */
const TRANSIENT_CODES = /^(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|ASK|MOVED|BUSY|UNBLOCKED)$/;

const WRITES_REFUSED = /^(READONLY|NOREPLICAS|OOM|MISCONF)$/;

/** @param awayFile tells the processes of this machine that one of them waited in vain; without it each one waits */
export function createEngine(options: EngineOptions, awayFile?: string): Engine {
  let connection: Connection | undefined;
  let answered = false;
  let failure: GraphException | undefined;
  let lastAddress: RedisAddress | undefined;
  let redirectedTo: RedisAddress | undefined;
  let warned = false;
  let queue: Promise<unknown> = Promise.resolve();

  async function open(attempt: Attempt): Promise<Connection> {
    const { addresses, sentinelMaster } = options;
    const candidates = redirectedTo ? [redirectedTo] : addresses;
    lastAddress = undefined;
    let failure: unknown;
    for (const [index, address] of candidates.entries()) {
      // The time that is left is divided among the remaining addresses, so the last one gets all of it.
      const now = uptimeMs();
      const silentEnd = now + (attempt.silentEnd - now) / (candidates.length - index);
      try {
        if (sentinelMaster === undefined) return await openServer(address, { ...attempt, silentEnd });
        return await openServer(
          await askSentinel(address, sentinelMaster, { ...attempt, silentEnd }),
          attempt,
        );
      } catch (error) {
        if (isFinal(error, options)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  async function dialled(address: RedisAddress, attempt: Attempt): Promise<Connection> {
    if (!options.tls && !isOnThisMachine(address) && !warned) {
      warned = true;
      options.warn(
        `the Redis server ${addressText(address)} is reached without encryption: use rediss:// if it offers TLS`,
      );
    }
    return connect(address, { tls: options.tls, ca: options.ca, limits: limitsOf(attempt) });
  }

  async function openServer(address: RedisAddress, attempt: Attempt): Promise<Connection> {
    lastAddress = address;
    const opened = await dialled(address, attempt);
    const commands = [...login(), ...(options.database > 0 ? [['SELECT', options.database] as const] : [])];
    try {
      if (commands.length > 0) await opened.send(commands, limitsOf(attempt, opened));
      return opened;
    } catch (error) {
      opened.close();
      throw error;
    }
  }

  async function askSentinel(address: RedisAddress, master: string, attempt: Attempt): Promise<RedisAddress> {
    const sentinel = await dialled(address, attempt);
    const limits = () => limitsOf(attempt, sentinel);
    const ask = () => sentinel.send([['SENTINEL', 'get-master-addr-by-name', master]], limits());
    try {
      return masterAddress(
        await ask().catch(async (error) => {
          // Most Sentinels have no password, so one gets it only if it asks for it.
          if (!(error instanceof ServerRefusal) || error.code !== 'NOAUTH') throw error;
          await sentinel.send(login(), limits());
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
    const noted = () => awayFile && readRefusal(awayFile, options.now() - AWAY_MS, options.now());
    const away = connection === undefined && noted() !== undefined;
    const unknownMs = options.sentinelMaster === undefined ? UNKNOWN_MS : SENTINEL_MS;
    const begun = uptimeMs();
    const endAfter = (ms: number) => begun + Math.min(ms, options.timeoutMs);
    const silentEnd = endAfter(away ? AWAY_ANSWER_MS : answered ? KNOWN_MS : unknownMs);
    const attempt: Attempt = { silentEnd, end: endAfter(KNOWN_MS) };
    let redirections = 0;
    for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        connection ??= await open(attempt);
        const value = read(await connection.send(commands(), limitsOf(attempt, connection)));
        answered = true;
        return value;
      } catch (error) {
        disconnect();
        redirectedTo = redirections < MOST_REDIRECTIONS ? redirection(error, lastAddress) : undefined;
        if (redirectedTo) {
          redirections++;
          continue;
        }
        const final = isFinal(error, options);
        if (final || uptimeMs() + pause >= silentEnd) {
          const named = options.sentinelMaster === undefined ? undefined : lastAddress;
          const thrown = unavailable(error, named ? [named] : options.addresses);
          if (awayFile !== undefined && !final && !away) writeRefusal(awayFile, thrown, options.now());
          // A server that refuses writes can still be read, and a lock can be deleted where memory is full.
          if (!WRITES_REFUSED.test(thrown.serverCode ?? '')) failure = thrown;
          throw thrown;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
    }
  }

  function disconnect(): void {
    connection?.close();
    connection = undefined;
  }

  return {
    run(commands, read) {
      // Only one runs at a time; otherwise two that lose the connection would both reconnect.
      const turn = queue.then(() => runWithTimeout(commands, read));
      queue = turn.catch(() => {});
      return turn;
    },
    disconnect,
  };
}

/** Milliseconds of a monotonic clock. Not performance.now(), which loads a module of its own. */
export function uptimeMs(): number {
  return process.uptime() * 1000;
}

/** Any byte counts as an answer, so that a busy machine does not take a live server for a dead one. */
function limitsOf({ silentEnd, end }: Attempt, connection?: Connection): Limits {
  const now = uptimeMs();
  const totalMs = Math.max(1, end - now);
  const left = (connection?.hasAnswered() ? end : silentEnd) - now;
  // Each connection has some time, however late this process came to open it.
  return { silentMs: Math.min(Math.max(left, AWAY_ANSWER_MS), ANSWER_MS, totalMs), totalMs };
}

function isFinal(error: unknown, { sentinelMaster }: EngineOptions): boolean {
  if (error instanceof InvalidReply) return true;
  if (error instanceof ServerRefusal) {
    // A server that Sentinels have just replaced refuses writes; without Sentinels it stays a replica.
    if (error.code === 'READONLY') return sentinelMaster === undefined;
    return !TRANSIENT_CODES.test(error.code) && !/^max number of clients/.test(error.detail);
  }
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
