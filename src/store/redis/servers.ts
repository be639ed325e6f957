import type { RedisAddress, RedisOptions } from '../store.js';
import { type Command, type Connection, connect, type Reply, ServerRefusal } from './client.js';
import { type Limits, uptimeMs } from './dial.js';
import { isAboutTls } from './engine-errors.js';
import { InvalidReply } from './reply-limits.js';
import { addressText, isOnThisMachine } from './url.js';

export interface EngineOptions extends RedisOptions {
  warn(message: string): void;
}

/** When an attempt ends, in ms of `uptimeMs`: while the server is silent, and at the latest. */
export interface Attempt {
  readonly silentEnd: number;
  readonly end: number;
}

/** For this time at least a server is waited for, however late this process came to ask it. */
export const AWAY_ANSWER_MS = 250;
/** A connection without an answer for this time is closed, because its server may no longer be the master. */
const ANSWER_MS = 2_500;

/** The refusals that are only temporary: the server is starting, busy or failing over. */
const TRANSIENT_CODES = /^(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|ASK|MOVED|BUSY|UNBLOCKED)$/;

/** Finds the server that has the tokens. */
export class Servers {
  /** The server that was tried last. */
  last: RedisAddress | undefined;
  readonly #options: EngineOptions;
  #warned = false;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  /** Connects to the first address that can be used, or to the server that the first Sentinel there names. */
  async open(addresses: readonly RedisAddress[], attempt: Attempt): Promise<Connection> {
    const { sentinelMaster } = this.#options;
    this.last = undefined;
    let failure: unknown;
    for (const [index, address] of addresses.entries()) {
      // The time that is left is divided among the remaining addresses, so the last one gets all of it.
      const now = uptimeMs();
      const share = { ...attempt, silentEnd: now + (attempt.silentEnd - now) / (addresses.length - index) };
      try {
        if (sentinelMaster === undefined) return await this.#logIn(address, share);
        return await this.#logIn(await this.#askSentinel(address, sentinelMaster, share), attempt);
      } catch (error) {
        if (isFinal(error, this.#options)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  async #dial(address: RedisAddress, attempt: Attempt): Promise<Connection> {
    const { tls, ca, warn } = this.#options;
    if (!tls && !isOnThisMachine(address) && !this.#warned) {
      this.#warned = true;
      warn(
        `the Redis server ${addressText(address)} is reached without encryption: use rediss:// if it offers TLS`,
      );
    }
    return connect(address, { tls, ca, limits: limitsOf(attempt) });
  }

  async #logIn(address: RedisAddress, attempt: Attempt): Promise<Connection> {
    this.last = address;
    const { database } = this.#options;
    const opened = await this.#dial(address, attempt);
    const commands = [...this.#login(), ...(database > 0 ? [['SELECT', database] as const] : [])];
    try {
      if (commands.length > 0) await opened.send(commands, limitsOf(attempt, opened));
      return opened;
    } catch (error) {
      opened.close();
      throw error;
    }
  }

  async #askSentinel(address: RedisAddress, master: string, attempt: Attempt): Promise<RedisAddress> {
    const sentinel = await this.#dial(address, attempt);
    const send = (commands: Command[]) => sentinel.send(commands, limitsOf(attempt, sentinel));
    const ask = () => send([['SENTINEL', 'get-master-addr-by-name', master]]);
    try {
      return masterAddress(
        await ask().catch(async (error) => {
          // Most Sentinels have no password, so one gets it only if it asks for it.
          if (!(error instanceof ServerRefusal) || error.code !== 'NOAUTH') throw error;
          await send(this.#login());
          return ask();
        }),
      );
    } finally {
      sentinel.close();
    }
  }

  #login(): Command[] {
    const { username, password } = this.#options;
    if (password === undefined) return [];
    return [['AUTH', ...(username === undefined ? [] : [username]), password.reveal()]];
  }
}

/** Any byte counts as an answer, so that a busy machine does not take a live server for a dead one. */
export function limitsOf({ silentEnd, end }: Attempt, connection?: Connection): Limits {
  const now = uptimeMs();
  const totalMs = Math.max(1, end - now);
  const left = (connection?.hasAnswered() ? end : silentEnd) - now;
  return { silentMs: Math.min(Math.max(left, AWAY_ANSWER_MS), ANSWER_MS, totalMs), totalMs };
}

/** Whether asking again does not help. */
export function isFinal(error: unknown, { sentinelMaster }: EngineOptions): boolean {
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
export function redirection(error: unknown, from: RedisAddress | undefined): RedisAddress | undefined {
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
