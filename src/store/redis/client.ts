import { Cluster, Redis } from 'ioredis';
import { isLoopbackHost } from '../../core/endpoints.js';
import { GraphException, type Hint } from '../../core/errors.js';
import { recentRefusal, writeRefusal } from '../lock.js';
import type { StoreOptions } from '../store.js';
import type { RedisOptions } from './url.js';

const LIMIT_MS = 5_000;
/** A server that is started anew is often there after a second. */
const RETRY_AFTER_MS = 1_000;
const retryOnce = (times: number) => (times > 1 ? null : RETRY_AFTER_MS);
/** How long the other processes of the machine do not ask after one waited in vain. */
const AWAY_MS = 30_000;
/** A server that refuses one command may grant another: it can still be read. */
const REFUSES_ONE = /^(READONLY|NOREPLICAS|OOM|MISCONF|NOPERM)$/;

export type RedisServer = ReturnType<typeof redisServer>;

/**
 * What ioredis reports of the Redis server is final for the call, unless it is about one command.
 * @param awayFile tells the processes of this machine that one of them waited in vain; without it each one waits
 */
export function redisServer(options: RedisOptions & Pick<StoreOptions, 'warn'>, awayFile?: string) {
  const { addresses, tls, deadline, warn, now } = options;
  const server = addresses.map(({ host, port }) => `${host}:${port}`).join(', ');
  let client: Redis | Cluster | undefined;
  /** The first error of the connection since a command succeeded. That of a command may say only that time was up. */
  let cause: Error | undefined;
  /** Why nothing is asked any more: what this process met, or another one that waited in vain. */
  let outage: GraphException | undefined;

  const open = () => {
    if (!tls && !addresses.every(({ host }) => isLoopbackHost(host)))
      warn(`the Redis server ${server} is reached without encryption: use rediss:// if it offers TLS`);
    return makeClient(options, Math.min(LIMIT_MS, deadline.forRequestMs), (error) => {
      cause ??= error;
    });
  };
  const disconnect = () => {
    client?.disconnect();
    client = undefined;
  };
  /** Returns the error for the caller, and tells the other processes of the machine of a server that is away. */
  const giveUp = (error: Error): GraphException => {
    // Commands that are sent together fail together.
    if (outage) return outage;
    const isAnswer = error.name === 'ReplyError';
    const thrown = redisUnavailable(isAnswer ? error : (cause ?? error), server);
    if (REFUSES_ONE.test(thrown.serverCode ?? '')) return thrown;
    disconnect();
    // What the caller's own time limit ended says nothing of the server. A timer may fire a few ms early.
    if (awayFile && !isAnswer && deadline.forRequestMs > 10) writeRefusal(awayFile, thrown, now());
    outage = thrown;
    return thrown;
  };
  /** Sends a command. Texts arrive as bytes, and a server may answer anything. Throws STORE_UNAVAILABLE. */
  const run = (name: string, ...args: readonly (string | number | Buffer)[]): Promise<unknown> =>
    deadline.count(async () => {
      if (!client && awayFile) outage ??= recentRefusal(awayFile, now() - AWAY_MS, now());
      if (outage) throw outage;
      client ??= open();
      try {
        if (deadline.forRequestMs < 1) throw new Error('Command timed out');
        const reply = await client.callBuffer(name, ...args);
        cause = undefined;
        return reply;
      } catch (error) {
        throw giveUp(error as Error);
      }
    });
  return { run, disconnect };
}

