import { type ErrorCode, type ErrorDetails, GraphException } from '../errors.js';
import { credentialsIn, shownText, what } from '../http/errors.js';
import type { HttpRequest } from '../http/types.js';
import { upTo } from '../redact.js';
import { BoundCredential, type Sensitive } from '../sensitive.js';
import { SECRET_USER } from './login.js';
import { type Meaning, REFUSALS, type Row } from './refusal-table.js';

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
  return find(request, shortened(refused))?.row.means;
}

/** The patterns take long for a long text. */
const LONGEST_MESSAGE = 16_384;

function shortened(refused: Refused): Refused {
  return { ...refused, message: upTo(refused.message, LONGEST_MESSAGE) };
}

/** Creates the GraphException for a server's refusal. */
export function refusal(request: HttpRequest, whole: Refused): GraphException {
  const refused = shortened(whole);
  const text = shownText(request, refused.message);
  const found = find(request, refused);
  const [code, message, hint, next] = found
    ? explain(found, request, text)
    : ([
        'SERVER_ERROR',
        withText(`The server refused ${what(request)} (HTTP ${refused.status})`, text),
        EXAMINE_HINT,
        EXAMINE,
      ] as const);
  const details: ErrorDetails = { status: refused.status, serverText: text, hint, ...next };
  if (refused.code !== '') details.serverCode = shownText(request, refused.code).slice(0, 40);
  return new GraphException(code, message, details);
}

interface Found {
  readonly row: Row;
  /** The match of the row's `sentence`, without control characters; empty for a row without one. */
  readonly match: readonly string[];
}

