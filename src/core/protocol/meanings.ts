import { type ErrorCode, type ErrorDetails, GraphException } from '../errors.js';
import { credentialsIn, shownText, what } from '../http/errors.js';
import type { HttpRequest, Operation } from '../http/types.js';
import { upTo } from '../redact.js';
import { BoundCredential, type Sensitive } from '../sensitive.js';

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
  /** Set when the row applies only to requests that logged in this way. */
  readonly login?: 'GSQL-Secret';
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
  { means: 'jwt-graph-denied', part: /\bgraph\b.*\b(?:access|accessible)\b/i },
] as const satisfies readonly Row[];

const ON_SECRETS = ['list-secrets', 'create-secret', 'drop-secret'] as const;
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
  { means: 'token-refused', code: 'REST-10016' },
  { means: 'licence-expired', code: 'REST-10020' },
  { means: 'no-such-graph', code: 'REST-1004' },
  { means: 'lifetime-over-limit', code: 'REST-3101' },
  // These sentences are compared as a whole.
  {
    means: 'no-such-graph',
    sentence: /Graph (?:'.*'|\S+) (?:does not exist|(?:is |could )?not (?:be )?found)/,
  },
  { means: 'no-such-user', on: ON_SECRETS, sentence: /User .* does not exist/ },
  { means: 'no-such-graph', sentence: /No graph available\. Please create a graph first/ },
  { means: 'bad-login', sentence: /The secret (?:'.*' is invalid\. Please enter a valid one|is invalid)/ },
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
  { means: 'lifetime-not-a-number', sentence: /Invalid parameters, lifetime is not a number/ },
  {
    means: 'no-permission',
    sentence:
      /(?:Refresh|Drop) token failed, Permission denied|User '.*' does not have the permission to run the command\. Required privilege on .*|You don't have (?:the )?permission .*/,
  },
  {
    means: 'token-of-other-graph',
    sentence:
      /Access Denied: The input token belongs to graph (.*), but it is attempting operations on (.*?)/,
  },
  { means: 'alias-taken', on: ['create-secret'], sentence: /The secret with alias .* already exists/ },
  { means: 'secrets-not-dropped', on: ['drop-secret'], sentence: /Failed to drop secrets: \[.*\]/ },
  { means: 'rest-auth-off', sentence: /REST(?:PP)? authentication is (?:disabled|not enabled|off)/i },
  { means: 'lifetime-over-limit', sentence: /The lifetime exceeds the limit of .*/ },
  // Servers use this code for another case too, so the sentences above come before it.
  { means: 'unknown-token', code: 'REST-3300', on: ON_GIVEN_TOKEN },
  // These are return codes at the end of a GSQL answer.
  { means: 'bad-login', returnCode: 41 },
  { means: 'syntax-error', returnCode: 211 },
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
  { means: 'bad-login', login: 'GSQL-Secret', part: /\bcannot be found\b/i },
  { means: 'alias-taken', on: ['create-secret'], part: /\balready exists\b/i },
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
  readonly status: number;
  /** The server's code, for example REST-3300; empty when it gave none. */
  readonly code: string;
  /** The return code at the end of a GSQL answer. */
  readonly returnCode?: number | undefined;
  /** The server's message, one sentence on each line. */
  readonly message: string;
}

/** Looks up the meaning of a refusal; undefined when no row of the table applies. */
export function meaningOf(request: HttpRequest, refused: Refused): Meaning | undefined {
  return find(request, refused)?.means;
}

/** The patterns take long for a long text. */
const LONGEST_MESSAGE = 16_384;

/** Creates the GraphException for a server's refusal. */
export function refusal(request: HttpRequest, refused: Refused): GraphException {
  const { status } = refused;
  const text = shownText(request, upTo(refused.message, LONGEST_MESSAGE));
  const [code, message, hint, next] = explain({ request, text, status, ...find(request, refused) });
  const details: ErrorDetails = { status, serverText: text, hint, ...next };
  if (refused.code !== '') details.serverCode = shownText(request, refused.code).slice(0, 40);
  return new GraphException(code, message, details);
}