/** Makes a client that connects with the first command, and keeps the process alive only while a command waits. */
function makeClient(options: RedisOptions, limitMs: number, onError: (error: Error) => void) {
  const { addresses, sentinelMaster, sentinelLogin, ca } = options;
  const hosts = addresses.map(({ host, port }) => ({ host: host.replace(/^\[|\]$/g, ''), port }));
  const tls = options.tls ? { ca } : undefined;
  const common = {
    tls,
    username: options.username,
    password: options.password?.reveal(),
    db: options.database,
    lazyConnect: true,
    connectTimeout: limitMs,
    commandTimeout: limitMs,
    maxRetriesPerRequest: 1,
    retryStrategy: retryOnce,
    // A minter may not ask for INFO and CLIENT.
    enableReadyCheck: false,
    disableClientInfo: true,
  };
  // The timer of a command keeps the process alive.
  const unref = (redis: Redis) => redis.on('connect', () => redis.stream.unref());
  if (sentinelMaster === undefined && hosts.length > 1)
    return new Cluster(hosts, {
      redisOptions: common,
      lazyConnect: true,
      enableReadyCheck: false,
      clusterRetryStrategy: () => null,
      // A certificate names hosts.
      dnsLookup: (host, done) => done(null, host),
    })
      .on('+node', unref)
      .on('node error', onError)
      .on('error', onError);
  return unref(
    new Redis({
      ...common,
      ...hosts[0],
      sentinels: sentinelMaster === undefined ? undefined : hosts,
      name: sentinelMaster,
      sentinelRetryStrategy: retryOnce,
      sentinelCommandTimeout: limitMs,
      updateSentinels: false,
      enableTLSForSentinelMode: options.tls,
      sentinelTLS: tls,
      sentinelUsername: sentinelLogin?.username,
      sentinelPassword: sentinelLogin?.password?.reveal(),
    }),
  ).on('error', onError);
}

/** Returns a reply's parts. A reply of another type has none. */
export function listOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}

const NO_RIGHTS = /NOPERM|ACL failure in script|The user executing the script can't/;

/** What helps, by the text of Redis, of the system or of ioredis. The first that fits counts. */
const REDIS_HINTS: readonly (readonly [text: RegExp, hint: string])[] = [
  [NO_RIGHTS, 'give the Redis user all the rights that docs/fleet.md lists'],
  [/NOAUTH|WRONGPASS/, 'check GRAPHCRED_REDIS_USERNAME and GRAPHCRED_REDIS_PASSWORD_FILE'],
  [/READONLY/, 'set GRAPHCRED_REDIS_URL to the master: this server is a replica'],
  [/OOM|NOREPLICAS|CLUSTERDOWN|LOADING/, 'have whoever runs that Redis server look at this'],
  [/MOVED/, 'list several nodes of the cluster in GRAPHCRED_REDIS_URL'],
  [
    /unknown command|entinels are/,
    'set GRAPHCRED_REDIS_SENTINEL_MASTER if these are Sentinels, and unset it if they are not',
  ],
  [/CERT|SIGNATURE/, 'check the host in GRAPHCRED_REDIS_URL, and GRAPHCRED_REDIS_CA: the PEM file of the CA'],
  [/ERR_(SSL|TLS)|EPROTO/, 'use rediss:// for a port that speaks TLS, and redis:// for one that does not'],
];

/** Creates the error for the caller, without the server's own text, which may repeat what it was sent. */
function redisUnavailable(error: Error, server: string): GraphException {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const [, known] = REDIS_HINTS.find(([text]) => text.test(`${code} ${message}`)) ?? [];
  const hint: Hint = known ?? [
    'check GRAPHCRED_REDIS_URL (rediss:// means TLS) and that the server is up',
    { command: 'doctor' },
  ];
  if (error.name !== 'ReplyError') {
    const why = [syscall, code].filter(Boolean).join(' ') || message.split(/[.:]/, 1)[0];
    const failed = `cannot reach the Redis server ${server}: ${why}`;
    return new GraphException('STORE_UNAVAILABLE', failed, { hint });
  }
  const { name } = (error as Error & { readonly command: { readonly name: string } }).command;
  const serverCode = NO_RIGHTS.test(message) ? 'NOPERM' : (/^[A-Z]+\b/.exec(message)?.[0] ?? 'an error');
  const answer = `cannot use the Redis server ${server}: it answered ${name.toUpperCase()} with ${serverCode}`;
  return new GraphException('STORE_UNAVAILABLE', answer, { hint, serverCode });
}
