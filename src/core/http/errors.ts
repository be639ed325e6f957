import {
  type ErrorCode,
  type ErrorDetails,
  type Explanation,
  explained,
  type Fix,
  GraphException,
} from '../errors.js';
import { redactServerText, withoutCredentials } from '../redact.js';
import { BoundCredential, Sensitive } from '../sensitive.js';
import { MORE_TIME } from '../time.js';
import { rootReader, UNKNOWN_AUTHORITY } from './tls.js';
import type { HttpReply, HttpRequest, Operation } from './types.js';

/**
 * The reason why no answer came. It contains nothing of the request. Its message is Node's or OpenSSL's code, for example
 * ECONNREFUSED; of a time limit `in time`, or nothing where it is the call's.
 */
export class TransportFailure extends Error {
  readonly kind: FailureKind;
  /** Whether the connection was established, so that the server may have read the request. */
  readonly sent: boolean;
  readonly proxy: string | undefined;

  constructor(kind: FailureKind, reason: string, sent = false, proxy?: string) {
    super(reason);
    this.kind = kind;
    this.sent = sent;
    this.proxy = proxy;
  }
}

export const CHECK_CLIENT: readonly Fix[] = [
  'give a client certificate that the server accepts, and its key',
  { setting: 'tls.cert' },
];

/** The codes of a connection that was there and broke. */
export const BROKEN = /^(?:ECONNRESET|EPIPE)$/;

/** Why a connection failed: the code of Node or OpenSSL, the same in words, where `*` is the code, and what to do. */
const REASONS: readonly (readonly [code: RegExp, words: string, ...fix: Fix[]])[] = [
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^ENOTFOUND$/, 'there is no such host'],
  [/^EAI_AGAIN$/, 'the name server did not answer'],
  [BROKEN, 'the connection broke', 'if the port speaks TLS, use https://'],
  [
    /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/,
    'the port does not answer in TLS (*)',
    'if the port speaks plain HTTP, use http:// in place of https://',
  ],
  [
    /_ALERT_|HANDSHAKE_FAILURE|UNSUPPORTED_PROTOCOL/,
    'the server refused the TLS handshake (*)',
    'ask its administrator whether it allows TLS 1.2 or 1.3; if it requires a client certificate, give one and its key',
    { setting: 'tls.cert' },
  ],
  [/^CERT_HAS_EXPIRED$/, 'the certificate has expired', 'ask the administrator of the server to renew it'],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'the certificate is for another name',
    'use the host name that the certificate is for',
  ],
  [UNKNOWN_AUTHORITY, 'the certificate is self-signed or its CA is unknown (*)'],
  [/KEY|PEM|ASN1|OSSL/, 'the client certificate or its key cannot be used (*)', ...CHECK_CLIENT],
];

function trustHint(reason: string): readonly Fix[] {
  const fix: Fix[] = ['give the CA certificate', { setting: 'tls.ca' }, 'check that this is the right host'];
  if (UNKNOWN_AUTHORITY.test(reason) && !rootReader())
    fix.push('this Node.js does not read the CAs of the system: name a file with CAs in NODE_EXTRA_CA_CERTS');
  return fix;
}

const REACH_HINT = 'check the network, host and port, and that the server is running';
const PROXY_HINT =
  'check HTTP_PROXY and HTTPS_PROXY, with user name and password if need be, or exempt this host with NO_PROXY';