function find(request: HttpRequest, refused: Refused): Pick<Told, 'means' | 'match'> | undefined {
  const message = upTo(refused.message, LONGEST_MESSAGE);
  const sentences = [message, ...message.split(/[\r\n]+/)].map((one) =>
    one.replace(/[\p{Cc}\s]+/gu, ' ').trim(),
  );
  const bare = sentences.map((one) => withoutNames(one, request));
  for (const { means, sentence, part, ...row } of ROWS) {
    const fits =
      (row.code === undefined || row.code === refused.code) &&
      (row.returnCode === undefined || row.returnCode === refused.returnCode) &&
      (row.status === undefined || row.status === refused.status) &&
      (row.on === undefined || (request.operation !== undefined && row.on.includes(request.operation))) &&
      (row.login === undefined || row.login === request.authorization?.scheme) &&
      (part === undefined || bare.some((one) => part.test(one)));
    const match = sentence ? sentences.map((one) => sentence.exec(one)).find((one) => one !== null) : [];
    if (fits && match) return { means, match };
  }
  return undefined;
}

/** Removes from a sentence what users chose: everything quoted or in brackets, and the names of this request. */
export function withoutNames(sentence: string, { names = [] }: HttpRequest): string {
  const unquoted = sentence.replace(/'[^']*'|\[[^\][]*\]/g, ' _ ');
  return names.reduce((text, name) => {
    const literal = name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    return name === '' ? text : text.replace(new RegExp(`(?<![\\w-])${literal}(?![\\w-])`, 'gu'), '_');
  }, unquoted);
}

const NEW_TOKEN = { remedies: ['new-token'] } as const;
const OTHER_TOKEN = { remedies: ['new-token', 'mint-from-secret'] } as const;
const SET_JWT = (key: string) =>
  `gadmin config set Security.JWT.${key} && gadmin config apply -y && gadmin restart restpp gsql -y`;
const FROM_PROVIDER = 'Get a new one from the identity provider.';
/** For a JWT of an identity provider: what is wrong with it, and how to mend that. */
const PROVIDERS_JWT: Readonly<Partial<Record<Meaning, readonly [problem: string, hint: string]>>> = {
  'token-expired': ['has expired', FROM_PROVIDER],
  'token-malformed': [
    'is no token that this server takes',
    `Servers of 3.10 and later take JWTs once an operator has given them the provider's key: ${SET_JWT('RSA.PublicKey @FILE')}`,
  ],
  'token-refused': [
    'is refused, and the server does not say why',
    `It takes JWTs once an operator has given it the provider's key: ${SET_JWT('RSA.PublicKey @FILE')}`,
  ],
  'jwt-user': [
    'names a user (sub) that the database does not have',
    'An administrator creates that user, or the identity provider puts the name of a database user into sub.',
  ],
  'jwt-graph': [
    'is for a graph that does not exist',
    'Leave the claim graph out at the identity provider, or name a graph there.',
  ],
  'jwt-graph-denied': [
    'is for a graph that its user may not use',
    'Ask for a role on the graph, or leave the claim graph out at the identity provider.',
  ],
  'jwt-issuer': [
    'is from another issuer (iss) than the server expects',
    `An operator sets this one: ${SET_JWT('Issuer ISSUER')}`,
  ],
  'jwt-audience': [
    'is for another audience (aud) than the server expects',
    `Ask the identity provider for one for the server's audience, or an operator sets this one: ${SET_JWT('Audience AUDIENCE')}`,
  ],
  'jwt-signature': [
    'is signed with a key that the server does not know',
    `When the identity provider has changed its key, an operator sets the new one: ${SET_JWT('RSA.PublicKey @FILE')}`,
  ],
};
const GET_ONE = 'Get a new one. A secret is no token, but tokens are minted from it.';
const GRAPH = { option: 'graph' } as const;
const LIFETIME = { option: 'lifetime' } as const;

