import { type ErrorDetails, type Explanation, explained, type Fix, GraphException } from '../errors.js';
import { CHECK_CLIENT, shownText, what } from '../http/errors.js';
import type { Exchange, HttpRequest } from '../http/types.js';
import { upTo } from '../redact.js';
import { BoundCredential, MADE_HERE, SAVED_HERE, type Sensitive } from '../sensitive.js';
import { LONGEST_MESSAGE, type Meaning, meaningOf, type ServerRefusal } from './meanings.js';

/** The user name with which a secret logs in as a password. */
export const SECRET_USER = '__GSQL__secret';

/** Creates the error for a server's refusal. `known` is what it means, where the caller knows that. */
export function refusal(exchange: Exchange, refused: ServerRefusal, known?: Meaning): GraphException {
  const { request, reply } = exchange;
  const message = upTo(refused.message, LONGEST_MESSAGE);
  const text = shownText(request, message);
  const line = shownText(request, message.trim().replace(/[\r\n].*/s, ''));
  const values = {
    server: request.base,
    ...namesOfCredentials(request),
    call: `${what(request)}${reply.status === 200 ? '' : ` (HTTP ${reply.status})`}`,
    text: text === '' ? '.' : `: ${text}`,
    line: line === '' ? '.' : `: ${line}`,
  };
  const details: ErrorDetails = { status: reply.status, serverText: text };
  if (refused.code) details.serverCode = shownText(request, refused.code).slice(0, 40);
  return explained(explanationOf(request, known ?? meaningOf(exchange, refused)), values, details);
}

const SET_JWT = (key: string) =>
  `gadmin config set Security.JWT.${key} && gadmin config apply -y && gadmin restart restpp gsql -y`;
/** For a JWT of an identity provider: what is wrong with it, and how to mend that. */
const PROVIDERS_JWT: Readonly<Partial<Record<Meaning, readonly [problem: string, hint: string]>>> = {
  'token-expired': ['has expired', 'get a new one from the identity provider'],
  'token-malformed': [
    'is not a form of token that this server knows',
    `JWTs need a server of 3.10 or later with the provider's key, which an operator sets: ${SET_JWT('RSA.PublicKey @FILE')}`,
  ],
  'token-refused': [
    'is not valid there, and the server does not say why',
    `perhaps the server lacks the provider's key, which an operator sets: ${SET_JWT('RSA.PublicKey @FILE')}`,
  ],
  'jwt-user': [
    'names a user (sub) that the database does not have',
    'ask an administrator to create that user, or have the identity provider put the name of a database user into sub',
  ],
  'jwt-graph': [
    'is for a graph that does not exist',
    'have the identity provider leave out the claim "graph", or name an existing graph in it',
  ],
  'jwt-graph-denied': [
    'is for a graph that its user may not use',
    'ask for a role on the graph, or have the identity provider leave out the claim "graph"',
  ],
  'jwt-issuer': [
    'is from another issuer (iss) than the server expects',
    `have an operator set that issuer in place of the present one: ${SET_JWT('Issuer ISSUER')}`,
  ],
  'jwt-audience': [
    'is for another audience (aud) than the server expects',
    `ask the identity provider for a token with the server's audience, or have an operator allow that of the token: ${SET_JWT('Audience AUDIENCE')}`,
  ],
  'jwt-signature': [
    'is signed with a key that the server does not know',
    `if the identity provider has changed its key, have an operator set the new one: ${SET_JWT('RSA.PublicKey @FILE')}`,
  ],
};
const NEW_TOKEN: Fix = { command: 'token get --fresh' };
const GRAPH: Fix = { setting: 'graph' };

const NOT_EXPLAINED: Explanation = [
  'SERVER_ERROR',
  '{server} refused {call}{text}',
  'check the server and its address',
  { command: 'doctor' },
];

