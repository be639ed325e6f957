import { type ErrorCode, type ErrorDetails, type Fix, GraphException } from '../errors.js';
import { CHECK_CLIENT, shownText, what } from '../http/errors.js';
import type { Exchange, HttpRequest, Operation } from '../http/types.js';
import { upTo } from '../redact.js';
import { BoundCredential, SAVED_HERE, type Sensitive } from '../sensitive.js';

/** The user name with which a secret logs in as a password. */
export const SECRET_USER = '__GSQL__secret';

/** A row of the table. It applies when everything given in it fits the answer. */
interface Row {
  /** What a refusal means, whatever code, status and words it came with. */
  readonly means: string;
  /** The server's own code. */
  readonly code?: string;
  /** The return code at the end of a GSQL answer. */
  readonly returnCode?: number;
  readonly status?: number;
  readonly on?: readonly Operation[];
  /** Matches a whole sentence without its full stop; `.*` stands for the names that users chose. */
  readonly sentence?: RegExp;
  /** Matches part of a sentence, after quoted words and the names of the request were removed. */
  readonly part?: RegExp;
}

/** The classes are documented, but only the sentence about the audience is; the words of the others are assumed. */
const JWT_CLASSES = [
  { means: 'jwt-audience', part: /\baudience\b/i },
  { means: 'jwt-issuer', part: /\bissuer\b/i },
  { means: 'jwt-signature', part: /\bsignature\b/i },
  { means: 'jwt-user', part: /\buser\b.*\b(?:exist|found|unknown)\b/i },
  { means: 'jwt-graph', part: /\bgraph\b.*\b(?:exist|found|unknown)\b/i },
  { means: 'jwt-graph-denied', part: /\b(?:graph\b.*\baccess(?:ible)?|access(?: to)? (?:the )?graph)\b/i },
] as const satisfies readonly Row[];

const ON_GIVEN_TOKEN = ['refresh', 'delete'] as const;

/**
 * The first row that applies counts: codes come first, then whole sentences, then parts of sentences, then the status
 * alone. Where a text is known from is written in the sandbox's `texts.ts`.
 */
