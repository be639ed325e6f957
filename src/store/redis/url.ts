import { Sensitive } from '../../core/sensitive.js';
import type { Deadline } from '../../core/time.js';

type RedisUrl = NonNullable<ReturnType<typeof parseRedisUrl>>;

/** How to reach the Redis server through which the fleet shares its tokens. */
export interface RedisOptions extends RedisUrl {
  /** CA certificates in PEM, instead of the system's. */
  readonly ca?: string | undefined;
  /** The name by which Sentinels know the servers. When it is set, the addresses are those of the Sentinels. */
  readonly sentinelMaster?: string | undefined;
  readonly sentinelLogin?: Partial<Pick<RedisUrl, 'username' | 'password'>>;
  /** How long all commands of this run together may take. */
  readonly deadline: Deadline;
  /** Milliseconds since 1970, by this machine's clock. */
  now(): number;
}

const URL_FORM = /^(rediss?):\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^@/?#]+)(?:\/(\d{1,4})?)?$/;
const HOST_FORM = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/;

export function parseRedisUrl(url: string, defaultPort = 6379) {
  try {
    const [, scheme, username = '', password = '', hosts = '', database = 0] = URL_FORM.exec(url) ?? [];
    return {
      /** One server, or several: Sentinels, or else nodes of a cluster. */
      addresses: hosts.split(',').map((text) => {
        const [, host, port = defaultPort] = HOST_FORM.exec(text) ?? [];
        if (host === undefined || Number(port) < 1 || Number(port) > 65_535) throw new Error('malformed');
        return { host, port: Number(port) };
      }),
      tls: scheme === 'rediss',
      username: decodeURIComponent(username) || undefined,
      password: password === '' ? undefined : new Sensitive(decodeURIComponent(password)),
      database: Number(database),
    };
  } catch {
    return undefined;
  }
}