/** Why no answer came. `{words}` stands for the reason in words, `{to}` for the address and the proxy on the way. */
const FAILURES = {
  timeout: ['TIMEOUT', '{asked} to {to} had no answer {limit}.', ...MORE_TIME],
  cancelled: ['CANCELLED', '{asked} was cancelled.'],
  tls: ['TLS', 'Cannot make a trusted connection to {address}: {words}.'],
  proxy: ['NETWORK', 'The proxy could not connect to {address}: {reason}.', PROXY_HINT],
  'no-proxy': ['NETWORK', 'Cannot reach the proxy {proxy}: {words}.', PROXY_HINT],
  'bad-proxy': ['NETWORK', 'The address of the proxy {reason}.', PROXY_HINT],
  'cut-off': [
    'NETWORK',
    '{asked}: the answer of {to} broke off after {reason}.',
    'check that the server still runs, and the proxies and gateways on the way',
  ],
  'too-large': [
    'BAD_RESPONSE',
    '{asked}: the answer of {to} is too large ({reason}).',
    'check the address; if it is right, ask for less data at a time',
  ],
  malformed: [
    'BAD_RESPONSE',
    '{address} does not answer in HTTP.',
    'check the address: this may be a TLS port (https://) or another service',
  ],
  network: ['NETWORK', 'Cannot reach {to}: {words}.'],
  broken: ['NETWORK', '{asked}: the connection to {to} broke.'],
} as const satisfies Record<string, Explanation>;

export type FailureKind = keyof typeof FAILURES;

/** Explains why no answer came, and names method, path and address alone. @param timeoutMs the limit that a person can change */
export function describeFailure(request: HttpRequest, failure: unknown, timeoutMs: number): GraphException {
  const asked = what(request);
  if (!(failure instanceof TransportFailure))
    return new GraphException('INTERNAL', `${asked} was not sent, because of a bug.`);
  const { kind, message: reason, proxy, sent } = failure;
  const address = addressOf(request);
  const to = proxy === undefined ? address : `${address} through the proxy ${proxy}`;
  const limit = reason || `within ${timeoutMs / 1000} s`;
  const [, words = '*', ...fix] = REASONS.find(([code]) => code.test(reason)) ?? [];
  let more: readonly Fix[] = [];
  const plain = request.base.startsWith('http:') ? fix : [];
  if (kind === 'network' || kind === 'broken')
    more = [...plain, proxy ? PROXY_HINT : REACH_HINT, { command: 'doctor' }];
  if (kind === 'tls') more = fix.length > 0 ? fix : trustHint(reason);
  // A request that did not get beyond a proxy or the handshake has done nothing.
  const ambiguous = sent && !['tls', 'proxy'].includes(kind) && !isReadOnly(request);
  if (kind === 'cancelled' && ambiguous)
    more = ['see what is there now', { command: 'secret list' }, { command: 'token list' }];
  const retryable = kind === 'cancelled' ? !ambiguous : kind === 'bad-proxy' ? false : undefined;
  const values = { asked, to, address, limit, reason, words: words.replace('*', reason), proxy };
  return explained([...FAILURES[kind], ...more], values, { ambiguous, retryable });
}

/** What the pages of gateways say of TLS. */
const TLS_PAGES: readonly [RegExp, string, readonly Fix[]][] = [
  [/plain HTTP request was sent to HTTPS port/i, 'speaks TLS only', ['use https:// in place of http://']],
  [/No required SSL certificate was sent/i, 'requires a client certificate', CHECK_CLIENT],
  [/The SSL certificate error/i, 'refused the client certificate', CHECK_CLIENT],
];

/** Creates the error for a redirect, or for an answer of a server that is suspended, starting or missing. */
export function refuseTransfer(request: HttpRequest, reply: HttpReply): GraphException | undefined {
  const { status, body } = reply;
  const address = addressOf(request);
  const workspace = stateOfWorkspace(reply);
  // 303 says that the request was carried out. A gateway that lost the server behind it cannot say whether it was.
  const mayBeDone = status === 303 || (workspace === undefined && (status === 502 || status === 504));
  const ambiguous = mayBeDone && !isReadOnly(request);
  const refuse = (code: ErrorCode, message: string, details: ErrorDetails) =>
    new GraphException(code, message, { status, ambiguous, ...details });
  if (status >= 300 && status < 400)
    return refuse('BAD_RESPONSE', `${address} redirects ${what(request)} (HTTP ${status}).`, {
      hint: 'give the address that it redirects to: graphcred follows no redirect, so the credential goes nowhere else',
    });
  if (status === 407)
    return refuse('NETWORK', 'The proxy requires a login (HTTP 407).', {
      hint: 'put user name and password into HTTP_PROXY, or exempt this host with NO_PROXY',
    });
  const page = status === 400 ? TLS_PAGES.find(([text]) => text.test(body)) : undefined;
  if (page) return refuse('TLS', `${new URL(request.base).host} ${page[1]}.`, { hint: page[2] });
  if (workspace === undefined && ![429, 502, 503, 504].includes(status)) return undefined;
  const serverText = isHtml(reply) ? '' : shownText(request, body);
  if (workspace === 'suspended')
    return refuse('SERVER_UNAVAILABLE', `The workspace of ${address} is suspended (HTTP ${status}).`, {
      hint: 'start it in the cloud console, or turn on its auto start: waiting does not help',
      serverText,
      retryable: false,
    });
  const [state, next] = workspace
    ? ['is asleep or starting', 'let the call wait, for some minutes']
    : ['is not available', 'try again in a minute, or let the call wait'];
  return refuse('SERVER_UNAVAILABLE', `${address} ${state} (HTTP ${status}).`, {
    hint: [next, { setting: 'wait' }],
    serverText,
    retryAfterSeconds: retryAfterSeconds(reply),
  });
}