const REFUSALS = [
  // These codes have only one meaning.
  { means: 'rest-auth-off', code: 'REST-1000', on: ['mint', 'check', ...ON_GIVEN_TOKEN] },
  { means: 'token-without-privilege', code: 'REST-10018' },
  { means: 'token-expired', code: 'REST-10019' },
  {
    means: 'token-missing',
    code: 'REST-10016',
    sentence: /Access Denied because the input token = '' is .*/,
  },
  {
    means: 'token-malformed',
    code: 'REST-10016',
    sentence: /Access Denied because the input token = '.*' is not in correct format/,
  },
  ...JWT_CLASSES.map((row) => ({ ...row, code: 'REST-10016' })),
  { means: 'token-expired', code: 'REST-10016', part: /\bexpired\b/i },
  { means: 'token-refused', code: 'REST-10016' },
  { means: 'licence-expired', code: 'REST-10020' },
  { means: 'no-such-graph', code: 'REST-1004' },
  { means: 'lifetime-over-limit', code: 'REST-3101' },
  // These sentences are compared as a whole.
  {
    means: 'no-such-graph',
    sentence: /Graph (?:'.*'|\S+) (?:does not exist|(?:is |could )?not (?:be )?found)/,
  },
  { means: 'no-such-user', sentence: /User .* does not exist/ },
  { means: 'no-such-graph', sentence: /No graph available\. Please create a graph first/ },
  { means: 'bad-login', sentence: /The secret '.*' is invalid\. Please enter a valid one/ },
  {
    means: 'bad-login',
    sentence:
      /The username or password is incorrect\. Please enter a valid one|(?:User a|A)uthentication failed|Wrong password!|Invalid user ?name or password!/,
  },
  {
    means: 'unknown-token',
    on: ON_GIVEN_TOKEN,
    sentence: /The token '.*' is invalid, please provide a valid one/,
  },
  {
    means: 'no-permission',
    sentence:
      /(?:Refresh|Drop) token failed, Permission denied|User '.*' does not have the permission to run the command\. Required privilege on .*|You don't have (?:the )?permission .*/,
  },
  {
    means: 'token-of-other-graph',
    sentence: /Access Denied: The input token belongs to graph .*, but it is attempting operations on .*/,
  },
  { means: 'alias-taken', sentence: /The secret with alias .* already exists/ },
  { means: 'secrets-not-dropped', sentence: /Failed to drop secrets: \[.*\]/ },
  { means: 'lifetime-over-limit', sentence: /The lifetime exceeds the limit of .*/ },
  // Servers use this code for another case too, so the sentences above come before it.
  { means: 'unknown-token', code: 'REST-3300', on: ON_GIVEN_TOKEN },
  // These are return codes at the end of a GSQL answer.
  { means: 'bad-login', returnCode: 41 },
  { means: 'no-such-graph', returnCode: 213 },
  // Existing clients look only for these parts of sentences.
  ...JWT_CLASSES.map((row) => ({ ...row, on: ['check'] as const })),
  { means: 'token-expired', on: ['check'], part: /\btoken is expired\b/i },
  {
    means: 'password-login-off',
    part: /\bpassword (?:log-?in|authentication)\b.*\b(?:disabled|off|not (?:allowed|enabled|supported))\b/i,
  },
  { means: 'throttled', part: /\bplease re-?login after\b/i },
  { means: 'client-certificate', part: /\bclient certificate verification failed\b/i },
  { means: 'licence-expired', part: /\blicense expired\b/i },
  { means: 'alias-taken', part: /\balready exists\b/i },
  {
    means: 'no-permission',
    part: /\b(?:does not|do not|don't) have (?:the |enough |sufficient )?(?:permission|privilege)s?\b|\bpermission denied\b/i,
  },
  { means: 'syntax-error', part: /^Encountered / },
  // These rows apply when only the status is known.
  { means: 'bad-login', status: 401 },
  { means: 'no-permission', status: 403 },
] as const satisfies readonly Row[];

export type Meaning = (typeof REFUSALS)[number]['means'];

const ROWS: readonly (Row & { readonly means: Meaning })[] = REFUSALS.map((row) =>
  'sentence' in row ? { ...row, sentence: asWhole(row.sentence) } : row,
);

function asWhole({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:Semantic Check Fails: )?(?:${source})\\.?$`, flags);
}

/** The error that the server sent. */
export interface Refused {
  /** The server's code, for example REST-3300. */
  readonly code?: string | undefined;
  /** The return code at the end of a GSQL answer. */
  readonly returnCode?: number | undefined;
  /** The server's message, one sentence on each line. */
  readonly message: string;
}

/** The patterns take long for a long text. */
const LONGEST_MESSAGE = 16_384;

/**
 * Creates the GraphException for a server's refusal.
 * @param known what it means, where the caller knows that
 */
export function refusal(exchange: Exchange, refused: Refused, known?: Meaning): GraphException {
  const { request, reply } = exchange;
  const message = upTo(refused.message, LONGEST_MESSAGE);
  const text = shownText(request, message);
  const line = shownText(request, message.trim().replace(/[\r\n].*/s, ''));
  const values: Readonly<Record<string, string>> = {
    server: request.base,
    ...namesOfCredentials(request),
    call: `${what(request)} (HTTP ${reply.status})`,
    text: text === '' ? '.' : `: ${text}`,
    line: line === '' ? '.' : `: ${line}`,
  };
  const [code, template, ...fix] = explanationOf(request, known ?? meaningOf(exchange, refused));
  const details: ErrorDetails = { status: reply.status, serverText: text, fix };
  if (refused.code) details.serverCode = shownText(request, refused.code).slice(0, 40);
  return new GraphException(
    code,
    template.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? ''),
    details,
  );
}

/** Looks up the meaning of a refusal; undefined when no row of the table applies. */
export function meaningOf({ request, reply }: Exchange, refused: Refused): Meaning | undefined {
  const message = upTo(refused.message, LONGEST_MESSAGE);
  const sentences = [message, ...message.split(/[\r\n]+/)].map((one) =>
    one.replace(/[\p{Cc}\s]+/gu, ' ').trim(),
  );
  const bare = sentences.map((one) => withoutNames(one, request));
  const row = ROWS.find(
    ({ code, returnCode, status, on, sentence, part }) =>
      (code === undefined || code === refused.code) &&
      (returnCode === undefined || returnCode === refused.returnCode) &&
      (status === undefined || status === reply.status) &&
      (on === undefined || (request.operation !== undefined && on.includes(request.operation))) &&
      (sentence === undefined || sentences.some((one) => sentence.test(one))) &&
      (part === undefined || bare.some((one) => part.test(one))),
  );
  return row?.means;
}

/** Removes from a sentence what users chose: everything quoted or in brackets, and the names of this request. */
export function withoutNames(sentence: string, { names = [] }: HttpRequest): string {
  const unquoted = sentence.replace(/'[^']*'|\[[^\][]*\]/g, ' _ ');
  return names.reduce((text, name) => {
    const literal = name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    return name === '' ? text : text.replace(new RegExp(`(?<![\\w-])${literal}(?![\\w-])`, 'gu'), '_');
  }, unquoted);
}

const SET_JWT = (key: string) =>
  `gadmin config set Security.JWT.${key} && gadmin config apply -y && gadmin restart restpp gsql -y`;
const FROM_PROVIDER = 'get a new one from the identity provider';
/** For a JWT of an identity provider: what is wrong with it, and how to mend that. */
const PROVIDERS_JWT: Readonly<Partial<Record<Meaning, readonly [problem: string, hint: string]>>> = {
  'token-expired': ['has expired', FROM_PROVIDER],
  'token-malformed': [
    'is no token that this server takes',
    `give servers of 3.10 and later the provider's key, as an operator: ${SET_JWT('RSA.PublicKey @FILE')}`,
  ],
  'token-refused': [
    'is refused, and the server does not say why',
    `give the server the provider's key, as an operator: ${SET_JWT('RSA.PublicKey @FILE')}`,
  ],
  'jwt-user': [
    'names a user (sub) that the database does not have',
    'have an administrator create that user, or the identity provider put the name of a database user into sub',
  ],
  'jwt-graph': [
    'is for a graph that does not exist',
    'leave the claim graph out at the identity provider, or name a graph there',
  ],
  'jwt-graph-denied': [
    'is for a graph that its user may not use',
    'ask for a role on the graph, or leave the claim graph out at the identity provider',
  ],
  'jwt-issuer': [
    'is from another issuer (iss) than the server expects',
    `have an operator set this one: ${SET_JWT('Issuer ISSUER')}`,
  ],
  'jwt-audience': [
    'is for another audience (aud) than the server expects',
    `ask the identity provider for one for the server's audience, or have an operator set this one: ${SET_JWT('Audience AUDIENCE')}`,
  ],
  'jwt-signature': [
    'is signed with a key that the server does not know',
    `when the identity provider has changed its key, have an operator set the new one: ${SET_JWT('RSA.PublicKey @FILE')}`,
  ],
};
const NEW_TOKEN: Fix = { command: 'token get --fresh' };
/** For what was taken for a token, and may be a secret. */
const MINT_FROM_IT: readonly Fix[] = [
  'if that was a secret, mint a token from it',
  { command: 'token get --secret-stdin' },
];
const GRAPH: Fix = { setting: 'graph' };