type ErrorMapping = readonly [
  code: ErrorCode,
  message: string,
  hint: string,
  next?: Pick<ErrorDetails, 'option' | 'remedies'>,
];

/** A refusal that is to be explained. */
interface Told {
  readonly request: HttpRequest;
  readonly means?: Meaning | undefined;
  /** The match of the row's `sentence`, without control characters; empty for a row without one. */
  readonly match?: readonly string[];
  readonly status: number;
  /** The server's text, fit to be shown. */
  readonly text: string;
}

const TOKEN_REFUSED: ErrorMapping = ['AUTH_FAILED', 'The server refused the token.', GET_ONE, OTHER_TOKEN];

/** What is told of a refusal; one that is not here is told in the server's own words. */
const EXPLANATIONS: Readonly<Partial<Record<Meaning, ErrorMapping | ((told: Told) => ErrorMapping)>>> = {
  'password-login-off': [
    'AUTH_FAILED',
    'This server takes no passwords.',
    'Log in with a secret, or with a JWT of the identity provider.',
    { option: 'jwtToken' },
  ],
  'rest-auth-off': [
    'REST_AUTH_DISABLED',
    'REST authentication is not enabled on this server.',
    'An administrator turns it on with: gadmin config set RESTPP.Factory.EnableAuth true && ' +
      'gadmin config apply -y && gadmin restart restpp nginx gui gsql -y',
  ],
  throttled: ({ text }) => ['AUTH_FAILED', 'Too many failed logins: the server makes this user wait.', text],
  'client-certificate': [
    'TLS',
    'The server refused the client certificate.',
    'Check the client certificate and its key.',
    { option: 'tls.cert' },
  ],
  'licence-expired': [
    'SERVER_ERROR',
    "The server's licence has expired.",
    'Ask the administrator of the server to renew it.',
  ],
  'bad-login': badCredential,
  'token-missing': ['AUTH_FAILED', 'The server requires a token.', GET_ONE, OTHER_TOKEN],
  'token-malformed': [
    'AUTH_FAILED',
    'The server refused the token.',
    `This server takes tokens it made itself (4.x: JWTs), not secrets. ${GET_ONE}`,
    OTHER_TOKEN,
  ],
  'token-refused': TOKEN_REFUSED,
  ...Object.fromEntries(JWT_CLASSES.map(({ means }) => [means, TOKEN_REFUSED])),
  'token-expired': ['AUTH_FAILED', 'The token has expired.', 'Get a new one.', NEW_TOKEN],
  'token-without-privilege': [
    'PERMISSION_DENIED',
    'The token is valid but has no privilege for this.',
    'Ask for a role on the graph.',
  ],
  'token-of-other-graph': ({ request, match }) => {
    const [own, other] = [match?.[1] ?? '', match?.[2] ?? ''].map((name) => shownText(request, name));
    return [
      'PERMISSION_DENIED',
      `This token is for the graph ${own} only, and this call is about ${other}.`,
      'Use a token for that graph, or one without a graph.',
      GRAPH,
    ];
  },
  'unknown-token': ['NOT_FOUND', 'The server does not know this token.', 'Get a new one.', NEW_TOKEN],
  'no-permission': ({ text }) => [
    'PERMISSION_DENIED',
    withText('This user may not do that', text),
    'Ask an administrator for the privilege.',
  ],
  'no-such-graph': ({ request, match, text }) => [
    'NOT_FOUND',
    withText(
      'There is no such graph, or it is hidden from this user',
      shownText(request, match?.[0] ?? text),
    ),
    'Give the name of a graph, not the alias of a secret.',
    GRAPH,
  ],
  'no-such-user': ({ text }) => [
    'NOT_FOUND',
    withText('There is no such user', text),
    'Check the name of the owner.',
    { option: 'owner' },
  ],
  'alias-taken': [
    'ALREADY_EXISTS',
    'A secret with this alias exists already.',
    'Choose another alias, or give that one a new value.',
    { remedies: ['rotate-secret'] },
  ],
  'lifetime-not-a-number': [
    'SERVER_ERROR',
    'The server does not take this lifetime.',
    'Ask for another lifetime.',
    LIFETIME,
  ],
  'lifetime-over-limit': ({ text }) => [
    'SERVER_ERROR',
    withText('The server does not give tokens a life this long', text),
    'Ask for a shorter lifetime.',
    LIFETIME,
  ],
};

