/** The answers of real servers, from recordings and reports (docs/dev/fidelity.md), and the error that each operation of the client must make of them. */

export type Operation = 'list' | 'create' | 'drop' | 'mint' | 'refresh' | 'delete' | 'check';

export interface Said {
  readonly name: string;
  /** The server versions that send this answer. */
  readonly versions: readonly string[];
  /** The body, as JSON or as GSQL text with status 200. */
  readonly body: Readonly<Record<string, unknown>> | string;
  /** The credential that logs in. */
  readonly login: 'secret' | 'password';
  /** The error code; `missing` if the library must report that the secret or token does not exist. */
  readonly code: string;
  readonly at: readonly Operation[];
  /** The expected field `option` of the error. */
  readonly option?: string;
  /** A text that the message must contain. */
  readonly shows?: string;
}

const THREE = ['3.2.0', '3.10.1'] as const;
const FOUR = ['4.1.2'] as const;
/** The statuses with which each JSON answer is tried. */
export const STATUSES = [200, 400, 401, 403, 404, 500] as const;
/** The secret in the request, which servers repeat in their answers. */
export const SECRET = 's3cret0000000000000000000000wxyz';
export const TOKEN = 't0ken00000000000000000000000wxyz';

const SECRETS = ['list', 'create', 'drop'] as const;
const TOKENS = ['mint', 'refresh', 'delete'] as const;
const GIVEN_TOKEN = ['refresh', 'delete'] as const;
const refused = (message: string, code?: string) => ({ error: true, message, ...(code && { code }) });
const BAD_SECRET = `The secret '${SECRET}' is invalid. Please enter a valid one.`;
const UNKNOWN_TOKEN = `The token '${TOKEN}' is invalid, please provide a valid one.`;
const NO_PRIVILEGE =
  "User 'ada' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.";
const NO_GRAPH = "Graph 'demo' does not exist.\n";
const SUCCESS = [
  `The secret: ${SECRET} has been created for user "ada".`,
  'Successfully dropped secrets: [ci].',
  '    - Secret: s00****001',
  '      - Alias: ci',
  '__GSQL__RETURN__CODE__,0',
].join('\n');

const on3 = (
  name: string,
  login: Said['login'],
  body: Said['body'],
  [code, at]: readonly [string, readonly Operation[]],
  more: Partial<Said> = {},
): Said => ({ name, versions: THREE, login, body, code, at, ...more });
const on4: typeof on3 = (name, login, body, expected, more) =>
  on3(name, login, body, expected, { versions: FOUR, ...more });

const AUTH_FAILED = 'AUTH_FAILED';
const lifetime = { option: 'lifetime' };
const graph = { option: 'graph' };

export const REPLIES: readonly Said[] = [
  on3('a bad secret', 'secret', refused(BAD_SECRET, 'REST-1101'), [AUTH_FAILED, TOKENS]),
  on3(
    'a lifetime that is no number',
    'secret',
    refused('Invalid parameters, lifetime is not a number.', 'REST-1101'),
    ['SERVER_ERROR', ['mint', 'refresh']],
    lifetime,
  ),
  on3(
    'a lifetime above the limit',
    'secret',
    refused("The duration '100' exceeds the maximum limit '10'. Please enter a valid one.", 'REST-3101'),
    ['SERVER_ERROR', ['mint', 'refresh']],
    { ...lifetime, shows: "limit '10'" },
  ),
  on3(
    'a wrong password',
    'password',
    refused('The username or password is incorrect. Please enter a valid one.', 'REST-1101'),
    [AUTH_FAILED, TOKENS],
  ),
  on3('an unknown token, without a code', 'secret', refused(UNKNOWN_TOKEN), ['missing', GIVEN_TOKEN]),
  on3('an unknown token, by its code', 'secret', refused('The token does not exist.', 'REST-3300'), [
    'missing',
    GIVEN_TOKEN,
  ]),
  on3("somebody else's token, to refresh", 'password', refused('Refresh token failed, Permission denied.'), [
    'PERMISSION_DENIED',
    ['refresh'],
  ]),
  on3("somebody else's token, to delete", 'password', refused('Drop token failed, Permission denied.'), [
    'PERMISSION_DENIED',
    ['delete'],
  ]),
  on3(
    'REST authentication is off',
    'secret',
    refused('Endpoint is not found from url = /requesttoken, please use GET /endpoints …', 'REST-1000'),
    ['REST_AUTH_DISABLED', TOKENS],
  ),
  ...(['secret', 'password'] as const).map((login) =>
    on4(`a wrong ${login}`, login, refused('User authentication failed'), [
      AUTH_FAILED,
      ['mint', 'delete', 'check', ...SECRETS],
    ]),
  ),
  on4('a secret that cannot be found', 'secret', refused('The input secret cannot be found'), [
    AUTH_FAILED,
    SECRETS,
  ]),
  on4('an unknown graph', 'secret', refused('Graph demo not found'), ['NOT_FOUND', ['mint']], graph),
  on4(
    'a token of another graph',
    'secret',
    refused(
      'Access Denied: The input token belongs to graph sales, but it is attempting operations on global',
    ),
    ['PERMISSION_DENIED', ['mint', ...SECRETS]],
    { shows: 'graph sales' },
  ),
  on4('a missing privilege', 'password', refused(NO_PRIVILEGE), ['PERMISSION_DENIED', ['mint', ...SECRETS]]),
  on3('a graph that does not exist', 'password', NO_GRAPH, ['NOT_FOUND', SECRETS], graph),
  on3(
    'a graph that does not exist, and what follows succeeds',
    'password',
    NO_GRAPH + SUCCESS,
    ['NOT_FOUND', SECRETS],
    graph,
  ),
  on3(
    'no graph in use',
    'password',
    'Semantic Check Fails: No graph available. Please create a graph first.\n__GSQL__RETURN__CODE__,213\n',
    ['NOT_FOUND', SECRETS],
    graph,
  ),
  on3('a missing privilege in a text', 'password', `Using graph 'demo'\n${NO_PRIVILEGE}\n`, [
    'PERMISSION_DENIED',
    SECRETS,
  ]),
];
