import { isLoopback, portOf } from '../endpoints.js';
import {
  bareHost,
  type ProxyRoute,
  type RequestOptions,
  type Socket,
  TransportFailure,
  tlsSettings,
} from './transport.js';
import type { ProxyOptions } from './types.js';

/** Returns the way through the proxy that applies to `url`, if any. */
export function routeTo(url: URL, proxy: ProxyOptions): ProxyRoute | undefined {
  const via = proxyFor(url, proxy);
  return (
    via && { origin: via.origin, open: (call, direct, stop) => routeThroughProxy(call, via, direct, stop) }
  );
}

async function routeThroughProxy(
  call: Parameters<ProxyRoute['open']>[0],
  via: URL,
  direct: RequestOptions,
  stop: AbortSignal,
): Promise<RequestOptions> {
  const toProxy: RequestOptions = {
    protocol: via.protocol,
    hostname: bareHost(via),
    port: via.port,
    agent: false,
    // Without a name Node takes the one in the Host header, which is that of the server behind the proxy.
    ...(via.protocol === 'https:'
      ? { ...tlsSettings({ ca: call.tls.ca }), servername: serverName(via) }
      : {}),
  };
  const authorization = proxyAuthorization(via);
  if (call.url.protocol === 'http:') {
    const { host, href } = call.url;
    return {
      ...toProxy,
      method: call.method,
      path: href,
      headers: { ...call.headers, host, ...authorization },
    };
  }
  const { agent: _, ...rest } = direct;
  const tunnel = await openTunnel(call.url, toProxy, authorization, stop);
  const tls = process.getBuiltinModule('node:tls');
  const host = bareHost(call.url);
  const servername = serverName(call.url);
  return {
    ...rest,
    tunnel,
    createConnection: () => tls.connect({ ...tlsSettings(call.tls), servername, host, socket: tunnel }),
  };
}

/** Returns the name for a TLS handshake; empty for an address. */
function serverName(url: URL): string {
  const host = bareHost(url);
  return process.getBuiltinModule('node:net').isIP(host) === 0 ? host : '';
}

/**
 * Reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY; upper case before lower case. Under CGI `HTTP_PROXY` may come from a
 * request header, so it is ignored there.
 */
export function readProxyVariables(env: Readonly<Record<string, string | undefined>>): ProxyOptions {
  const { HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy, REQUEST_METHOD } = env;
  return {
    http: (REQUEST_METHOD === undefined && HTTP_PROXY) || http_proxy,
    https: HTTPS_PROXY || https_proxy,
    noProxy: NO_PROXY || no_proxy,
  };
}

/**
 * Finds the proxy for `url` by the usual rules: NO_PROXY names hosts, domains, ports and networks (10.0.0.0/8), or
 * everything by `*`.
 */
export function proxyFor(url: URL, proxy: ProxyOptions): URL | undefined {
  const text = (url.protocol === 'https:' ? proxy.https : proxy.http)?.trim() ?? '';
  const host = bareHost(url).toLowerCase().replace(/\.$/, '');
  if (text === '' || isLoopback(url) || isExempt(host, portOf(url), proxy.noProxy ?? '')) return undefined;
  let via: URL | undefined;
  try {
    via = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  } catch {
    // The text may hold the proxy's password, so it is not shown.
  }
  if (via?.protocol !== 'http:' && via?.protocol !== 'https:') {
    throw new TransportFailure('bad-proxy', 'is not an http:// or https:// URL', false);
  }
  return via;
}

function isExempt(host: string, port: string, noProxy: string): boolean {
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      if (entry.includes('/')) return isInNetwork(host, entry);
      // A port follows a name, an IPv4 address, or an IPv6 address in brackets.
      const [, bracketed, plain, entryPort] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
      const name = (bracketed ?? plain ?? entry).replace(/^\*?\.|\.$/g, '');
      if (entryPort !== undefined && entryPort !== port) return false;
      return name !== '' && (host === name || host.endsWith(`.${name}`));
    });
}

/** Whether `host` is an address in the network `10.9.9.0/24` or `fd00::/8`. */
function isInNetwork(host: string, network: string): boolean {
  const { BlockList, isIP } = process.getBuiltinModule('node:net');
  const [address = '', prefix = ''] = network.replace(/^\[(.*)\]/, '$1').split('/');
  const family = isIP(address);
  if (family === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
  return isIP(host) === family && list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

function proxyAuthorization(via: URL): Record<string, string> {
  if (via.username === '' && via.password === '') return {};
  // Unlike decodeURIComponent, this leaves a % that encodes nothing as it is.
  const { unescape: decode } = process.getBuiltinModule('node:querystring');
  const login = `${decode(via.username)}:${decode(via.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` };
}

function openTunnel(
  target: URL,
  toProxy: RequestOptions,
  authorization: Record<string, string>,
  stop: AbortSignal,
): Promise<Socket> {
  const http = process.getBuiltinModule(toProxy.protocol === 'https:' ? 'node:https' : 'node:http');
  const authority = `${target.hostname}:${portOf(target)}`;
  return new Promise((resolve, reject) => {
    const request = http.request({
      ...toProxy,
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...authorization },
      signal: stop,
    });
    request.on('connect', (response, socket) => {
      if (response.statusCode === 200) {
        resolve(socket);
        return;
      }
      socket.destroy();
      const { statusCode } = response;
      const reason = statusCode === 407 ? 'it requires a login (HTTP 407)' : `HTTP ${statusCode}`;
      reject(new TransportFailure('proxy', reason, false));
    });
    request.on('error', ({ code = 'no answer' }: NodeJS.ErrnoException) =>
      reject(new TransportFailure('no-proxy', code, false)),
    );
    request.end();
  });
}
