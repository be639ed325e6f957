import { isLoopbackHost } from '../../core/endpoints.js';
import { GraphException } from '../../core/errors.js';
import { Sensitive } from '../../core/sensitive.js';
import type { RedisAddress, RedisOptions } from '../store.js';

/** The parts of `redis.url`. */
export type RedisUrl = Pick<RedisOptions, 'addresses' | 'tls' | 'username' | 'password' | 'database'>;

const FORMS = 'write redis://HOST:6379, rediss://HOST:6379 (TLS), redis://A:26379,B:26379 or unix:///PATH';
const URL_FORM = /^(rediss?):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/(\d{1,4})?)?$/;
const HOST_FORM = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/;

/**
 * Parses `redis.url`.
 * @param sentinel whether the addresses are those of Sentinels, which have another default port
 * @throws GraphException USAGE, which never repeats the text: it may hold a password
 */
export function parseRedisUrl(text: string, { sentinel }: { readonly sentinel: boolean }): RedisUrl {
  if (text.startsWith('unix:')) {
    const path = /^unix:(?:\/\/)?(\/[^/?#][^?#]*)$/.exec(text)?.[1];
    if (path === undefined) throw invalid('does not name a socket by its absolute path');
    return { addresses: [{ path: decode(path) }], tls: false, database: 0 };
  }
  const [, scheme, login, hosts, database] = URL_FORM.exec(text) ?? [];
  if (scheme === undefined || hosts === undefined) throw invalid('is not a Redis URL');
  return {
    addresses: hosts.split(',').map((host) => parseHost(host, sentinel ? 26379 : 6379)),
    tls: scheme === 'rediss',
    ...parseLogin(login),
    database: Number(database ?? 0),
  };
}

function parseLogin(login = ''): Pick<RedisUrl, 'username' | 'password'> {
  const [, name = '', password = ''] = /^([^:]*):?(.*)$/s.exec(login) ?? [];
  return {
    username: decode(name) || undefined,
    password: password === '' ? undefined : new Sensitive(decode(password)),
  };
}

function parseHost(text: string, defaultPort: number): RedisAddress {
  const [, host, portText] = HOST_FORM.exec(text) ?? [];
  const port = Number(portText ?? defaultPort);
  if (host === undefined || port < 1 || port > 65_535) throw invalid('has a host or port that is malformed');
  return { host: host.replace(/^\[|\]$/g, ''), port };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid('has a % that is not followed by two hexadecimal digits');
  }
}

function invalid(problem: string): GraphException {
  return new GraphException('USAGE', `the Redis URL ${problem}`, {
    hint: FORMS,
    setting: 'redis.url',
    problem,
  });
}

/** Writes an address as it is shown and as a cluster writes it. */
export function addressText(address: RedisAddress): string {
  if ('path' in address) return address.path;
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

/** Whether the server is on this machine: a socket file, or a loopback address. */
export function isOnThisMachine(address: RedisAddress): boolean {
  if ('path' in address) return true;
  return isLoopbackHost(address.host.includes(':') ? `[${address.host}]` : address.host);
}