/**
 * What is told of a refusal. In the message `{server}` stands for the address that refused, `{login}` and `{token}` for
 * the credential and where it came from, `{text}` for what the server said, `{line}` for the first line of that.
 */
type Explanation = readonly [code: ErrorCode, message: string, ...fix: Fix[]];

const TOKEN_REFUSED: Explanation = [
  'AUTH_FAILED',
  '{server} refused {token}.',
  'get a new one',
  NEW_TOKEN,
  ...MINT_FROM_IT,
];
const NOT_EXPLAINED: Explanation = [
  'SERVER_ERROR',
  '{server} refused {call}{text}',
  'check the other settings',
  { command: 'doctor' },
];

const EXPLANATIONS: Readonly<Partial<Record<Meaning, Explanation>>> = {
  'password-login-off': [
    'AUTH_FAILED',
    '{server} refused {login}: it takes no passwords.',
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
    'try again after that time',
  ],
  'client-certificate': ['TLS', '{server} refused the client certificate.', ...CHECK_CLIENT],
  'token-missing': ['AUTH_FAILED', '{server} requires a token.', 'get one', NEW_TOKEN],
  'token-malformed': [
    'AUTH_FAILED',
    '{server} refused {token}.',
    'get one that this server made (4.x: a JWT), not a secret',
    NEW_TOKEN,
    ...MINT_FROM_IT,
  ],
  'token-expired': ['AUTH_FAILED', '{server} refused {token}: it has expired.', 'get a new one', NEW_TOKEN],
  'token-without-privilege': [
    'PERMISSION_DENIED',
    '{server} takes {token}, but it has no privilege for this.',
    'ask for a role on the graph',
  ],
  'token-of-other-graph': [
    'PERMISSION_DENIED',
    '{server} refused {token}, which is for another graph{text}',
    'use a token for that graph, or one without a graph',
    GRAPH,
  ],
  'unknown-token': ['NOT_FOUND', '{server} does not know {token}.', 'get a new one', NEW_TOKEN],
  'no-permission': [
    'PERMISSION_DENIED',
    '{server} does not allow this with {login}{text}',
    'ask an administrator for the privilege',
  ],
  'no-such-graph': [
    'NOT_FOUND',
    'There is no such graph at {server}, or it is hidden from this user{line}',
    'give the name of a graph, not the alias of a secret',
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
    'A secret with this alias exists already at {server}.',
    'choose another alias, or give that one a new value',
  ],
  'lifetime-over-limit': [
    'SERVER_ERROR',
    '{server} does not give tokens a life this long{text}',
    'ask for a shorter lifetime',
    { setting: 'lifetime' },
  ],
};

