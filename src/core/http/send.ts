import { createFetch, type Fetch } from 'ofetch';
import { normalizeBaseUrl, type Servers } from '../endpoints.js';
import { GraphException, usageError } from '../errors.js';
import { BoundCredential } from '../sensitive.js';
import { credentialsIn, describeFailure, pathOf, refuseTransfer, timeIsOver } from './errors.js';
import { performRequest } from './transport.js';
import type { Authorization, Fields, HttpReply, HttpRequest, HttpSettings } from './types.js';

const DEFAULT_MAX_BYTES = 1024 * 1024;

/**
 * Sends one request once, and follows no redirect. Returns the answer whatever its status, but throws BAD_RESPONSE for
 * a redirect and SERVER_UNAVAILABLE when the server is not up. Without an answer it throws NETWORK, TIMEOUT, TLS or
 * CANCELLED, with `ambiguous` set if the server may have carried out the request.
 * @param until when the time limit of the call ends, in seconds of process.uptime(); after that nothing is sent
 */
export async function send(settings: HttpSettings, request: HttpRequest, until: number): Promise<HttpReply> {
  const path = pathOf(request);
  const startedAt = process.uptime();
  const { deadline } = settings;
  const ofCallMs = (until - startedAt) * 1000;
  const leftMs = Math.min(ofCallMs, deadline?.forRequestMs ?? Number.POSITIVE_INFINITY);
  // The limit that ends this request.
  const limitMs = deadline && leftMs < ofCallMs ? deadline.limitMs : settings.timeoutMs;
  // Timers count whole milliseconds, so a shorter rest counts as no time.
  if (leftMs < 1) throw timeIsOver(request, limitMs);
  const revealed = reveal(request);
  let status: number | undefined;
  settings.onStart?.();
  try {
    const asking = () => ask(settings, request, revealed, { leftMs, limitMs });
    const reply = await (deadline ? deadline.count(asking) : asking());
    status = reply.status;
    const refusal = refuseTransfer(request, reply);
    if (refusal !== undefined) throw refusal;
    return reply;
  } finally {
    const { server, method } = request;
    const ms = (process.uptime() - startedAt) * 1000;
    settings.onRequest?.({ server, method, path, status, ms: Math.round(ms) });
  }
}

/** The request as it is sent, with its credentials in plain text. */
interface Revealed {
  readonly url: URL;
  readonly authorization: string | undefined;
  readonly body: string | Uint8Array | undefined;
}

/**
 * Puts the values of credentials into a request; no other function does. A credential is used only for a request to one
 * of the two base URLs it belongs to, while that pair is in force. Otherwise HOST_MISMATCH is thrown before any value
 * is read.
 */
function reveal(request: HttpRequest): Revealed {
  const { base, path, query, json, authorization } = request;
  const url = new URL(base + path);
  if (!isInside(url, base)) {
    throw new GraphException('HOST_MISMATCH', `A request would leave the address it is for, ${base}.`, {
      hint: 'Check the path of the call. The addresses come from the settings.',
      remedies: ['show-settings'],
    });
  }
  for (const credential of credentialsIn(request)) refuseElsewhere(credential.servers, request);
  for (const [name, value] of texts(query)) url.searchParams.append(name, value);
  return {
    url,
    authorization: authorization && headerText(authorization),
    body: json === undefined ? plain(request.body) : JSON.stringify(Object.fromEntries(texts(json))),
  };
}

/**
 * Returns the header with a login for requests to `base`.
 * @throws GraphException HOST_MISMATCH when the credential belongs to other servers
 */
export function loginHeader(authorization: Authorization, base: string, servers: Servers): string {
  refuseElsewhere(authorization.credential.servers, { base, servers });
  return headerText(authorization);
}

