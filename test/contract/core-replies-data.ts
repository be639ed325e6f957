/** The answers of real servers, from recordings and reports, and the error that each operation of the client must make of them. */

export type Operation = 'list' | 'create' | 'drop' | 'mint' | 'refresh' | 'delete' | 'check' | 'ping';

export interface Said {
  readonly name: string;
  readonly evidence: 'recorded' | 'documented' | 'client' | 'reported';
  /** The server versions that send this answer. */
  readonly versions: readonly string[];
  /** The body, as JSON or as GSQL text. */
  readonly json?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  /** The statuses to try; all six when absent. */
  readonly statuses?: readonly number[];
  /** The credential that logs in. */
  readonly login: 'secret' | 'password';
  /** The error code for each operation; `missing` if the library must report that the secret or token does not exist. */
  readonly expect: Readonly<Partial<Record<Operation, string>>>;
  /** The expected field `option` of the error. */
  readonly option?: string;
  /** A text that the message must contain. */
  readonly shows?: string;
  readonly ambiguous?: boolean;
}

const THREE = ['3.2.0', '3.10.1'] as const;
const FOUR = ['4.1.2', '4.2.5'] as const;
export const STATUSES = [200, 400, 401, 403, 404, 500] as const;
/** The secret in the request, which servers repeat in their answers. */
export const SECRET = 's3cret0000000000000000000000wxyz';
export const TOKEN = 't0ken00000000000000000000000wxyz';

const unknownToken = `The token '${TOKEN}' is invalid, please provide a valid one.`;

export const TOKEN_REPLIES: readonly Said[] = [
  {
    name: 'a bad secret',
    evidence: 'recorded',
    versions: THREE,
    login: 'secret',
    json: {
      code: 'REST-1101',
      error: true,
      message: `The secret '${SECRET}' is invalid. Please enter a valid one.`,
    },
    expect: { mint: 'AUTH_FAILED', refresh: 'AUTH_FAILED', delete: 'AUTH_FAILED' },
  },
  {
    name: 'a lifetime that is no number',
    evidence: 'recorded',
    versions: THREE,
    login: 'secret',
    json: {
      code: 'REST-1101',
      error: true,
      message: 'Invalid parameters, lifetime is not a number.',
      token: '',
    },
    expect: { mint: 'SERVER_ERROR', refresh: 'SERVER_ERROR' },
    option: 'lifetime',
  },
  {
    name: 'a lifetime above the limit',
    evidence: 'recorded',
    versions: THREE,
    login: 'secret',
    json: {
      code: 'REST-3101',
      error: true,
      message: "The duration '100' exceeds the maximum limit '10'. Please enter a valid one.",
      token: '',
    },
    expect: { mint: 'SERVER_ERROR', refresh: 'SERVER_ERROR' },
    option: 'lifetime',
    shows: "limit '10'",
  },
  {
    name: 'a wrong password',
    evidence: 'recorded',
    versions: THREE,
    login: 'password',
    json: {
      code: 'REST-1101',
      error: true,
      message: 'The username or password is incorrect. Please enter a valid one.',
    },
    expect: { mint: 'AUTH_FAILED', refresh: 'AUTH_FAILED', delete: 'AUTH_FAILED' },
  },
  {
    name: 'an unknown token, without a code',
    evidence: 'recorded',
    versions: THREE,
    login: 'secret',
    json: { error: true, message: unknownToken },
    expect: { refresh: 'NOT_FOUND', delete: 'missing' },
  },
  {
    name: 'an unknown token, by its code',
    evidence: 'client',
    versions: THREE,
    login: 'secret',
    json: { code: 'REST-3300', error: true, message: 'The token does not exist.' },
    expect: { refresh: 'NOT_FOUND', delete: 'missing' },
  },
  {
    name: 'an unknown token, with a code and the recorded words',
    evidence: 'recorded',
    versions: THREE,
    login: 'password',
    json: { code: 'REST-3300', error: true, message: unknownToken },
    expect: { refresh: 'NOT_FOUND', delete: 'missing' },
  },
  {
    name: "somebody else's token, to refresh",
    evidence: 'recorded',
    versions: THREE,
    login: 'password',
    json: { error: true, message: 'Refresh token failed, Permission denied.' },
    expect: { refresh: 'PERMISSION_DENIED' },
  },
  {
    name: "somebody else's token, to delete",
    evidence: 'recorded',
    versions: THREE,
    login: 'password',
    json: { error: true, message: 'Drop token failed, Permission denied.' },
    expect: { delete: 'PERMISSION_DENIED' },
  },
  {
    name: 'REST authentication is off',
    evidence: 'client',
    versions: THREE,
    login: 'secret',
    json: {
      version: { edition: 'enterprise', api: 'v2', schema: 0 },
      error: true,
      message:
        'Endpoint is not found from url = /requesttoken, please use GET /endpoints to list all valid endpoints.',
      code: 'REST-1000',
    },
    expect: { mint: 'REST_AUTH_DISABLED', refresh: 'REST_AUTH_DISABLED', delete: 'REST_AUTH_DISABLED' },
  },
  {
    name: 'a bad secret',
    evidence: 'reported',
    versions: FOUR,
    login: 'secret',
    json: { error: true, message: 'User authentication failed' },
    expect: {
      mint: 'AUTH_FAILED',
      delete: 'AUTH_FAILED',
      check: 'AUTH_FAILED',
      list: 'AUTH_FAILED',
      create: 'AUTH_FAILED',
      drop: 'AUTH_FAILED',
    },
  },
  {
    name: 'a wrong password',
    evidence: 'reported',
    versions: FOUR,
    login: 'password',
    json: { error: true, message: 'User authentication failed' },
    expect: {
      mint: 'AUTH_FAILED',
      delete: 'AUTH_FAILED',
      check: 'AUTH_FAILED',
      list: 'AUTH_FAILED',
      create: 'AUTH_FAILED',
      drop: 'AUTH_FAILED',
    },
  },
  {
    name: 'a secret that cannot be found',
    evidence: 'reported',
    versions: FOUR,
    login: 'secret',
    json: { error: true, message: 'The input secret cannot be found' },
    expect: { list: 'AUTH_FAILED', create: 'AUTH_FAILED', drop: 'AUTH_FAILED' },
  },
  {
    name: 'an unknown graph',
    evidence: 'reported',
    versions: FOUR,
    login: 'secret',
    json: { error: true, message: 'Graph demo not found' },
    expect: { mint: 'NOT_FOUND' },
    option: 'graph',
  },
  {
    name: 'a token of another graph',
    evidence: 'reported',
    versions: FOUR,
    login: 'secret',
    json: {
      error: true,
      message:
        'Access Denied: The input token belongs to graph sales, but it is attempting operations on global',
    },
    expect: {
      mint: 'PERMISSION_DENIED',
      list: 'PERMISSION_DENIED',
      create: 'PERMISSION_DENIED',
      drop: 'PERMISSION_DENIED',
    },
    shows: 'graph sales only',
  },
  {
    name: 'a missing privilege',
    evidence: 'reported',
    versions: FOUR,
    login: 'password',
    json: {
      error: true,
      message:
        "User 'ada' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.",
    },
    expect: {
      mint: 'PERMISSION_DENIED',
      list: 'PERMISSION_DENIED',
      create: 'PERMISSION_DENIED',
      drop: 'PERMISSION_DENIED',
    },
  },
];

