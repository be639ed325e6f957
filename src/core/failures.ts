import { GraphException } from './errors.js';
import type { HttpReply, HttpRequest } from './http.js';
import { Sensitive } from './sensitive.js';
import { showable } from './server-text.js';
import { TransportFailure } from './transport.js';

const MORE_TIME = 'Try again, or allow more time with --timeout.';

/** For a request that is not sent, because those before it have taken all the time there was. */
export function timeIsOver(request: HttpRequest, timeoutMs: number): GraphException {
  const address = new URL(request.base).origin;
  return new GraphException(
    'TIMEOUT',
    `${what(request)} to ${address} was not sent: the ${timeoutMs / 1000} s for the whole call are over.`,
    { hint: MORE_TIME },
  );
}

/**
 * Why no answer came, in words. Made from method, path and address; nothing of the request is attached.
 * @param timeoutMs the limit of the whole call, which is what a person can change
 */
export function describeFailure(request: HttpRequest, failure: unknown, timeoutMs: number): GraphException {
  if (!(failure instanceof TransportFailure)) {
    return new GraphException('INTERNAL', `${what(request)} could not be sent.`);
  }
  const { kind, reason } = failure;
  const address = new URL(request.base).origin;
  const ambiguous = failure.sent && !isReadOnly(request) && kind !== 'tls' && kind !== 'proxy';
  const doubt = ambiguous ? ' It may have taken effect all the same.' : '';
  switch (kind) {
    case 'timeout':
      return new GraphException(
        'TIMEOUT',
        `${what(request)} to ${address} had no answer within ${timeoutMs / 1000} s.${doubt}`,
        { hint: MORE_TIME, ambiguous },
      );
    case 'cancelled':
      return new GraphException('CANCELLED', `${what(request)} was cancelled.${doubt}`, { ambiguous });
    case 'tls':
      return new GraphException('TLS', `No trusted connection to ${address}: ${tlsReason(reason)}.`, {
        hint: tlsHint(reason),
      });
    case 'proxy':
      return new GraphException('NETWORK', `The proxy gave no way to ${address}: ${reason}.`, {
        hint: 'Check HTTP_PROXY and HTTPS_PROXY, or exempt this host with NO_PROXY.',
      });
    case 'too-large':
      return new GraphException(
        'BAD_RESPONSE',
        `${what(request)}: the answer is larger than is read (${reason}).`,
        {
          hint: 'Ask for less of it at a time, if there is a way: limit, offset.',
          ambiguous,
        },
      );
    case 'malformed':
      return new GraphException('BAD_RESPONSE', `${address} does not answer in HTTP.${doubt}`, {
        hint: 'Check the address: this may be a TLS port (https://) or another service.',
        ambiguous,
      });
    case 'network':
      return new GraphException('NETWORK', `Cannot reach ${address}: ${networkReason(reason)}.${doubt}`, {
        hint: 'Check host and port (graphcred doctor), and that the server is running.',
        ambiguous,
      });
  }
}

/** Answers that are no answers: redirects, and servers that are asleep, starting or not there. */
export function refuseTransfer(request: HttpRequest, reply: HttpReply): GraphException | undefined {
  const { status } = reply;
  if (status >= 300 && status < 400) {
    return new GraphException('BAD_RESPONSE', `${what(request)} was redirected (HTTP ${status}).`, {
      hint: 'Redirects are never followed, for the credential would go along. Use the final address.',
      status,
    });
  }
  if (reply.headers['content-encoding'] !== undefined && reply.headers['content-encoding'] !== 'identity') {
    return new GraphException(
      'BAD_RESPONSE',
      `${what(request)}: the answer is compressed, which was not asked for.`,
      {
        hint: 'Something between here and the server does that: check proxies, and the addresses.',
        status,
      },
    );
  }
  if (status === 407) {
    return new GraphException('NETWORK', 'The proxy wants a login (HTTP 407).', {
      hint: 'Put user name and password into HTTP_PROXY, or exempt this host with NO_PROXY.',
      status,
    });
  }
  if (status === 429) {
    return new GraphException('SERVER_UNAVAILABLE', 'The server asks for fewer requests (HTTP 429).', {
      hint: 'Try again in a minute.',
      status,
    });
  }
  if (status === 400 && /plain HTTP request was sent to HTTPS port/i.test(reply.body)) {
    return new GraphException('TLS', `${new URL(request.base).host} speaks TLS only.`, {
      hint: 'Use https:// in place of http://.',
      status,
    });
  }
  const starting =
    /\b(?:is starting|starting workspace|failed to start workspace|auto start is not enabled)\b/i;
  const asleep = (status === 202 || status >= 500 || isHtml(reply)) && starting.test(reply.body);
  if (!asleep && status !== 502 && status !== 503 && status !== 504) return undefined;
  // A gateway that lost the server behind it cannot say whether the request arrived there.
  const ambiguous = !asleep && status !== 503 && !isReadOnly(request);
  const doubt = ambiguous ? ' The request may have taken effect all the same.' : '';
  const state = asleep ? 'is asleep or starting' : 'is not available';
  return new GraphException('SERVER_UNAVAILABLE', `The server ${state} (HTTP ${status}).${doubt}`, {
    hint: asleep
      ? 'It may take a few minutes to start. Wait for it with --wait 3m.'
      : 'Try again in a minute, or wait for it with --wait 3m.',
    status,
    serverText: isHtml(reply) ? '' : showable(reply.body, credentialsOf(request)),
    ambiguous,
  });
}

export function isReadOnly(request: HttpRequest): boolean {
  return request.readOnly ?? /^(?:GET|HEAD|OPTIONS)$/.test(request.method);
}

export function isHtml(reply: HttpReply): boolean {
  return /^\s*<(?:!doctype|html|head|body|\?xml)/i.test(reply.body);
}

/** Every credential of a request, to be cut out of what the server says about it. */
export function credentialsOf(request: HttpRequest): (Sensitive | undefined)[] {
  const { authorization, hide = [] } = request;
  const [, word] = authorization?.reveal().split(' ') ?? [];
  return word === undefined ? [...hide] : [...hide, new Sensitive(word)];
}

/** The path as it may be shown: the query can hold a secret (3.0 to 3.4). */
export function pathOf(request: HttpRequest): string {
  return request.path.split('?', 1)[0] ?? '';
}

/** The request by method and path, without its query. */
export function what(request: HttpRequest): string {
  return `${request.method} ${showable(pathOf(request), credentialsOf(request))}`;
}

function networkReason(reason: string): string {
  switch (reason) {
    case 'ECONNREFUSED':
      return 'the connection was refused';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'there is no such host';
    case 'ECONNRESET':
    case 'EPIPE':
      return 'the connection broke';
    default:
      return reason;
  }
}

function tlsReason(reason: string): string {
  switch (reason) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'the certificate is for another name';
    case 'CERT_HAS_EXPIRED':
      return 'the certificate has expired';
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `nobody trusted vouches for the certificate (${reason})`;
    default:
      return reason;
  }
}

function tlsHint(reason: string): string {
  if (
    reason === 'EPROTO' ||
    reason === 'ERR_SSL_WRONG_VERSION_NUMBER' ||
    reason === 'ERR_SSL_PACKET_LENGTH_TOO_LONG'
  ) {
    return 'This port may not speak TLS: check http:// against https://.';
  }
  if (/CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|BAD_CERTIFICATE|KEY|PEM|ASN1|OSSL/.test(reason)) {
    return 'Check the client certificate and its key (--cert, --key).';
  }
  return 'Name the authority with --ca FILE, or check that host and certificate belong together.';
}
