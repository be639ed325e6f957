/** The GSQL server's REST endpoints on 4.x: tokens, login, versions, statements. */
export const TOKENS_4 = {
  // A JWT is made at /gsql/v1/tokens. Server docs 4.1 and 4.2, GSQL endpoints.
  generated4: { status: 200, message: 'Generate new JWT token successfully.', evidence: 'D' },
  // A JWT is made at /requesttoken (switch requestTokenOn4); there is no expiration. The JDBC driver 1.3.20 uses it;
  // pyTigerGraph 1.8 to 2.0 fails on an expiration that is a text.
  generatedOld4: { status: 200, message: 'Generate new token successfully.', evidence: 'C' },
  // /requesttoken with the switch requestTokenOn4 at page. Two Savanna users, 4.2.2 and 4.2.5: status 400 and a
  // Tomcat page for every form of the request.
  requestTokenPage4: {
    status: 400,
    body: 'html',
    message:
      '<!doctype html><html lang="en"><head><title>HTTP Status 400 – Bad Request</title></head><body><h1>HTTP Status 400 – Bad Request</h1></body></html>\n',
    evidence: 'F',
  },
  // No login. pyTigerGraph 2.0.5 waits for these words; the status from all clients.
  noLogin4: { status: 401, message: 'Authentication failed.', evidence: 'C' },
  // A wrong login. Four Savanna users, 4.2; the status from all clients.
  badLogin4: {
    status: 401,
    message: 'User authentication failed',
    evidence: 'F',
    variants: { old: { message: 'Authentication failed.' } },
  },
  // The secret at /gsql/v1/tokens is unknown. Four Savanna users, 4.2; the status is assumed.
  badSecret4: {
    status: 401,
    message: 'User authentication failed',
    evidence: 'F',
    variants: { old: { message: 'Authentication failed.' } },
  },
  // A user has failed to log in too often.
  tooManyLogins4: {
    status: 401,
    message: 'Too many failed logins. Please re-login after {seconds} seconds.',
  },
  // The graph at /gsql/v1/tokens is unknown. A user of 4.2.5; the status from two observers of 4.2.
  unknownGraph4: {
    status: 404,
    message: 'Graph {graph} not found',
    evidence: 'F',
    variants: {
      // pyTigerGraph 1.7.2 takes 400 for a wrong graph name (C).
      old: { status: 400 },
    },
  },
  // A JWT made for one graph is the login for something beyond it (secrets, a token for more). A GraphRAG user on
  // Savanna 4.2; which calls count as beyond the graph is assumed; the status is assumed.
  wrongScope4: {
    status: 403,
    message:
      'Access Denied: The input token belongs to graph {graph}, but it is attempting operations on {target}',
    evidence: 'F',
  },
  // The lifetime is no whole number above 0.
  lifetimeInvalid4: { status: 400, message: 'The lifetime is invalid.' },
  // The lifetime is above GSQL.MaxAuthTokenLifeTimeSec (switch maxLifetime).
  lifetimeTooLong4: { status: 400, message: 'The lifetime exceeds the limit of {limit} seconds.' },
  // The body is no JSON object.
  badBody4: { status: 400, message: 'The request body is not valid JSON.' },
  // Another method than POST and DELETE at /gsql/v1/tokens.
  methodGone4: { status: 405, message: 'Method {method} is not supported by {path}.' },
  // Tokens are put on the block list. Server docs 4.1 and 4.2, GSQL endpoints.
  tokensDropped4: { status: 200, message: 'Successfully dropped the specified JWT tokens', evidence: 'D' },
  // A deletion names no tokens.
  noTokensNamed4: { status: 400, message: 'The field tokens is required.' },
  // A deletion names something that is no token of the caller's.
  foreignToken4: {
    status: 400,
    message: 'Failed to drop the specified JWT tokens: not a token of user {user}.',
  },
  // The block list is full (switches blockListLimit, fullBlockList).
  blockListFull4: {
    status: 400,
    message: 'Failed to drop the specified JWT tokens: the limit of {limit} is reached.',
  },
  // /gsql/v1/tokens/check of a good token; the answer repeats it. Server docs 4.1 and 4.2, GSQL endpoints.
  checkPassed4: { status: 200, message: 'The token {token} verification succeed.', evidence: 'D' },
  // /gsql/v1/tokens/check of any other token.
  checkFailed4: { status: 200, message: 'The token {token} verification failed: {reason}.' },
  // GET /gsql/v1/version. Server docs 4.1 and 4.2, GSQL endpoints.
  version4: {
    status: 200,
    body: 'text',
    message:
      'GSQL version: {version}\nGSQL commit number: 0000000000000000000000000000000000000000\nGSQL commit date: 2024-10-01 00:00:00 +0000\nThis is the graphcred sandbox, an imitation.\n',
    evidence: 'D',
    variants: {
      // A user of 4.2.5, for the first line (F).
      'no-colon': {
        message:
          'GSQL version {version}\nGSQL commit number 0000000000000000000000000000000000000000\nGSQL commit date 2024-10-01 00:00:00 +0000\nThis is the graphcred sandbox, an imitation.\n',
      },
    },
  },
  // GET /gsql/v1/version without a login (switch versionLogin). Every public caller sends a login, and one of them
  // tolerates 401; the words are those of other paths.
  versionLogin4: { status: 401, message: 'Authentication failed.', evidence: 'F' },
  // POST /gsql/v1/statements?async=true.
  statementQueued4: { status: 200, message: 'Request {id} is submitted.' },
  // GET /gsql/v1/statements/{id} of a request that has ended. Server docs 4.1 and 4.2, GSQL endpoints (SUCCESS;
  // FAILED is assumed).
  statementDone4: { status: 200, message: 'Request {id} is finished with status {outcome}', evidence: 'D' },
  // GET /gsql/v1/statements/{id} of an unknown request.
  statementUnknown4: { status: 404, message: 'Request {id} is not found.' },
} as const;