const TEXT = [200] as const;
const SUCCESS = [
  `The secret: ${SECRET} has been created for user "ada".`,
  'Successfully dropped secrets: [ci].',
  '    - Secret: s00****001',
  '      - Alias: ci',
];

export const TEXT_REPLIES: readonly Said[] = [
  {
    name: 'a graph that does not exist',
    evidence: 'reported',
    versions: THREE,
    login: 'password',
    statuses: TEXT,
    text: "Graph 'demo' does not exist.\n",
    expect: { list: 'NOT_FOUND', create: 'NOT_FOUND', drop: 'NOT_FOUND' },
    option: 'graph',
  },
  {
    name: 'a graph that does not exist, and what follows succeeds',
    evidence: 'reported',
    versions: THREE,
    login: 'password',
    statuses: TEXT,
    text: ["Graph 'demo' does not exist.", ...SUCCESS, '__GSQL__RETURN__CODE__,0', ''].join('\n'),
    expect: { list: 'NOT_FOUND', create: 'NOT_FOUND', drop: 'NOT_FOUND' },
    option: 'graph',
  },
  {
    name: 'no graph in use',
    evidence: 'reported',
    versions: THREE,
    login: 'password',
    statuses: TEXT,
    text: 'Semantic Check Fails: No graph available. Please create a graph first.\n__GSQL__RETURN__CODE__,213\n',
    expect: { list: 'NOT_FOUND', create: 'NOT_FOUND', drop: 'NOT_FOUND' },
    option: 'graph',
  },
  {
    name: 'a missing privilege',
    evidence: 'reported',
    versions: THREE,
    login: 'password',
    statuses: TEXT,
    text: "Using graph 'demo'\nUser 'ada' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.\n",
    expect: { list: 'PERMISSION_DENIED', create: 'PERMISSION_DENIED', drop: 'PERMISSION_DENIED' },
  },
];

/** The answer of a cloud gateway for a suspended workspace, which can only be started in the cloud console. */
export const SUSPENDED: Said = {
  name: 'a suspended workspace',
  evidence: 'reported',
  versions: ['3.2.0', '3.10.1', '4.1.2', '4.2.5'],
  login: 'password',
  statuses: [500],
  text: '<html><head><title>Failed to start workspace</title></head><body>Auto start is not enabled for this workspace</body></html>',
  expect: {
    list: 'SERVER_UNAVAILABLE',
    create: 'SERVER_UNAVAILABLE',
    drop: 'SERVER_UNAVAILABLE',
    mint: 'SERVER_UNAVAILABLE',
    delete: 'SERVER_UNAVAILABLE',
    check: 'SERVER_UNAVAILABLE',
    ping: 'SERVER_UNAVAILABLE',
  },
};
