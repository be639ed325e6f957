import { GraphException } from '../../core/errors.js';
import { uptimeMs } from '../../core/time.js';
import { readRefusal, writeRefusal } from '../lock.js';
import type { RedisAddress, RedisOptions, StoreOptions } from '../store.js';
import { type Attempt, type Command, Connection, ServerRefusal, SHORTEST_WAIT_MS } from './connection.js';
import { InvalidReply, type Reply } from './replies.js';
import { addressText, isOnThisMachine } from './url.js';

export type ServerOptions = RedisOptions & Pick<StoreOptions, 'warn'>;

/**
 * How long to wait for a server that does not answer: if it answered before, if it never did, and if Sentinels may be
 * replacing it.
 */
const KNOWN_MS = 10_000;
const UNKNOWN_MS = 2_000;
const SENTINEL_MS = 6_000;
/**
 * For this time after a process waited in vain, the other processes of the machine ask once, and give no more than
 * UNKNOWN_MS to a server that sends something but no reply.
 */
const AWAY_MS = 30_000;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
const MOST_REDIRECTIONS = 5;

/** The refusals that are only temporary: the server is starting, busy or failing over. */
const TRANSIENT_CODES = /^(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|ASK|MOVED|BUSY|UNBLOCKED)$/;
const WRITES_REFUSED = /^(READONLY|NOREPLICAS|OOM|MISCONF)$/;

/** Commands to send; a function makes them anew for each attempt. */
type Commands = readonly Command[] | (() => readonly Command[]);

/**
 * The current Redis master, wherever it runs. ioredis would find it too, but its connections to Sentinels and to nodes
 * of a cluster have no limits on replies, and its Cluster needs rights that docs/fleet.md does not give.
 */
export class RedisServer {
  readonly #options: ServerOptions;
  readonly #awayFile: string | undefined;
  #connection: Connection | undefined;
  /** The server that was tried last. */
  #last: RedisAddress | undefined;
  #redirectedTo: RedisAddress | undefined;
  #answered = false;
  #away = false;
  #warned = false;
  #failure: GraphException | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  /** @param awayFile tells the processes of this machine that one of them waited in vain; without it each one waits */
  constructor(options: ServerOptions, awayFile?: string) {
    this.#options = options;
    this.#awayFile = awayFile;
  }

  /**
   * Sends commands and reads the replies, and retries until the server answers or the time limit ends. `read` throws
   * InvalidReply when the replies do not fit the commands.
   * @throws GraphException STORE_UNAVAILABLE; every later call then fails at once, unless only writes are refused
   */
  run<T>(commands: Commands, read: (replies: Reply[]) => T): Promise<T> {
    const { deadline } = this.#options;
    // Only one runs at a time; otherwise two that lose the connection would both reconnect.
    const running = this.#queue.then(() => deadline.count(() => this.#runInTime(commands, read)));
    this.#queue = running.catch(() => {});
    return running;
  }