function find(request: HttpRequest, refused: Refused): Found | undefined {
  const sentences = [refused.message, ...refused.message.split(/[\r\n]+/)].map((sentence) =>
    sentence.replace(/[\p{Cc}\s]+/gu, ' ').trim(),
  );
  let bare: string[] | undefined;
  for (const row of REFUSALS) {
    const fits =
      (row.code === undefined || row.code === refused.code) &&
      (row.returnCode === undefined || row.returnCode === refused.returnCode) &&
      (row.status === undefined || row.status === refused.status) &&
      (row.on === undefined || (request.operation !== undefined && row.on.includes(request.operation))) &&
      (row.login === undefined || row.login === request.authorization?.scheme);
    if (!fits) continue;
    const { sentence, part } = row;
    if (sentence !== undefined) {
      const match = sentences.map((one) => sentence.exec(one)).find((one) => one !== null);
      if (match) return { row, match };
      continue;
    }
    if (part !== undefined) {
      bare ??= sentences.map((one) => withoutNames(one, request));
      if (!bare.some((one) => part.test(one))) continue;
    }
    return { row, match: [] };
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

const ENABLE_REST_AUTH =
  'An administrator turns it on with: gadmin config set RESTPP.Factory.EnableAuth true && ' +
  'gadmin config apply -y && gadmin restart restpp nginx gui gsql -y';
const LOGIN_HINT =
  'Check user name and password, or the secret. After some wrong tries the server makes the user wait.';
const ASK_ADMINISTRATOR = 'Ask an administrator for the privilege.';
const EXAMINE_HINT = 'Check the other settings.';
const EXAMINE = { remedies: ['examine'] } as const;
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
const OWNER = { option: 'owner' } as const;

type ErrorMapping = readonly [
  code: ErrorCode,
  message: string,
  hint: string,
  next?: Pick<ErrorDetails, 'option' | 'remedies'>,
];

/** A refusal that is explained in words of its own. */
interface Told {
  readonly request: HttpRequest;
  /** What the row's sentence matched; empty for a row without one. */
  readonly match: readonly string[];
  /** The server's text, fit to be shown. */
  readonly text: string;
}

const TOKEN_REFUSED: ErrorMapping = ['AUTH_FAILED', 'The server refused the token.', GET_ONE, OTHER_TOKEN];

const explainNoGraph = ({ request, match, text }: Told): ErrorMapping => [
  'NOT_FOUND',
  withText('There is no such graph, or it is hidden from this user', shownText(request, match[0] ?? text)),
  'Give the name of a graph, not the alias of a secret.',
  GRAPH,
];

const explainUnknown = ({ request, text }: Told): ErrorMapping => [
  'SERVER_ERROR',
  withText(`The server refused ${what(request)}`, text),
  EXAMINE_HINT,
  EXAMINE,
];

const EXPLANATIONS: Readonly<Record<Meaning, ErrorMapping | ((told: Told) => ErrorMapping)>> = {
  'password-login-off': [
    'AUTH_FAILED',
    'This server takes no passwords.',
    'Log in with a secret, or with a JWT of the identity provider.',
    { option: 'jwtToken' },
  ],
  'rest-auth-off': [
    'REST_AUTH_DISABLED',
    'REST authentication is not enabled on this server.',
    ENABLE_REST_AUTH,
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
  'bad-secret': badCredential,
  'token-missing': ['AUTH_FAILED', 'The server requires a token.', GET_ONE, OTHER_TOKEN],
  'token-malformed': [
    'AUTH_FAILED',
    'The server refused the token.',
    `This server takes tokens it made itself (4.x: JWTs), not secrets. ${GET_ONE}`,
    OTHER_TOKEN,
  ],
  'token-refused': TOKEN_REFUSED,
  'jwt-user': TOKEN_REFUSED,
  'jwt-graph': TOKEN_REFUSED,
  'jwt-graph-denied': TOKEN_REFUSED,
  'jwt-issuer': TOKEN_REFUSED,
  'jwt-audience': TOKEN_REFUSED,
  'jwt-signature': TOKEN_REFUSED,
  'token-expired': ['AUTH_FAILED', 'The token has expired.', 'Get a new one.', NEW_TOKEN],
  'token-without-privilege': [
    'PERMISSION_DENIED',
    'The token is valid but has no privilege for this.',
    'Ask for a role on the graph.',
  ],
  'token-of-other-graph': ({ request, match }) => {
    const [own, other] = [match[1] ?? '', match[2] ?? ''].map((name) => shownText(request, name));
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
    ASK_ADMINISTRATOR,
  ],
  'no-such-graph': explainNoGraph,
  'no-graph-in-use': explainNoGraph,
  'no-such-user': ({ text }) => [
    'NOT_FOUND',
    withText('There is no such user', text),
    'Check the name of the owner.',
    OWNER,
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
  'secrets-not-dropped': explainUnknown,
  'syntax-error': explainUnknown,
};

function explain({ row, match }: Found, request: HttpRequest, text: string): ErrorMapping {
  const [problem, advice] = (isJwtOfProvider(request) && PROVIDERS_JWT[row.means]) || [];
  if (problem !== undefined && advice !== undefined) return ['AUTH_FAILED', `The JWT ${problem}.`, advice];
  const explanation = EXPLANATIONS[row.means];
  return typeof explanation === 'function' ? explanation({ request, match, text }) : explanation;
}

/** Ends a sentence with the server's text, if there is one. */
function withText(sentence: string, text: string): string {
  return text === '' ? `${sentence}.` : `${sentence}: ${text}`;
}

function badCredential({ request }: Told): ErrorMapping {
  const secret = sentSecret(request);
  const sent = secret ?? request.authorization?.credential.value;
  const from = sent?.origin === undefined ? '' : ` ${sent.origin}`;
  if (request.authorization?.scheme === 'Bearer')
    return [
      'AUTH_FAILED',
      `${request.base} refused the token${from} as a login.`,
      'What it is refused for, the REST server says: graphcred token check',
    ];
  if (secret === undefined) return ['AUTH_FAILED', `${request.base} refused the login${from}.`, LOGIN_HINT];
  // Servers generate secrets that look like this, but some accept secrets of any form.
  const looksRight = /^[a-z0-9]{32}$/.test(secret.reveal());
  return [
    'AUTH_FAILED',
    `${request.base} refused the secret${from}.`,
    looksRight
      ? 'It may have been dropped.'
      : 'Its value is 32 letters and digits, shown when it is made: this may be its alias instead.',
    looksRight ? { remedies: ['list-secrets'] } : {},
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