function isInside(url: URL, base: string): boolean {
  const root = new URL(base);
  return (
    base === normalizeBaseUrl(base, 'base URL') &&
    url.origin === root.origin &&
    url.username === '' &&
    url.pathname.startsWith(`${root.pathname.replace(/\/$/, '')}/`)
  );
}

function refuseElsewhere(own: Servers, { base, servers }: Pick<HttpRequest, 'base' | 'servers'>): void {
  const samePair = own.restUrl === servers?.restUrl && own.gsqlUrl === servers.gsqlUrl;
  if (samePair && (base === own.restUrl || base === own.gsqlUrl)) return;
  const inForce = servers === undefined ? base : pairText(servers);
  throw new GraphException(
    'HOST_MISMATCH',
    `This credential belongs to ${pairText(own)}, and is not sent to ${inForce}.`,
    { hint: 'Give the credential for these addresses, or use the addresses it belongs to.' },
  );
}

function pairText({ restUrl, gsqlUrl }: Servers): string {
  return `${gsqlUrl} (REST ${restUrl})`;
}

function texts(fields: Fields = {}): [name: string, value: string][] {
  return Object.entries(fields).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, plain(value)]],
  );
}

function plain<T>(value: T | BoundCredential): T | string {
  return value instanceof BoundCredential ? value.value.reveal() : value;
}

function headerText({ scheme, credential, username }: Authorization): string {
  const value = credential.value.reveal();
  if (scheme === 'Basic') return `Basic ${Buffer.from(`${username}:${value}`, 'utf8').toString('base64')}`;
  if (!/^[\x21-\x7e]+$/.test(value)) {
    const name = scheme === 'Bearer' ? 'token' : 'secret';
    throw usageError(
      `This ${name} holds blanks or letters that no ${name} has.`,
      'Check where it comes from.',
      { remedies: ['show-settings'] },
    );
  }
  return `${scheme} ${value}`;
}

async function ask(
  settings: HttpSettings,
  request: HttpRequest,
  { url, authorization, body: sent }: Revealed,
  { leftMs, limitMs }: { readonly leftMs: number; readonly limitMs: number },
): Promise<HttpReply> {
  const headers: Record<string, string> = {
    accept: 'application/json, text/plain, */*',
    'accept-encoding': 'identity',
    'user-agent': settings.userAgent,
    ...request.headers,
  };
  if (authorization !== undefined) headers.authorization = authorization;
  if (sent !== undefined) {
    headers['content-type'] ??= request.contentType ?? 'application/json';
    headers['content-length'] = String(Buffer.byteLength(sent));
  } else if (request.method !== 'GET') {
    headers['content-length'] = '0';
  }
  let reply: HttpReply | undefined;
  const fetch = createFetch({
    fetch: (async (_url: string, init: { method: string; headers: HeaderMap; body?: typeof sent }) => {
      reply = await performRequest({
        url,
        method: init.method,
        headers: Object.fromEntries(init.headers),
        body: init.body,
        timeoutMs: leftMs,
        maxBytes: request.maxBytes ?? DEFAULT_MAX_BYTES,
        tls: settings.tls,
        proxy: settings.proxy,
        signal: settings.signal,
        agent: request.reuses ? settings.agent : undefined,
      });
      return { status: reply.status };
    }) as unknown as Fetch,
    Headers: HeaderMap as unknown as typeof globalThis.Headers,
    AbortController,
  });
  const options = { method: request.method, headers, retry: false, ignoreResponseError: true } as const;
  try {
    await fetch.raw(url.href, sent === undefined ? options : { ...options, body: sent });
  } catch (error) {
    // ofetch's error holds the request with its headers; only the transport's error is passed on.
    throw describeFailure(request, (error as Error).cause, limitMs);
  }
  return reply as unknown as HttpReply;
}

/** What ofetch needs of the Headers class, for names in lower case. The global class would load all of undici. */
class HeaderMap extends Map<string, string> {
  constructor(init: Readonly<Record<string, string>>) {
    super(Object.entries(init));
  }
}