function retryAfterSeconds({ headers, serverTimeUnix }: HttpReply): number | undefined {
  const text = headers['retry-after'] ?? '';
  const now = serverTimeUnix ?? Date.now() / 1000;
  const seconds = /^\d+$/.test(text) ? Number(text) : Date.parse(text) / 1000 - now;
  return seconds >= 0 ? seconds : undefined;
}

/** Reads what a cloud gateway says of its workspace. A database's own answer may hold these words in a name. */
function stateOfWorkspace(reply: HttpReply): 'suspended' | 'starting' | undefined {
  const { status, body } = reply;
  const ofGateway = isHtml(reply) || (status >= 500 && !/^\s*\{/.test(body));
  if (ofGateway && /\bfailed to start workspace\b|\bauto start is not enabled\b/i.test(body))
    return 'suspended';
  const starting = /\bis starting\b|\bstarting workspace\b/i.test(body);
  return starting && (ofGateway || status === 202) ? 'starting' : undefined;
}

const READING: readonly Operation[] = ['find-version', 'list-secrets', 'check'];

/** Whether a request changes nothing, so that a lost answer does no harm. On 3.0 to 3.4 a GET mints a token. */
export function isReadOnly({ operation, method }: HttpRequest): boolean {
  return operation ? READING.includes(operation) : /^(?:GET|HEAD|OPTIONS)$/.test(method);
}

export function isHtml(reply: HttpReply): boolean {
  return /^\s*<(?:!doctype|html|head|body|\?xml)/i.test(reply.body);
}

export function credentialsIn({ authorization, query, json, body }: HttpRequest): BoundCredential[] {
  const values = [
    authorization?.credential,
    body,
    ...[query, json].flatMap((fields) => Object.values(fields ?? {})),
  ];
  return values.filter((value) => value instanceof BoundCredential);
}

/** Returns the values to remove from a server's message: the request's credentials, and others that it may know. */
export function hiddenIn(request: HttpRequest): Sensitive[] {
  const { authorization, hide = [] } = request;
  const hidden: Sensitive[] = [...credentialsIn(request), ...hide].filter((one) => one !== undefined);
  if (authorization?.username === undefined) return hidden;
  const { username, credential } = authorization;
  const login = new Sensitive(`${username}:${credential.reveal()}`);
  // A password equal to the user name is not hidden, since the user name is not secret.
  return [...hidden.filter((value) => value.reveal() !== username), login];
}

/** Makes a server's text fit to be shown. The names that this request is about are kept. */
export function shownText(request: HttpRequest, text: string): string {
  return redactServerText(text, hiddenIn(request), request.names);
}

/** Returns the path as it may be shown: without credentials, and without its query, which can hold a secret (3.0 to 3.4). */
export function urlPath(request: HttpRequest): string {
  return withoutCredentials(request.path.split('?', 1)[0] ?? '', hiddenIn(request));
}

export function addressOf(request: HttpRequest): string {
  return new URL(request.base).origin;
}

export function what(request: HttpRequest): string {
  return `${request.method} ${urlPath(request)}`;
}
