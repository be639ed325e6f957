import { refuseValue } from '../config/faults.js';
import type { Level } from '../config/level.js';
import type { ConfigKey } from '../config/schema.js';
import type { Settings } from '../config/settings.js';
import { type Endpoints, restBaseUrl, serviceBaseUrl } from '../core/endpoints.js';
import { refuseAddress } from './refuse-address.js';

const NEARNESS: Record<Level, number> = { flag: 0, variable: 1, field: 2, profile: 3, top: 4, default: 5 };

/** Which database: both servers, as far as the settings alone tell. */
export interface Target {
  readonly endpoints: Endpoints;
  /** Service server. */
  readonly gsqlUrl: string;
  /** REST server; undefined while it depends on the server's version. */
  readonly restUrl: string | undefined;
  /** Scheme and host name, without port. */
  readonly host: string;
  /** A flag or variable leads somewhere else than the config file: the file's credentials stay out. */
  readonly rerouted: boolean;
  /** A flag or variable of ours leads somewhere else than `TG_HOST` and its ports: the credentials beside them stay out. */
  readonly awayFromFields: boolean;
}

export function targetOf(settings: Settings): Target {
  const endpoints = checked(settings, () => endpointsOf(settings, 0));
  const gsqlUrl = checked(settings, () => serviceBaseUrl(endpoints));
  const restUrl = restUrlOf(settings, endpoints);
  const { protocol, hostname } = new URL(gsqlUrl);
  return {
    endpoints,
    gsqlUrl,
    restUrl,
    host: `${protocol}//${hostname}`,
    rerouted: isRerouted(settings, gsqlUrl, restUrl),
    awayFromFields: isAwayFromFields(settings, gsqlUrl, restUrl),
  };
}

/** The port in an address, also the one that goes without saying. */
export function portOf(address: string): string {
  const { port, protocol } = new URL(address);
  return port || (protocol === 'https:' ? '443' : '80');
}

function isRerouted(settings: Settings, gsqlUrl: string, restUrl: string | undefined): boolean {
  const near = ['host', 'restPort', 'gsqlPort', 'restUrl', 'gsqlUrl'] as const;
  if (!near.some((key) => NEARNESS[settings.all[key][0]?.level ?? 'default'] < NEARNESS.profile))
    return false;
  const own = endpointsOf(settings, NEARNESS.profile);
  try {
    return serviceBaseUrl(own) !== gsqlUrl || restUrlOf(settings, own) !== restUrl;
  } catch {
    // The file's own address is no address: whatever is in force now is another one.
    return true;
  }
}

function isAwayFromFields(settings: Settings, gsqlUrl: string, restUrl: string | undefined): boolean {
  const field = (key: ConfigKey) =>
    settings.all[key].find(({ level }) => level === 'field')?.value as string | undefined;
  const host = field('host');
  const differs = (url: string | undefined, port: string | undefined) => {
    if (url === undefined) return false;
    if (port !== undefined && Number(port) !== Number(portOf(url))) return true;
    if (host === undefined) return false;
    // What is no address leads nowhere.
    if (!URL.canParse(host)) return true;
    const [a, b] = [new URL(url), new URL(host)];
    return a.protocol !== b.protocol || a.hostname !== b.hostname;
  };
  return differs(gsqlUrl, field('gsqlPort')) || differs(restUrl, field('restPort'));
}

/** The addresses said at this distance or farther. Of a URL and its parts the nearer one counts. */
function endpointsOf(settings: Settings, nearest: number): Endpoints {
  const pick = (key: ConfigKey) => {
    const said = settings.all[key].find(({ level }) => NEARNESS[level] >= nearest && level !== 'default');
    return said && { text: said.value as string, nearness: NEARNESS[said.level] };
  };
  const host = pick('host');
  const found: Record<string, string | number> = {};
  if (host) found.host = host.text;
  for (const [urlKey, portKey] of [
    ['restUrl', 'restPort'],
    ['gsqlUrl', 'gsqlPort'],
  ] as const) {
    const url = pick(urlKey);
    const port = pick(portKey);
    const parts = Math.min(host?.nearness ?? 9, port?.nearness ?? 9);
    if (url && url.nearness <= parts) found[urlKey] = url.text;
    if (port) found[portKey] = portNumber(settings, portKey, port.text);
  }
  return found;
}

function restUrlOf(settings: Settings, endpoints: Endpoints): string | undefined {
  const said = endpoints.restUrl !== undefined || endpoints.restPort !== undefined;
  return said ? checked(settings, () => restBaseUrl(endpoints, 'B')) : undefined;
}

function portNumber(settings: Settings, key: ConfigKey, text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) {
    refuseValue(settings, key, 'is not a port number', 'a port is a whole number from 1 to 65535');
  }
  return port;
}

function checked<T>(settings: Settings, work: () => T): T {
  try {
    return work();
  } catch (error) {
    return refuseAddress(settings, error);
  }
}