/** What is told of a refusal: `{text}` is what the server said, `{line}` its first line, `{server}` its address. */
const EXPLANATIONS: Readonly<Partial<Record<Meaning, Explanation>>> = {
  'password-login-off': [
    'AUTH_FAILED',
    '{server} does not accept passwords, so {login} was refused.',
    'log in with a secret, or with a JWT of the identity provider',
    { setting: 'jwtToken' },
  ],
  'rest-auth-off': [
    'REST_AUTH_DISABLED',
    'REST authentication is not enabled on {server}.',
    'have an administrator turn it on: gadmin config set RESTPP.Factory.EnableAuth true && ' +
      'gadmin config apply -y && gadmin restart restpp nginx gui gsql -y',
  ],
  throttled: [
    'AUTH_FAILED',
    '{server} makes this user wait after too many failed logins{text}',
    'wait, then try again',
  ],
  'proxy-key': [
    'UNSUPPORTED',
    "{server} is a graphcred proxy, and this request lacks the proxy's key in its header Authorization.",
    'to try the key in TG_API_TOKEN',
    { command: 'api /echo' },
  ],
  'client-certificate': ['TLS', '{server} refused the client certificate.', ...CHECK_CLIENT],
  'token-missing': [
    'AUTH_FAILED',
    '{server} requires a token, and says that none came.',
    'if a proxy stands before the server, have it pass on the header Authorization; else get a token',
    NEW_TOKEN,
  ],
  'token-expired': ['AUTH_FAILED', '{server} refused {token}: it has expired.', 'get a new one', NEW_TOKEN],
  'token-without-privilege': [
    'PERMISSION_DENIED',
    '{server} accepts {token}, but the token has no privilege for this call.',
    'ask for a role on the graph',
  ],
  'token-of-other-graph': [
    'PERMISSION_DENIED',
    '{server} refused {token}, which is for another graph{text}',
    'name the graph you work on, so that a token for it is used',
    GRAPH,
  ],
  'unknown-token': ['NOT_FOUND', '{server} does not know {token}.', 'get a new one', NEW_TOKEN],
  'no-permission': [
    'PERMISSION_DENIED',
    '{server} does not let {login} do this{text}',
    'ask an administrator for the privilege',
  ],
  'no-such-graph': [
    'NOT_FOUND',
    'There is no such graph at {server}, or it is hidden from this user{line}',
    'in GSQL, SHOW GRAPH * lists the graphs; check the name',
    GRAPH,
  ],
  'no-such-user': [
    'NOT_FOUND',
    'There is no such user at {server}{text}',
    'check the name of the owner',
    { setting: 'owner' },
  ],
  'alias-taken': [
    'ALREADY_EXISTS',
    'A secret with this alias already exists at {server}.',
    'choose another alias, or replace the value of that secret',
  ],
  'block-list-full': [
    'SERVER_ERROR',
    '{server} revokes no more tokens of this user{text}',
    "the list of this user's revoked tokens is full, so this token is valid until it expires; if it has leaked, have an administrator change the key that signs tokens",
  ],
  'lifetime-over-limit': [
    'SERVER_ERROR',
    '{server} does not allow a token lifetime this long{text}',
    'ask for a shorter lifetime',
    { setting: 'lifetime' },
  ],
};

function explanationOf(request: HttpRequest, means: Meaning | undefined): Explanation {
  if (means === undefined) return NOT_EXPLAINED;
  if (means === 'bad-login') return badLogin(request);
  const ofProvider = PROVIDERS_JWT[means];
  if (ofProvider === undefined || !isJwtOfProvider(tokenOf(request)))
    return EXPLANATIONS[means] ?? (ofProvider ? badToken(request) : NOT_EXPLAINED);
  const [problem, advice] = ofProvider;
  return authFailed(`{token}: it ${problem}`, advice);
}

function authFailed(credential: string, ...fix: Fix[]): Explanation {
  return ['AUTH_FAILED', `{server} refused ${credential}.`, ...fix];
}

/** What helps where a server refuses a token or a secret that graphcred has had made. */
function madeUnknown({ server }: HttpRequest): readonly Fix[] {
  const setting = server === 'rest' ? 'restUrl' : 'gsqlUrl';
  const again = 'run the command again, in case it has been dropped or revoked meanwhile';
  return [`${again}; or this is another database: check its address`, { setting }];
}

const isMade = (credential?: Sensitive) => credential?.origin?.endsWith(MADE_HERE) === true;

