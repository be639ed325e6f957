import { addressFault } from './address-fault.js';
import { GraphException } from './errors.js';
import type { Generation } from './protocol.js';

/** Where the two servers are. Absent ports are the defaults 9000 and 14240. */
export interface Endpoints {
  /** URL with scheme, no port; `http://127.0.0.1` when absent. */
  readonly host?: string | undefined;
  readonly restPort?: number | undefined;
  readonly gsqlPort?: number | undefined;
  /** Instead of host and port. */
  readonly restUrl?: string | undefined;
  readonly gsqlUrl?: string | undefined;
}

const DEFAULT_HOST = 'http://127.0.0.1';
const DEFAULT_REST_PORT = 9000;
const DEFAULT_GSQL_PORT = 14240;

/**
 * A base URL in its one spelling: lower-case host, default port left out, no trailing slash.
 * Throws USAGE on anything but http and https, and on user name, password, query or fragment in it.
 */
export function normalizeBaseUrl(text: string, name: string): string {
  const url = parse(text, name);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** `host` in its one spelling: scheme and host, nothing else. Throws USAGE on a port or a path. */
export function normalizeHost(text: string): string {
  const url = parse(text, 'host');
  // The URL class hides a port that is the scheme's own, so the text is looked at as well.
  const typedPort = /^[a-z]+:\/\/(?:\[[^\]]*\]|[^:/]*):\d/i.test(text.trim());
  if (url.port !== '' || typedPort) {
    throw new GraphException('USAGE', 'The host must not have a port.', {
      hint: 'Give the ports with --rest-port and --gsql-port (restPort, gsqlPort), or whole addresses with --rest-url and --gsql-url (restUrl, gsqlUrl).',
    });
  }
  if (url.pathname !== '/') {
    throw new GraphException('USAGE', 'The host must not have a path.', {
      hint: 'For an address with a path use --rest-url and --gsql-url (restUrl, gsqlUrl).',
    });
  }
  return url.origin;
}

function parse(text: string, name: string): URL {
  const trimmed = text.trim();
  const url = /^https?:\/\//i.test(trimmed) && URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (url?.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw addressFault(url, trimmed, name);
  return url;
}

/** The service server's base URL. With only `restUrl` given, its host is used. */
export function serviceBaseUrl(endpoints: Endpoints): string {
  if (endpoints.gsqlUrl !== undefined) return normalizeBaseUrl(endpoints.gsqlUrl, 'gsqlUrl');
  return withPort(hostOf(endpoints, endpoints.restUrl), endpoints.gsqlPort ?? DEFAULT_GSQL_PORT, 'gsqlPort');
}

/**
 * The REST server's base URL: `restUrl`, else host and port; behind the service server (`/restpp`) when that
 * is at the same address, or on 4.x when nobody set a REST port. With only `gsqlUrl` given, its host is used.
 */
export function restBaseUrl(endpoints: Endpoints, generation: Generation): string {
  if (endpoints.restUrl !== undefined) return normalizeBaseUrl(endpoints.restUrl, 'restUrl');
  const service = serviceBaseUrl(endpoints);
  const port = endpoints.restPort ?? DEFAULT_REST_PORT;
  const rest = withPort(hostOf(endpoints, endpoints.gsqlUrl), port, 'restPort');
  const unset4 = generation === 'C' && endpoints.restPort === undefined;
  return unset4 || new URL(service).origin === rest ? `${service}/restpp` : rest;
}

function hostOf(endpoints: Endpoints, otherUrl: string | undefined): string {
  if (endpoints.host !== undefined) return normalizeHost(endpoints.host);
  if (otherUrl === undefined) return DEFAULT_HOST;
  const other = new URL(normalizeBaseUrl(otherUrl, 'address'));
  other.port = '';
  return other.origin;
}

function withPort(host: string, port: number, name: string): string {
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new GraphException('USAGE', `The ${name} must be a whole number from 1 to 65535.`);
  }
  const url = new URL(host);
  url.port = String(port);
  return url.origin;
}