function explain(told: Told): ErrorMapping {
  const { request, means, text, status } = told;
  const [problem, advice] = (means && isJwtOfProvider(request) && PROVIDERS_JWT[means]) || [];
  if (problem !== undefined && advice !== undefined) return ['AUTH_FAILED', `The JWT ${problem}.`, advice];
  const explanation = means && EXPLANATIONS[means];
  if (typeof explanation === 'function') return explanation(told);
  if (explanation) return explanation;
  const refused = `The server refused ${what(request)}${means ? '' : ` (HTTP ${status})`}`;
  return ['SERVER_ERROR', withText(refused, text), 'Check the other settings.', { remedies: ['examine'] }];
}

/** Ends a sentence with the server's text, if there is one. */
function withText(sentence: string, text: string): string {
  return text === '' ? `${sentence}.` : `${sentence}: ${text}`;
}

function badCredential({ request }: Told): ErrorMapping {
  const { authorization, base } = request;
  const secret = sentSecret(request);
  const origin = (secret ?? authorization?.credential.value)?.origin;
  const told = (kind: string) => `${base} refused the ${kind}${origin === undefined ? '' : ` ${origin}`}`;
  if (authorization?.scheme === 'Bearer')
    return [
      'AUTH_FAILED',
      `${told('token')} as a login.`,
      'What it is refused for, the REST server says: graphcred token check',
    ];
  if (secret === undefined)
    return [
      'AUTH_FAILED',
      `${told('login')}.`,
      'Check user name and password, or the secret. After some wrong tries the server makes the user wait.',
    ];
  // Servers generate secrets that look like this, but some accept secrets of any form.
  return /^[a-z0-9]{32}$/.test(secret.reveal())
    ? ['AUTH_FAILED', `${told('secret')}.`, 'It may have been dropped.', { remedies: ['list-with-password'] }]
    : [
        'AUTH_FAILED',
        `${told('secret')}.`,
        'Its value is 32 letters and digits, shown when it is made: this may be its alias instead.',
      ];
}

/** Whether the token of the request is a JWT that the server did not make itself. */
function isJwtOfProvider({ authorization, json }: HttpRequest): boolean {
  const token = authorization?.scheme === 'Bearer' ? authorization.credential : json?.token;
  const jwt = token instanceof BoundCredential ? token.value.reveal() : '';
  const [, payload] = /^eyJ[\w-]*\.([\w-]+)\.[\w-]*$/.exec(jwt) ?? [];
  return payload !== undefined && !/"iss":\s*"TigerGraph"/.test(Buffer.from(payload, 'base64url').toString());
}

/** Returns the secret with which the request logged in. */
function sentSecret(request: HttpRequest): Sensitive | undefined {
  const { authorization, json, query, body } = request;
  const secret = (json ?? query)?.secret ?? body;
  const isSecret = authorization?.scheme === 'GSQL-Secret' || authorization?.username === SECRET_USER;
  return credentialsIn(request).find(
    (one) => one === secret || (isSecret && one === authorization.credential),
  )?.value;
}

/** The error of a server that knows no secrets of others. */
export function onlyOwnSecrets(): GraphException {
  return new GraphException(
    'UNSUPPORTED',
    "This server cannot manage another user's secrets: 4.1 and later can.",
    {
      hint: 'Log in as that user.',
    },
  );
}
