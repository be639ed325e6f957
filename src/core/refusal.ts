import { type ErrorCode, type ErrorDetails, GraphException } from './errors.js';
import { credentialsOf, what } from './failures.js';
import type { HttpRequest } from './http.js';
import { showable } from './server-text.js';

/** What the server said no with. */
export interface Refused {
  readonly status: number;
  /** The server's code, for example REST-3300; empty when it gave none. */
  readonly code: string;
  readonly message: string;
}

const ENABLE_REST_AUTH =
  'An administrator turns it on with: gadmin config set RESTPP.Factory.EnableAuth true && ' +
  'gadmin config apply -y && gadmin restart restpp nginx gui gsql -y';

const LOGIN_HINT =
  'Check user name and password, or the secret. After some wrong tries the server makes the user wait.';

const FROM_SECRET = 'A secret is no token; mint one from it: graphcred token get --secret-stdin';

type Verdict = [code: ErrorCode, message: string, hint?: string];

/**
 * The server's no as a GraphException. Servers tell little by status (3.x says no with 200 as well), so its
 * code and words are looked at; the order matters, for the words can hold names that users chose.
 */
export function refusal(request: HttpRequest, refused: Refused): GraphException {
  const text = showable(refused.message, credentialsOf(request));
  const [code, message, hint] = judge(request, refused, text) ?? [
    'SERVER_ERROR',
    `The server refused ${what(request)} (HTTP ${refused.status})${text === '' ? '.' : `: ${text}`}`,
    'See what else is amiss: graphcred doctor',
  ];
  const details: ErrorDetails = { status: refused.status, serverText: text };
  if (hint !== undefined) details.hint = hint;
  if (refused.code !== '') details.serverCode = showable(refused.code).slice(0, 40);
  return new GraphException(code, message, details);
}

function judge(request: HttpRequest, { status, code }: Refused, text: string): Verdict | undefined {
  const bySecret = request.authorization === undefined && /token/.test(request.path);
  const credential = bySecret ? 'The server refused the secret.' : 'The server refused the login.';
  const secretHint = hasSecretValue(request)
    ? 'It may have been dropped: graphcred secret list'
    : 'Its value is 32 letters and digits, shown when it is made: this may be its alias instead.';
  if (isRestAuthOff(code, text)) {
    return ['REST_AUTH_DISABLED', 'REST authentication is not enabled on this server.', ENABLE_REST_AUTH];
  }
  if (/please re-?login after/i.test(text)) {
    return ['AUTH_FAILED', 'Too many failed logins: the server makes this user wait.', text];
  }
  if (/client certificate verification failed/i.test(text)) {
    return ['TLS', 'The server refused the client certificate.', 'Check --cert and --key.'];
  }
  if (code === 'REST-10018') {
    return [
      'PERMISSION_DENIED',
      'The token is valid but has no privilege for this.',
      'Ask for a role on the graph.',
    ];
  }
  if (code === 'REST-10019') {
    return ['AUTH_FAILED', 'The token has expired.', 'Get a new one with: graphcred token get --fresh'];
  }
  if (code === 'REST-10016') return badToken(text);
  if (code === 'REST-10020' || /license expired/i.test(text)) {
    return ['SERVER_ERROR', "The server's licence has expired.", 'Ask whoever runs the server to renew it.'];
  }
  if (/already exists/i.test(text)) {
    return [
      'ALREADY_EXISTS',
      'A secret with this alias exists already.',
      'Choose another alias, or give that one a new value: graphcred secret rotate ALIAS',
    ];
  }
  if (
    code === 'REST-1004' ||
    /\bgraph\b.*(?:not found|does(?: not|n't) exist|could not be found)/i.test(text)
  ) {
    // What GSQL advises after that is for its own shell.
    const said = text.replace(/ No graph is in use\. Please run .*/, '');
    return [
      'NOT_FOUND',
      `There is no such graph, or it is hidden from this user: ${said}`,
      'Check --graph: it takes the name of a graph, not the alias of a secret.',
    ];
  }
  if (/wrong password|invalid user ?name or password|authentication failed/i.test(text)) {
    return ['AUTH_FAILED', credential, bySecret ? secretHint : LOGIN_HINT];
  }
  if (
    bySecret &&
    /\bsecret\b.*\b(?:invalid|not valid|unknown|wrong|expired|not found|not exist)|\b(?:invalid|unknown|wrong)\b.*\bsecret\b/i.test(
      text,
    )
  ) {
    return ['AUTH_FAILED', credential, secretHint];
  }
  if (/\bpermission|\bprivilege|\bdenied\b|(?:does not|do not|don't) have\b|not authorized/i.test(text)) {
    return [
      'PERMISSION_DENIED',
      `This user may not do that: ${text}`,
      'Ask an administrator for the privilege.',
    ];
  }
  if (status === 401) {
    return ['AUTH_FAILED', credential, LOGIN_HINT];
  }
  if (status === 403) {
    return ['PERMISSION_DENIED', 'This user may not do that.', 'Ask an administrator for the privilege.'];
  }
  return undefined;
}

/** Some servers take secrets of any form; those they make themselves look like this. */
function hasSecretValue({ hide }: HttpRequest): boolean {
  return (hide ?? []).some((credential) => /^[a-z0-9]{32}$/.test(credential?.reveal() ?? ''));
}

/** Port 9000 has no /requesttoken while REST authentication is off; 4.x, if at all, says so in words. */
function isRestAuthOff(code: string, text: string): boolean {
  if (/\brest(?:pp)?\b.{0,40}\bauth\w*\b.{0,40}\b(?:disabled|off|not (?:enabled|on))\b/i.test(text))
    return true;
  const noSuchEndpoint = code === 'REST-1000' || /endpoint is not found/i.test(text);
  return noSuchEndpoint && /\/(?:requesttoken|gsql\/v1\/tokens)\b/.test(text);
}

function badToken(text: string): Verdict {
  const hint = /not in correct format/i.test(text)
    ? `This server takes tokens it made itself (4.x: JWTs), not secrets: graphcred token get --fresh. ${FROM_SECRET}`
    : `Get a new one with: graphcred token get --fresh. ${FROM_SECRET}`;
  return [
    'AUTH_FAILED',
    /''/.test(text) ? 'The server wants a token.' : 'The server refused the token.',
    hint,
  ];
}