function badToken(request: HttpRequest): Explanation {
  const fix = isMade(tokenOf(request)) ? madeUnknown(request) : ['get a new one', NEW_TOKEN];
  return authFailed('{token}', ...fix);
}

function badLogin(request: HttpRequest): Explanation {
  const { authorization } = request;
  const secret = sentSecret(request);
  if (authorization?.scheme === 'Bearer' && request.server === 'rest') return badToken(request);
  if (isMade(secret)) return authFailed('{login}', ...madeUnknown(request));
  if (authorization?.scheme === 'Bearer')
    return authFailed('{login} as a login', 'see what the REST server says about the token', {
      command: 'token check',
    });
  const isSaved = (secret ?? authorization?.credential)?.origin?.endsWith(SAVED_HERE);
  if (secret === undefined && isSaved)
    return authFailed('{login}', 'the password may have been changed; log in again', {
      command: 'login --save-password',
    });
  const orOther =
    request.server === 'rest' ? ['if the REST server belongs to another database, correct its address'] : [];
  if (secret === undefined) {
    const check = 'check both; after some wrong tries the server makes the user wait';
    return authFailed('{password}', check, ...orOther);
  }
  // Servers generate secrets that look like this, but some accept secrets of any form.
  if (!/^[a-z0-9]{32}$/.test(secret.reveal()))
    return authFailed('{login}', 'use its value alone (32 letters and digits), without its name or spaces');
  const [next = '', command = '', ...then] = isSaved
    ? ['log in again', 'login', ', in a script with -u, --password-file and --save-password']
    : ['make another one', 'secret create NAME -u USER --password-file FILE', ', and give its value instead'];
  return authFailed('{login}', `it may have been dropped; ${next}`, { command }, ...then, ...orOther);
}

/** Names the credentials of a request with their origin: `the user "ann" (password from GRAPHCRED_PASSWORD)`. */
function namesOfCredentials(request: HttpRequest) {
  const { authorization } = request;
  const [given, secret] = [tokenOf(request), sentSecret(request)];
  const token = withOrigin(isJwtOfProvider(given) ? 'the JWT' : 'the token', given);
  const user = authorization?.username === undefined ? '' : ` "${authorization.username}"`;
  const password = withOrigin(`the user name${user}, or the password`, authorization?.credential);
  const { origin } = authorization?.credential ?? {};
  const byPassword = user && `the user${user}${origin ? ` (password ${origin})` : ''}`;
  const login = secret ? withOrigin('the secret', secret) : byPassword || 'the login';
  return { token, password, login: authorization?.scheme === 'Bearer' ? token : login };
}

function withOrigin(name: string, credential: Sensitive | undefined): string {
  return credential?.origin === undefined ? name : `${name} ${credential.origin}`;
}

/** Returns the token with which the request logs in, else the one that it asks about. */
function tokenOf({ authorization, json, query }: HttpRequest): Sensitive | undefined {
  const token = authorization?.scheme === 'Bearer' ? authorization.credential : (json ?? query)?.token;
  return token instanceof BoundCredential ? token : undefined;
}

/** Whether a token is a JWT that the server did not make itself. */
function isJwtOfProvider(token: Sensitive | undefined): boolean {
  const [, payload] = /^eyJ[\w-]*\.([\w-]+)\.[\w-]*$/.exec(token?.reveal() ?? '') ?? [];
  return payload !== undefined && !/"iss":\s*"TigerGraph"/.test(Buffer.from(payload, 'base64url').toString());
}

function sentSecret(request: HttpRequest): Sensitive | undefined {
  const { authorization, json, query, body } = request;
  const secret = (json ?? query)?.secret ?? body;
  if (secret instanceof BoundCredential) return secret;
  const isSecret = authorization?.scheme === 'GSQL-Secret' || authorization?.username === SECRET_USER;
  return isSecret ? authorization.credential : undefined;
}

export function onlyOwnSecrets(): GraphException {
  const message = "This server cannot manage another user's secrets: 4.1 and later can.";
  return new GraphException('UNSUPPORTED', message, { hint: 'log in as that user' });
}
