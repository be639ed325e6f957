import { Cluster, Redis } from 'ioredis';
import type { RedisOptions } from '../store.js';

export type Client = Redis | Cluster;

/** A server that is started anew is often there after a second. */
const RETRY_AFTER_MS = 1_000;
const once = (times: number) => (times > 1 ? null : RETRY_AFTER_MS);

/**
 * Makes the client of these settings; it connects with the first command. Its connections keep the process alive only
 * while a command waits.
 * @param limitMs longest time for connecting, and for a command
 * @param onTrouble called with what the client meets on its way, since the error of a command does not always say it
 */
export function makeClient(
  options: RedisOptions,
  limitMs: number,
  onTrouble: (error: Error) => void,
): Client {
  const { addresses, sentinelMaster, username, password, sentinelLogin, database, ca } = options;
  const [first] = addresses;
  const hosts = addresses.flatMap((address) => ('host' in address ? [address] : []));
  const tls = options.tls ? { tls: { ...(ca !== undefined && { ca }) } } : {};
  const common = {
    ...tls,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password: password.reveal() }),
    db: database,
    lazyConnect: true,
    connectTimeout: limitMs,
    commandTimeout: limitMs,
    maxRetriesPerRequest: 1,
    retryStrategy: once,
    // A minter may not ask for INFO and CLIENT.
    enableReadyCheck: false,
    disableClientInfo: true,
  };
  const client =
    sentinelMaster === undefined && hosts.length > 1
      ? new Cluster(hosts, {
          redisOptions: common,
          lazyConnect: true,
          enableReadyCheck: false,
          clusterRetryStrategy: () => null,
          slotsRefreshTimeout: limitMs / hosts.length,
          // A certificate names hosts.
          dnsLookup: (host, done) => done(null, host),
        })
      : new Redis({
          ...common,
          ...(sentinelMaster === undefined
            ? first
            : {
                sentinels: hosts,
                name: sentinelMaster,
                sentinelRetryStrategy: once,
                sentinelCommandTimeout: limitMs,
                updateSentinels: false,
                enableTLSForSentinelMode: options.tls,
                ...(options.tls && { sentinelTLS: tls.tls }),
                ...(sentinelLogin?.username !== undefined && { sentinelUsername: sentinelLogin.username }),
                ...(sentinelLogin?.password !== undefined && {
                  sentinelPassword: sentinelLogin.password.reveal(),
                }),
              }),
        });
  // The timer of a command keeps the process alive.
  const unref = (redis: Redis) => redis.on('connect', () => redis.stream.unref());
  if (client instanceof Redis) unref(client);
  else client.on('+node', unref).on('node error', onTrouble);
  return client.on('error', onTrouble);
}