function explanationOf(request: HttpRequest, means: Meaning | undefined): Explanation {
  if (means === undefined) return NOT_EXPLAINED;
  if (means === 'bad-login') return badLogin(request);
  const ofProvider = PROVIDERS_JWT[means];
  if (ofProvider === undefined || !isJwtOfProvider(tokenOf(request)))
    return EXPLANATIONS[means] ?? (ofProvider ? TOKEN_REFUSED : NOT_EXPLAINED);
  const [problem, advice] = ofProvider;
  return ['AUTH_FAILED', `{server} refused {token}: it ${problem}.`, advice];
}

function badLogin(request: HttpRequest): Explanation {
  const { authorization } = request;
  if (authorization?.scheme === 'Bearer')
    return [
      'AUTH_FAILED',
      '{server} refused {login} as a login.',
      'ask the REST server what is wrong with it',
      { command: 'token check' },
    ];
  const refused = (...fix: Fix[]): Explanation => ['AUTH_FAILED', '{server} refused {login}.', ...fix];
  const secret = sentSecret(request);
  const isSaved = (secret ?? authorization?.credential)?.origin?.endsWith(SAVED_HERE);
  if (secret === undefined)
    return isSaved
      ? refused('the password may have been changed; log in again', { command: 'login --save-password' })
      : refused(
          'check user name and password, or the secret; after some wrong tries the server makes the user wait',
        );
  // Servers generate secrets that look like this, but some accept secrets of any form.
  if (!/^[a-z0-9]{32}$/.test(secret.reveal()))
    return refused(
      'give its value, 32 letters and digits, which is shown when it is made: this may be its alias instead',
    );
  const dropped = 'it may have been dropped; log in again';
  return isSaved
    ? refused(`${dropped}, in a script by -u and --password-file`, { command: 'login' })
    : refused(dropped, { command: 'login -u USER --password-file FILE' });
}

/** Names the credentials of a request, and where they came from: `the login from GRAPHCRED_PASSWORD`. */
function namesOfCredentials(request: HttpRequest) {
  const { authorization } = request;
  const [token, secret] = [tokenOf(request), sentSecret(request)];
  const named = withOrigin(isJwtOfProvider(token) ? 'the JWT' : 'the token', token);
  const login = withOrigin(secret ? 'the secret' : 'the login', secret ?? authorization?.credential);
  return { token: named, login: authorization?.scheme === 'Bearer' ? named : login };
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

/** Returns the secret with which the request logged in. */
function sentSecret(request: HttpRequest): Sensitive | undefined {
  const { authorization, json, query, body } = request;
  const secret = (json ?? query)?.secret ?? body;
  if (secret instanceof BoundCredential) return secret;
  const isSecret = authorization?.scheme === 'GSQL-Secret' || authorization?.username === SECRET_USER;
  return isSecret ? authorization.credential : undefined;
}

/** The error of a server that knows no secrets of others. */
export function onlyOwnSecrets(): GraphException {
  return new GraphException(
    'UNSUPPORTED',
    "This server cannot manage another user's secrets: 4.1 and later can.",
    { hint: ['log in as that user', { setting: 'username' }] },
  );
}
