/**
 * THE ASSUMED ANSWERS. Nobody has published what a real server says in these cases: every entry here is a
 * guess, made so that the clients known to work on real servers keep working. When someone brings a capture
 * of a real server, correct the entry here and the row of the contract tests that names it.
 *
 * `{name}` marks are filled in. `status` is the HTTP status, `code` the server's own error code.
 */
export interface AssumedText {
  readonly status: number;
  readonly code?: string;
  readonly message: string;
}

/** Token endpoints of 3.x. Only the code REST-3300 of `unknownToken` is evidenced (every client tests for it). */
export const TOKENS_3 = {
  badSecret: { status: 200, code: 'REST-3300', message: 'The secret is invalid.' },
  unknownToken: { status: 200, code: 'REST-3300', message: 'The token does not exist.' },
  badLogin: { status: 200, code: 'REST-3300', message: 'Authentication failed.' },
  tooManyLogins: {
    status: 200,
    code: 'REST-3300',
    message: 'Too many failed logins. Please re-login after {seconds} seconds.',
  },
  missingInput: {
    status: 200,
    code: 'REST-3300',
    message: 'Either a secret or a graph with user name and password is required.',
  },
  missingToken: { status: 200, code: 'REST-3300', message: 'The token is required.' },
  unknownGraph: { status: 200, code: 'REST-3300', message: "Graph '{graph}' does not exist." },
  badLifetime: { status: 200, code: 'REST-3300', message: 'The lifetime is invalid.' },
  lifetimeTooLong: {
    status: 200,
    code: 'REST-3300',
    message: 'The lifetime exceeds the limit of {limit} seconds.',
  },
  badBody: { status: 200, code: 'REST-3300', message: 'The request body is not valid JSON.' },
  methodGone: { status: 405, message: 'Method {method} is not supported by /requesttoken.' },
  /** No message at all is evidenced; the rest of the answer is not. */
  authtokenBadLogin: { status: 401, message: '' },
  authtokenRestAuthOff: { status: 200, message: 'REST authentication is not enabled.' },
  expiredTokensDropped: { status: 200, message: 'Successfully dropped the expired tokens.' },
  expiredTokensUnknown: { status: 200, message: 'Failed to drop expired tokens: {names} not found.' },
} as const satisfies Record<string, AssumedText>;

/** REST endpoints of 4.x. `unknownGraph` has its words from a field report; its status is disputed (a switch). */
export const REST_4 = {
  badLogin: { status: 401, message: 'Authentication failed.' },
  badSecret: { status: 401, message: 'Authentication failed.' },
  unknownGraph: { status: 400, message: 'Graph {graph} not found' },
  badLifetime: { status: 400, message: 'The lifetime is invalid.' },
  lifetimeTooLong: { status: 400, message: 'The lifetime exceeds the limit of {limit} seconds.' },
  badBody: { status: 400, message: 'The request body is not valid JSON.' },
  methodGone: { status: 405, message: 'Method {method} is not supported by {path}.' },
  aliasTaken: { status: 400, message: 'The secret with alias {alias} already exists.' },
  valueTaken: { status: 400, message: 'The secret value already exists.' },
  badAlias: { status: 400, message: 'The alias {alias} is not a valid identifier.' },
  badValue: {
    status: 400,
    message: 'The value of a secret must be 1 to 256 printable characters without blanks and commas.',
  },
  unknownAlias: { status: 404, message: 'Failed to drop secrets: [{alias}].' },
  // pyTigerGraph 2.0 makes the missing secret only when this comes without an HTTP error.
  noSuchSecret: { status: 200, message: 'The secret with alias {alias} does not exist.' },
  noSecretsNamed: { status: 400, message: 'The field secrets is required.' },
  needSuperuser: { status: 403, message: "You don't have permission to manage the secrets of user {user}." },
  mayNotCreate: { status: 403, message: "You don't have permission to create a secret." },
  unknownUser: { status: 404, message: 'User {user} does not exist.' },
  noTokensNamed: { status: 400, message: 'The field tokens is required.' },
  badTokenToDrop: {
    status: 400,
    message: 'Failed to drop the specified JWT tokens: not a token of user {user}.',
  },
  blockListFull: {
    status: 400,
    message: 'Failed to drop the specified JWT tokens: the limit of {limit} is reached.',
  },
  checkFailed: { status: 200, message: 'The token {token} verification failed: {reason}.' },
  tooManyLogins: { status: 401, message: 'Too many failed logins. Please re-login after {seconds} seconds.' },
} as const satisfies Record<string, AssumedText>;

/** RESTPP. The codes are evidenced; so is the text of REST-10016 for a missing and for a malformed token. */
export const RESTPP = {
  unknownToken: {
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' is invalid.",
  },
  badSignature: {
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' has an invalid signature",
  },
  unknownUser: {
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' belongs to a user that does not exist",
  },
  graphGone: {
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' is for a graph that does not exist",
  },
  blocked: {
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' is in the block list",
  },
  wrongIssuer: {
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' has an unknown issuer",
  },
  expired: {
    status: 401,
    code: 'REST-10019',
    message: "Access Denied because the input token = '{token}' is expired.",
  },
  noPrivilege: {
    status: 401,
    code: 'REST-10018',
    message: "Access Denied because the input token = '{token}' has no privilege on graph '{graph}'.",
  },
  unknownGraph: { status: 404, code: 'REST-1004', message: "Graph '{graph}' is not found." },
  unknownType: {
    status: 404,
    code: 'REST-30000',
    message: "Vertex type '{type}' is not a valid vertex type for graph '{graph}'.",
  },
  badLimit: {
    status: 400,
    code: 'REST-30001',
    message: "The parameter limit = '{limit}' is not a whole number.",
  },
} as const satisfies Record<string, AssumedText>;

/** GSQL text endpoints. The marks clients look for (`already exists`, `Failed to drop secrets` …) are evidenced. */
export const GSQL = {
  secretCreated: 'The secret: {secret} has been created for user "{user}".',
  aliasTaken: 'The secret with alias {alias} already exists.',
  secretDropped: 'Successfully dropped secrets: [{alias}].',
  secretNotDropped: 'Failed to drop secrets: [{alias}].',
  noSecrets: 'There is no secret.',
  usingGlobal: 'Using the global graph.',
  unknownGraph: "Graph '{graph}' does not exist.",
  noGraphInUse: 'No graph is in use. Please run "USE GRAPH <graph>" first.',
  mayNotCreate: "Semantic Check Fails: You don't have permission to create a secret on graph '{graph}'.",
  mayNotCreateGlobal: "Semantic Check Fails: You don't have permission to create a secret.",
  syntax: 'Encountered "{token}" at line {line}, column {column}.',
  unauthorized: '{"error":true,"message":"Authentication failed."}',
  loginThrottled: 'Too many failed logins. Please re-login after {seconds} seconds.',
  unknownLoginGraph: "Graph '{graph}' does not exist.",
} as const;

/** The classes of 7.4 for `/gsql/v1/tokens/check`. Only the class names are documented. */
export const CHECK_REASONS = {
  malformed: 'the token is malformed',
  signature: 'the signature does not match',
  issuer: 'the issuer does not match',
  expired: 'the token is expired',
  user: 'the user does not exist',
  graph: 'the graph does not exist',
  blocked: 'the token has been dropped',
} as const;

export function fill(template: string, values: Readonly<Record<string, string | number>> = {}): string {
  return template.replace(/\{(\w+)\}/g, (mark, name: string) => String(values[name] ?? mark));
}
