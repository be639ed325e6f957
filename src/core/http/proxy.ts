import type { Agent, ClientRequest, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { isLoopbackHost, portOf } from '../endpoints.js';
import { TransportFailure } from './errors.js';
import { codeOf, TRUSTING } from './tls.js';
import type { ProxyOptions, TlsOptions } from './types.js';

/** A request, as far as it decides how it is sent. */
export interface ProxyRoute {
  readonly url: URL;
  /** As it was written, where the URL class would encode some of it. */
  readonly path?: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsOptions;
  readonly proxy: ProxyOptions | undefined;
  /** The caller's agent, which keeps connections. */
  readonly agent?: Agent | undefined;
}

/** Returns a request's options, with its proxy if any. @param stop gives the signal that ends building a tunnel */
export async function connectOptions(call: ProxyRoute, stop: () => AbortSignal): Promise<RequestOptions> {
  const { url, method, tls } = call;
  const via = proxyFor(url, call.proxy);
  const trusting = TRUSTING.get(tls);
  // `insecure` and the client's certificate are for the server alone.
  const toProxy = via && peerOptions(via, { ca: tls.ca }, trusting?.proxy);
  const headers = { ...call.headers, host: url.host };
  if (via && url.protocol === 'http:')
    return { ...toProxy, method, path: url.href, headers: { ...headers, ...proxyLogin(via) } };
  const server = peerOptions(url, tls, trusting?.server);
  const direct = {
    ...server,
    method,
    path: call.path ?? url.pathname + url.search,
    headers,
    // Node tries each address of a host for 250 ms, too short for a server on another continent.
    autoSelectFamilyAttemptTimeout: 1000,
  };
  if (via === undefined) return { ...direct, agent: call.agent ?? false };
  const socket = await openTunnel(url, { ...toProxy, headers: proxyLogin(via) }, stop());
  const { connect } = process.getBuiltinModule('node:tls');
  const createConnection = () => connect({ ...server, host: server.hostname, socket });
  // Node calls `createConnection` only where there is no agent.
  return { ...direct, agent: undefined, createConnection };
}

/** Begins a request in HTTP or HTTPS. `connected` is called when its connection is established. */
export function openRequest(options: RequestOptions, connected = () => {}): ClientRequest {
  const secure = options.protocol === 'https:';
  const request = process.getBuiltinModule(secure ? 'node:https' : 'node:http').request(options);
  return request.on('socket', (socket) => {
    if (!request.reusedSocket && (socket.connecting || secure))
      socket.once(secure ? 'secureConnect' : 'connect', connected);
    else connected();
  });
}

function peerOptions(url: URL, { ca, cert, key, insecure }: TlsOptions, secureContext?: SecureContext) {
  const { protocol } = url;
  const hostname = bareHost(url);
  const peer = { protocol, hostname, port: Number(portOf(url)), agent: false };
  if (protocol !== 'https:') return peer;
  // Without a name Node takes the one in the Host header, which for a proxy is that of the server behind it.
  const servername = process.getBuiltinModule('node:net').isIP(hostname) === 0 ? hostname : '';
  return { ...peer, ca, cert, key, secureContext, servername, rejectUnauthorized: insecure !== true };
}

/** Returns the name or address to connect to, without the brackets that an IPv6 address has in a URL. */
function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Upper case goes before lower case. Under CGI `HTTP_PROXY` may come from a request header, so it is ignored there. */
export function readProxyVariables(env: Readonly<Record<string, string | undefined>>): ProxyOptions {
  const { HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy, REQUEST_METHOD } = env;
  return {
    http: (REQUEST_METHOD === undefined && HTTP_PROXY) || http_proxy,
    https: HTTPS_PROXY || https_proxy,
    noProxy: NO_PROXY || no_proxy,
  };
}

/** Finds the proxy for `url`. NO_PROXY names hosts, domains, ports and networks (10.0.0.0/8), or everything by `*`. */
export function proxyFor(url: URL, proxy: ProxyOptions = {}): URL | undefined {
  const text = (url.protocol === 'https:' ? proxy.https : proxy.http)?.trim() ?? '';
  const host = bareHost(url).toLowerCase().replace(/\.$/, '');
  if (text === '' || isLoopbackHost(url.hostname) || isExempt(host, portOf(url), proxy.noProxy ?? ''))
    return undefined;
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (/^https?:/i.test(address) && URL.canParse(address)) return new URL(address);
  // The text may hold the proxy's password, so it is not shown.
  throw new TransportFailure('bad-proxy', 'is not an http:// or https:// URL');
}

function isExempt(host: string, port: string, noProxy: string): boolean {
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
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

function proxyLogin(via: URL): Record<string, string> {
  if (via.username === '' && via.password === '') return {};
  // Unlike decodeURIComponent, this leaves a % that encodes nothing as it is.
  const { unescape: decode } = process.getBuiltinModule('node:querystring');
  const login = `${decode(via.username)}:${decode(via.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` };
}

function openTunnel(target: URL, proxy: RequestOptions, signal: AbortSignal): Promise<Socket> {
  const authority = `${target.hostname}:${portOf(target)}`;
  const headers = { host: authority, ...proxy.headers } as Record<string, string>;
  return new Promise((resolve, reject) => {
    const request = openRequest({ ...proxy, method: 'CONNECT', path: authority, headers, signal });
    request.on('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket);
      socket.destroy();
      const reason = statusCode === 407 ? 'the proxy requires a login (HTTP 407)' : `HTTP ${statusCode}`;
      reject(new TransportFailure('proxy', reason));
    });
    request.on('error', (error) => reject(new TransportFailure('no-proxy', codeOf(error))));
    request.end();
  });
}
