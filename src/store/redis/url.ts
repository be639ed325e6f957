import { isLoopbackHost } from '../../core/endpoints.js';
import { Sensitive } from '../../core/sensitive.js';
import type { RedisAddress, RedisOptions } from '../store.js';

/** The parts of `redis.url`. */
export type RedisUrl = Pick<RedisOptions, 'addresses' | 'tls' | 'username' | 'password' | 'database'>;

const SOCKET_FORM = /^unix:(?:\/\/)?(\/[^/?#][^?#]*)$/;
const URL_FORM = /^(rediss?):\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^@/?#]+)(?:\/(\d{1,4})?)?$/;
const HOST_FORM = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/;

/**
 * Parses `redis.url`.
 * @param sentinel whether the addresses are those of Sentinels, which have another default port
 * @returns undefined for what is no such URL
 */
export function parseRedisUrl(
  text: string,
  { sentinel }: { readonly sentinel: boolean },
): RedisUrl | undefined {
  try {
    const [, socket] = SOCKET_FORM.exec(text) ?? [];
    if (socket) return { addresses: [{ path: decodeURIComponent(socket) }], tls: false, database: 0 };
    const [, scheme, username = '', password = '', hosts = '', database = 0] = URL_FORM.exec(text) ?? [];
    return {
      addresses: hosts.split(',').map((host) => parseHost(host, sentinel ? 26379 : 6379)),
      tls: scheme === 'rediss',
      username: decodeURIComponent(username) || undefined,
      password: password === '' ? undefined : new Sensitive(decodeURIComponent(password)),
      database: Number(database),
    };
  } catch {
    return undefined;
  }
}

function parseHost(text: string, defaultPort: number): RedisAddress {
  const [, host, port = defaultPort] = HOST_FORM.exec(text) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) throw new Error('malformed');
  return { host, port: Number(port) };
}

/** Writes an address as it is shown. */
export function addressText(address: RedisAddress): string {
  return 'path' in address ? address.path : `${address.host}:${address.port}`;
}

/** Whether the server is on this machine: a socket file, or a loopback address. */
export function isOnThisMachine(address: RedisAddress): boolean {
  return 'path' in address || isLoopbackHost(address.host);
}
