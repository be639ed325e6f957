import { type GraphException, type Hint, usageError } from './errors.js';
import type { ServerVersion } from './protocol/version.js';

/** The addresses of the two servers as they are set. */
export interface Endpoints {
  /** URL with scheme, no port; `http://127.0.0.1` when absent. */
  readonly host?: string | undefined;
  /** 9000 when absent; 443 for a host that ends in `.tgcloud.io`. */
  readonly restPort?: number | undefined;
  /** 14240 when absent; 443 for a host that ends in `.tgcloud.io`. */
  readonly gsqlPort?: number | undefined;
  /** The URL of the REST server, used instead of host and port. It may have a path, such as `/restpp`. */
  readonly restUrl?: string | undefined;
  /** The URL of the GSQL server, used instead of host and port. It may have a path. */
  readonly gsqlUrl?: string | undefined;
}

/** The two servers of a database: their effective base URLs, as `normalizeBaseUrl` writes them. */
export interface Servers {
  /** The REST server (RESTPP). */
  readonly restUrl: string;
  /** The GSQL server. */
  readonly gsqlUrl: string;
}

/** A pair of base URLs. `restUrl` is undefined while it depends on the server's version. */
export interface Pair {
  readonly gsqlUrl: string;
  readonly restUrl: string | undefined;
}

/** Creates the error for a malformed address. `problem` ends a sentence: `must not have a port`. */
export type Refuse = (setting: keyof Endpoints, problem: string, hint: Hint) => GraphException;

const refuseOption: Refuse = (setting, problem, hint) => usageError(`The ${setting} ${problem}.`, hint);

const DEFAULT_HOST = 'http://127.0.0.1';
export const DEFAULT_REST_PORT = 9000;
const DEFAULT_GSQL_PORT = 14240;
/** In the makers' cloud both servers are behind one port. */
export const CLOUD_PORT = 443;

/**
 * Derives the base URLs as far as they are known without the server's version. The GSQL server's is `gsqlUrl`, else
 * `host` with `gsqlPort`. The REST server's is `restUrl`, else scheme and host name of the GSQL URL with `restPort`; but
 * `<GSQL URL>/restpp` when both ports are equal. Without `restPort` it depends on the version, and is undefined.
 */
export function knownServers(endpoints: Endpoints, refuse = refuseOption): Pair {
  const { gsqlUrl: service, restUrl: rest } = endpoints;
  const host = endpoints.host === undefined ? undefined : normalizeHost(endpoints.host, refuse);
  const base = service === undefined ? (host ?? DEFAULT_HOST) : normalizeBaseUrl(service, 'gsqlUrl', refuse);
  const cloudPort = isCloud(base) ? CLOUD_PORT : undefined;
  const gsqlPort = checkPort(endpoints.gsqlPort ?? cloudPort ?? DEFAULT_GSQL_PORT, 'gsqlPort', refuse);
  const restPort = checkPort(endpoints.restPort ?? cloudPort ?? DEFAULT_REST_PORT, 'restPort', refuse);
  const gsqlUrl = service === undefined ? hostUrl(base, gsqlPort) : base;
  if (rest !== undefined) return { gsqlUrl, restUrl: normalizeBaseUrl(rest, 'restUrl', refuse) };
  if (host !== undefined && new URL(host).hostname !== new URL(gsqlUrl).hostname)
    throw refuse('host', 'is not the host of gsqlUrl', 'leave one of them out, or add restUrl');
  if (Number(portOf(gsqlUrl)) === restPort) return { gsqlUrl, restUrl: `${gsqlUrl}/restpp` };
  return { gsqlUrl, restUrl: endpoints.restPort === undefined ? undefined : hostUrl(gsqlUrl, restPort) };
}

/** Derives both base URLs. On 4.x the REST server is behind the GSQL server, unless its URL or port is set. */
export function serversOf(endpoints: Endpoints, version: Pick<ServerVersion, 'restBehindGsql'>): Servers {
  const { gsqlUrl, restUrl } = knownServers(endpoints);
  const restPort = isCloud(gsqlUrl) ? CLOUD_PORT : DEFAULT_REST_PORT;
  const byVersion = version.restBehindGsql ? `${gsqlUrl}/restpp` : hostUrl(gsqlUrl, restPort);
  return { gsqlUrl, restUrl: restUrl ?? byVersion };
}

/** Whether two pairs are the same: a REST server that is not set may be either of the two that can follow. */
export function isSamePair(a: Pair, b: Pair): boolean {
  const others = restUrlsOf(b);
  return a.gsqlUrl === b.gsqlUrl && restUrlsOf(a).some((url) => others.includes(url));
}