  /** Closes the connection until the next command. */
  disconnect(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  async #runInTime<T>(commands: Commands, read: (replies: Reply[]) => T): Promise<T> {
    if (this.#failure) throw this.#failure;
    // A server that answers reads may be silent on writes. One that was up when this call began is waited for.
    this.#away = (this.#away || this.#connection === undefined) && this.#isAway();
    const away = this.#away;
    const attempt = this.#attempt(away);
    let redirections = 0;
    for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        this.#connection ??= await this.#open(attempt);
        const now = typeof commands === 'function' ? commands() : commands;
        const value = read(await this.#connection.send(now, attempt));
        this.#answered = true;
        return value;
      } catch (error) {
        this.disconnect();
        this.#redirectedTo = redirection(error, this.#last);
        if (this.#redirectedTo && ++redirections <= MOST_REDIRECTIONS) continue;
        this.#redirectedTo = undefined;
        const final = this.#isFinal(error);
        // What the caller's own time limit ended says nothing of the server.
        const waited = !final && !away && this.#options.deadline.forRequestMs > pause;
        if (final || uptimeMs() + pause >= attempt.silentEnd) throw this.#giveUp(error, waited);
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
    const { sentinelMaster, deadline } = this.#options;
    const unknownMs = sentinelMaster === undefined ? UNKNOWN_MS : SENTINEL_MS;
    const endAfter = (ms: number) => uptimeMs() + Math.min(ms, deadline.forRequestMs);
    const silentEnd = endAfter(away ? SHORTEST_WAIT_MS : this.#answered ? KNOWN_MS : unknownMs);
    return { silentEnd, end: endAfter(away ? UNKNOWN_MS : KNOWN_MS) };
  }

  /** Connects to the first address that can be used, or to the server that the first Sentinel there names. */
  async #open(attempt: Attempt): Promise<Connection> {
    const { addresses, sentinelMaster } = this.#options;
    if (this.#redirectedTo) return this.#logIn(this.#redirectedTo, attempt);
    this.#last = undefined;
    let failure: unknown;
    for (const [index, address] of addresses.entries()) {
      // The time that is left is divided among the remaining addresses, so the last one gets all of it.
      const now = uptimeMs();
      const share = { ...attempt, silentEnd: now + (attempt.silentEnd - now) / (addresses.length - index) };
      try {
        if (sentinelMaster === undefined) return await this.#logIn(address, share);
        return await this.#logIn(await this.#askSentinel(address, sentinelMaster, share), attempt);
      } catch (error) {
        if (this.#isFinal(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  #connect(address: RedisAddress, attempt: Attempt): Promise<Connection> {
    if (!this.#options.tls && !isOnThisMachine(address) && !this.#warned) {
      this.#warned = true;
      this.#options.warn(
        `the Redis server ${addressText(address)} is reached without encryption: use rediss:// if it offers TLS`,
      );
    }
    return Connection.open(address, this.#options, attempt);
  }

  async #logIn(address: RedisAddress, attempt: Attempt): Promise<Connection> {
    this.#last = address;
    const { database } = this.#options;
    const opened = await this.#connect(address, attempt);
    const commands = [...this.#login(), ...(database > 0 ? [['SELECT', database] as const] : [])];
    try {
      if (commands.length > 0) await opened.send(commands, attempt);
      return opened;
    } catch (error) {
      opened.close();
      throw error;
    }
  }

  async #askSentinel(address: RedisAddress, master: string, attempt: Attempt): Promise<RedisAddress> {
    const sentinel = await this.#connect(address, attempt);
    const send = (commands: Command[]) => sentinel.send(commands, attempt);
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

  /** ioredis would print a line of its own when the server needs no password, so it is not told of it. */
  #login(): Command[] {
    const { username, password } = this.#options;
    if (password === undefined) return [];
    return [['AUTH', ...(username === undefined ? [] : [username]), password.reveal()]];
  }

  /** Whether asking again does not help. */
  #isFinal(error: unknown): boolean {
    // A certificate that is refused now will be refused on a retry as well.
    if (error instanceof InvalidReply || isAboutTls(error)) return true;
    if (!(error instanceof ServerRefusal)) return false;
    // A server that Sentinels have just replaced refuses writes; without Sentinels it stays a replica.
    if (error.code === 'READONLY') return this.#options.sentinelMaster === undefined;
    return !TRANSIENT_CODES.test(error.code) && !/^max number of clients/.test(error.detail);
  }

  /** Returns the error for the caller. With `waited`, the other processes of the machine are told. */
  #giveUp(error: unknown, waited: boolean): GraphException {
    const { addresses, sentinelMaster, now } = this.#options;
    const named = sentinelMaster === undefined ? undefined : this.#last;
    const thrown = unavailable(error, named ? [named] : addresses);
    if (this.#awayFile !== undefined && waited) writeRefusal(this.#awayFile, thrown, now());
    // A server that refuses writes can still be read, and a lock can be deleted where memory is full.
    if (!WRITES_REFUSED.test(thrown.serverCode ?? '')) this.#failure = thrown;
    return thrown;
  }
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

/** Matches the codes of a failed TLS handshake. */
const ABOUT_TLS = /CERT|SIGNATURE|SIGNED|^ERR_(SSL|TLS)|^EPROTO$/;

/** Whether the connection failed because of TLS or of a certificate. */
function isAboutTls(error: unknown): boolean {
  return ABOUT_TLS.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

const GIVE_RIGHTS = 'give the Redis user the rights that docs/fleet.md lists';
const HINTS: Readonly<Record<string, string>> = {
  NOAUTH: 'set GRAPHCRED_REDIS_PASSWORD_FILE, and GRAPHCRED_REDIS_USERNAME if the server has users',
  WRONGPASS: 'check GRAPHCRED_REDIS_USERNAME and GRAPHCRED_REDIS_PASSWORD_FILE',
  NOPERM: GIVE_RIGHTS,
  'NOPERM in a script': GIVE_RIGHTS,
  'no such command':
    'set GRAPHCRED_REDIS_SENTINEL_MASTER if GRAPHCRED_REDIS_URL names Sentinels, and only then',
  'no password set': 'leave GRAPHCRED_REDIS_PASSWORD and GRAPHCRED_REDIS_PASSWORD_FILE out',
  OOM: 'raise the maxmemory of the server: it has no memory left',
  READONLY: 'let GRAPHCRED_REDIS_URL name the master: this is a replica',
  NOREPLICAS: 'connect its replicas, or lower its min-replicas-to-write',
  'no such master': 'check GRAPHCRED_REDIS_SENTINEL_MASTER',
  CERT_HAS_EXPIRED: 'ask the administrator of the server to renew it',
  ERR_TLS_CERT_ALTNAME_INVALID: 'write the host in GRAPHCRED_REDIS_URL as the certificate names it',
};

function tlsHint(code: string): string {
  return /CERT|SIGN/.test(code)
    ? 'set GRAPHCRED_REDIS_CA to the PEM file of the CA'
    : 'check that this port speaks TLS: rediss:// is for one that does, redis:// for one that does not';
}

/**
 * Creates the error without the server's own text: a hostile server may send anything, and may repeat what it was sent.
 */
function unavailable(error: unknown, addresses: readonly RedisAddress[]): GraphException {
  const server = addresses.map(addressText).join(', ');
  const code = codeOf(error);
  const isAnswer = error instanceof ServerRefusal || error instanceof InvalidReply;
  const broken = REASONS[code] ?? (code || (error instanceof Error ? error.message : 'unknown error'));
  const hint = HINTS[code] ?? (isAboutTls(error) ? tlsHint(code) : undefined);
  const problem = isAnswer
    ? `use the Redis server ${server}: ${error.message}`
    : `reach the Redis server ${server}: ${broken}`;
  return new GraphException('STORE_UNAVAILABLE', `cannot ${problem}`, {
    ...(hint === undefined
      ? { hint: 'check GRAPHCRED_REDIS_URL and that the server is up', remedies: ['examine'] }
      : { hint }),
    ...(error instanceof ServerRefusal && { serverCode: code }),
    ...(isAboutTls(error) && { setting: 'redis.ca' }),
  });
}

const UNKNOWN_CA = 'the certificate is self-signed or its CA is unknown';
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'it closed the connection',
  ENOENT: 'there is no such socket',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be looked up',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'there is no route to it',
  EACCES: 'permission denied',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate belongs to another host',
};
