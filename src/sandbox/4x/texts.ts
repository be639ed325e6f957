import { GSQL } from '../gsql/texts.js';
import { said, type Text } from '../say.js';

const VERSION =
  'GSQL version: {version}\nGSQL commit number: 0000000000000000000000000000000000000000\nGSQL commit date: 2024-10-01 00:00:00 +0000\nThis is the graphcred sandbox, an imitation.\n';

/** The GSQL server's REST endpoints on 4.x: tokens, login, versions, statements; then secrets. */
export const V4 = {
  // A JWT is made at /gsql/v1/tokens. Server docs 4.1 and 4.2, GSQL endpoints.
  generated: said(200, 'Generate new JWT token successfully.'),
  // A JWT is made at /requesttoken; there is no expiration. The JDBC driver 1.3.20 uses it; pyTigerGraph 1.8 to 2.0
  // fails on an expiration that is a text.
  generatedOld: said(200, 'Generate new token successfully.'),
  // No login. pyTigerGraph 2.0.5 waits for these words; the status from all clients.
  noLogin: said(401, 'Authentication failed.'),
  // A wrong login, or an unknown secret at /gsql/v1/tokens. Four Savanna users, 4.2; the status from all clients, but
  // of a secret assumed.
  badLogin: said(401, 'User authentication failed'),
  tooManyLogins: said(401, 'Too many failed logins. Please re-login after {seconds} seconds.'),
  // The graph at /gsql/v1/tokens is unknown. A user of 4.2.5; the status from two observers of 4.2. pyTigerGraph 1.7.2
  // takes 400 for a wrong graph name.
  unknownGraph: said(404, 'Graph {graph} not found'),
  // A JWT made for one graph is the login for something beyond it (secrets, a token for more). A GraphRAG user on
  // Savanna 4.2; which calls count as beyond the graph is assumed.
  wrongScope: said(
    403,
    'Access Denied: The input token belongs to graph {graph}, but it is attempting operations on {target}',
  ),
  // The lifetime is no whole number above 0.
  lifetimeInvalid: said(400, 'The lifetime is invalid.'),
  badBody: said(400, 'The request body is not valid JSON.'),
  // Another method than POST and DELETE at /gsql/v1/tokens.
  methodGone: said(405, 'Method {method} is not supported by {path}.'),
  // Tokens are put on the block list. Server docs 4.1 and 4.2, GSQL endpoints.
  tokensDropped: said(200, 'Successfully dropped the specified JWT tokens'),
  noTokensNamed: said(400, 'The field tokens is required.'),
  // A deletion names something that is no token of the caller's.
  foreignToken: said(400, 'Failed to drop the specified JWT tokens: not a token of user {user}.'),
  // The block list is full (switches blockListLimit, fullBlockList).
  blockListFull: said(400, 'Failed to drop the specified JWT tokens: the limit of {limit} is reached.'),
  // The sandbox's own, for what does harm on a real server.
  clearBlockList: said(
    403,
    'The sandbox never clears a block list: on a real server that brings dropped tokens back to life.',
  ),
  dropAll: said(
    403,
    'The sandbox never drops everything. On a real server this call wipes the whole database.',
  ),
  // /gsql/v1/tokens/check of a good token; the answer repeats it. Server docs 4.1 and 4.2, GSQL endpoints.
  checkPassed: said(200, 'The token {token} verification succeed.'),
  // /gsql/v1/tokens/check of any other token.
  checkFailed: said(200, 'The token {token} verification failed: {reason}.'),
  // GET /gsql/v1/version. Server docs 4.1 and 4.2, GSQL endpoints.
  version: said(200, VERSION, { body: 'text' }),

  // Secrets are dropped. Server docs 4.1 and 4.2, GSQL endpoints.
  secretsDropped: said(200, 'Successfully removed the secrets for user {user}.'),
  // The alias of a new secret is taken. pyTigerGraph's tests on 4.1 and 4.2 need an error here; the words are its own.
  aliasTaken: said(400, 'The secret with alias {alias} already exists.'),
  valueTaken: said(400, 'The secret value already exists.'),
  badAlias: said(400, 'The alias {alias} is not a valid identifier.'),
  // The chosen value of a new secret has blanks or commas, or is longer than 256 characters.
  badValue: said(
    400,
    'The value of a secret must be 1 to 256 printable characters without blanks and commas.',
  ),
  // A secret to drop is unknown; nothing is dropped. pyTigerGraph's tests on 4.1 and 4.2 need an error here.
  unknownAlias: said(404, 'Failed to drop secrets: [{alias}].'),
  // A secret to show is unknown. pyTigerGraph 2.0 makes the missing secret only when no HTTP error comes.
  noSuchSecret: said(200, 'The secret with alias {alias} does not exist.'),
  noSecretsNamed: said(400, 'The field secrets is required.'),
  // A user without superuser rights asks for others' secrets. Server docs 4.1 and 4.2 name the right, not the answer.
  needSuperuser: said(403, "You don't have permission to manage the secrets of user {user}."),
  // A reader creates a secret (that a reader may not is an assumption). A user of 4.2.5, for another command.
  mayNotCreate: said(403, GSQL.mayNotCreateGlobal.message),
  // userName names nobody.
  unknownUser: said(404, 'User {user} does not exist.'),
} satisfies Record<string, Text>;