/** Secrets over REST, 4.x. */
export const SECRETS_4 = {
  // Secrets are dropped. Server docs 4.1 and 4.2, GSQL endpoints.
  secretsDropped4: {
    status: 200,
    message: 'Successfully removed the secrets for user {user}.',
    evidence: 'D',
  },
  // The alias of a new secret is taken. pyTigerGraph's tests on 4.1 and 4.2 need an error here; the words are its
  // own.
  aliasTaken4: { status: 400, message: 'The secret with alias {alias} already exists.' },
  // The chosen value of a new secret is taken.
  valueTaken4: { status: 400, message: 'The secret value already exists.' },
  // The alias of a new secret is no identifier.
  badAlias4: { status: 400, message: 'The alias {alias} is not a valid identifier.' },
  // The chosen value of a new secret has blanks or commas, or is longer than 256 characters.
  badValue4: {
    status: 400,
    message: 'The value of a secret must be 1 to 256 printable characters without blanks and commas.',
  },
  // A secret to drop is unknown; nothing is dropped. pyTigerGraph's tests on 4.1 and 4.2 need an error here.
  unknownAlias4: { status: 404, message: 'Failed to drop secrets: [{alias}].' },
  // A secret to show is unknown. pyTigerGraph 2.0 makes the missing secret only when no HTTP error comes; the words
  // are assumed.
  noSuchSecret4: { status: 200, message: 'The secret with alias {alias} does not exist.', evidence: 'C' },
  // A request to drop secrets names none.
  noSecretsNamed4: { status: 400, message: 'The field secrets is required.' },
  // Somebody without superuser rights asks for another user's secrets. Server docs 4.1 and 4.2 name the right, not
  // the answer.
  needSuperuser4: { status: 403, message: "You don't have permission to manage the secrets of user {user}." },
  // A reader creates a secret (that a reader may not is an assumption). A user of 4.2.5, for another command; the
  // status is assumed.
  mayNotCreate4: {
    status: 403,
    message:
      "User '{user}' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.",
    evidence: 'F',
    variants: { old: { message: "You don't have permission to create a secret." } },
  },
  // userName names nobody.
  unknownUser4: { status: 404, message: 'User {user} does not exist.' },
} as const;