function restUrlsOf({ gsqlUrl, restUrl }: Pair): string[] {
  if (restUrl !== undefined) return [restUrl];
  return [true, false].map((restBehindGsql) => serversOf({ gsqlUrl }, { restBehindGsql }).restUrl);
}

/** Returns the variables by which other tools find the servers: on two hosts `TG_HOST` is the REST server's alone. */
export function serverVariables({ restUrl, gsqlUrl }: Servers) {
  const [restHost, gsqlHost] = [restUrl, gsqlUrl].map((url) => hostUrl(url));
  return {
    TG_HOST: restHost,
    TG_RESTPP_PORT: portOf(restUrl),
    TG_GS_PORT: restHost === gsqlHost ? portOf(gsqlUrl) : undefined,
  };
}

/** Whether those variables say which pair this is: not for two hosts, and not for a path that does not follow from the ports. */
export function isInVariables(servers: Servers): boolean {
  const { TG_HOST: host, TG_RESTPP_PORT: rest, TG_GS_PORT: gsql } = serverVariables(servers);
  return isSamePair(knownServers({ host, restPort: Number(rest), gsqlPort: Number(gsql ?? rest) }), servers);
}

export function isCloud(address: string): boolean {
  return URL.canParse(address) && /\.tgcloud\.io\.?$/.test(new URL(address).hostname);
}

/** Returns the port of an address, also where the scheme implies it. */
export function portOf(address: string | URL): string {
  const { port, protocol } = new URL(address);
  return port || (protocol === 'https:' ? '443' : '80');
}

/** Whether nobody on the way can read what is sent there: https, or this machine. */
export function isSecureUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname));
}

const LOOPBACK = [
  /^(?:.*\.)?localhost\.?$/i,
  /^127(?:\.\d{1,3}){3}\.?$/,
  /^\[::1\]$/,
  /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/i,
];

/** Whether a host, a name or an address with IPv6 in brackets, is this machine. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK.some((pattern) => pattern.test(hostname));
}

/** Normalizes a base URL: lower-case host, no default port, no trailing slash. */
export function normalizeBaseUrl(text: string, setting: keyof Endpoints, refuse = refuseOption): string {
  const url = parse(text, setting, refuse);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** Normalizes `host` to scheme and host name. */
export function normalizeHost(text: string, refuse = refuseOption): string {
  const url = parse(text, 'host', refuse);
  // The URL class drops the default port of the scheme, so the text is checked as well.
  const typedPort = /^[a-z]+:\/\/(?:\[[^\]]*\]|[^:/]*):\d/i.test(text.trim());
  if (url.port !== '' || typedPort)
    throw refuse('host', 'must not have a port', [
      'leave the port out, or give the URL of the GSQL server, with its port, instead',
      { setting: 'ports' },
    ]);
  if (url.pathname !== '/')
    throw refuse('host', 'must not have a path', ['give the URL of each server', { setting: 'urls' }]);
  return url.origin;
}

function parse(text: string, setting: keyof Endpoints, refuse: Refuse): URL {
  const trimmed = text.trim();
  if (!/^https?:\/\//i.test(trimmed) || !URL.canParse(trimmed)) {
    const [name, port] = /^[A-Za-z0-9.-]+(:\d+)?$/.exec(trimmed) ?? [];
    const whole = `https://${name} or http://${name}`;
    let hint: Hint = 'give http://127.0.0.1 or https://graph.example.com, for example';
    if (setting === 'host' && name)
      hint = port ? [`give the URL of the GSQL server: ${whole}`, { setting: 'ports' }] : `write ${whole}`;
    if (/^https?:\/\//i.test(trimmed))
      throw refuse(setting, 'is not a valid URL', 'check its host name and port');
    throw refuse(setting, 'must be a URL that begins with http:// or https://', hint);
  }
  const url = new URL(trimmed);
  if (url.username !== '' || url.password !== '')
    throw refuse(
      setting,
      'must not hold a user name or password',
      'remove them from the address, and give them as username and password',
    );
  if (url.search !== '' || url.hash !== '')
    throw refuse(setting, 'must not contain ? or #', 'end it before that sign');
  return url;
}

function checkPort(port: number, setting: keyof Endpoints, refuse: Refuse): number {
  if (Number.isInteger(port) && port >= 1 && port <= 65535) return port;
  const isRest = setting === 'restPort';
  const server = isRest
    ? `REST server, usually ${DEFAULT_REST_PORT}`
    : `GSQL server, usually ${DEFAULT_GSQL_PORT}`;
  throw refuse(setting, 'must be a whole number from 1 to 65535', `give the port of the ${server}`);
}

/** Returns scheme and host name of an address, with this port or without one. */
export function hostUrl(address: string, port: number | '' = ''): string {
  const url = new URL(address);
  url.port = String(port);
  return url.origin;
}
