import { SOURCE, type Text } from '../text.js';

const NOTHING = { evidence: 'A', source: SOURCE.nothing } as const;
const FORMER = { evidence: 'A', source: SOURCE.before } as const;

/** The GSQL server's REST endpoints on 4.x: tokens, login, versions, statements. */
export const TOKENS_4 = {
  generated4: {
    when: 'a JWT is made at /gsql/v1/tokens',
    status: 200,
    message: 'Generate new JWT token successfully.',
    evidence: 'D',
    source: SOURCE.docs4,
  },
  generatedOld4: {
    when: 'a JWT is made at /requesttoken (switch requestTokenOn4); there is no expiration',
    status: 200,
    message: 'Generate new token successfully.',
    evidence: 'C',
    source: 'the JDBC driver 1.3.20 uses it; pyTigerGraph 1.8 to 2.0 fails on an expiration that is a text',
  },
  requestTokenPage4: {
    when: '/requesttoken with the switch requestTokenOn4 at page',
    status: 400,
    body: 'html',
    message:
      '<!doctype html><html lang="en"><head><title>HTTP Status 400 – Bad Request</title></head><body><h1>HTTP Status 400 – Bad Request</h1></body></html>\n',
    evidence: 'F',
    source: 'two Savanna users, 4.2.2 and 4.2.5: status 400 and a Tomcat page for every form of the request',
  },
  noLogin4: {
    when: 'no login',
    status: 401,
    message: 'Authentication failed.',
    evidence: 'C',
    source: 'pyTigerGraph 2.0.5 waits for these words; the status from all clients',
    variants: {
      wrong: {
        message: 'User authentication failed',
        evidence: 'F',
        source: 'four Savanna users, 4.2, who do not say which of the two cases it was',
      },
    },
  },
  badLogin4: {
    when: 'a wrong login',
    status: 401,
    message: 'User authentication failed',
    evidence: 'F',
    source: 'four Savanna users, 4.2; the status from all clients',
    variants: { old: { ...FORMER, message: 'Authentication failed.' } },
  },
  badSecret4: {
    when: 'the secret at /gsql/v1/tokens is unknown',
    status: 401,
    statusAssumed: true,
    message: 'User authentication failed',
    evidence: 'F',
    source: 'four Savanna users, 4.2',
    variants: { old: { ...FORMER, message: 'Authentication failed.' } },
  },
  tooManyLogins4: {
    ...NOTHING,
    when: 'a user has failed to log in too often',
    status: 401,
    message: 'Too many failed logins. Please re-login after {seconds} seconds.',
  },
  unknownGraph4: {
    when: 'the graph at /gsql/v1/tokens is unknown',
    status: 404,
    message: 'Graph {graph} not found',
    evidence: 'F',
    source: 'a user of 4.2.5; the status from two observers of 4.2',
    variants: {
      old: {
        status: 400,
        message: 'Graph {graph} not found',
        evidence: 'C',
        source: 'pyTigerGraph 1.7.2 takes 400 for a wrong graph name',
      },
    },
  },
  wrongScope4: {
    when: 'a JWT made for one graph is the login for something beyond it (secrets, a token for more)',
    status: 403,
    statusAssumed: true,
    message:
      'Access Denied: The input token belongs to graph {graph}, but it is attempting operations on {target}',
    evidence: 'F',
    source: 'a GraphRAG user on Savanna 4.2; which calls count as beyond the graph is assumed',
  },
  lifetimeInvalid4: {
    ...NOTHING,
    when: 'the lifetime is no whole number above 0',
    status: 400,
    message: 'The lifetime is invalid.',
  },
  lifetimeTooLong4: {
    ...NOTHING,
    when: 'the lifetime is above GSQL.MaxAuthTokenLifeTimeSec (switch maxLifetime)',
    status: 400,
    message: 'The lifetime exceeds the limit of {limit} seconds.',
  },
  badBody4: {
    ...NOTHING,
    when: 'the body is no JSON object',
    status: 400,
    message: 'The request body is not valid JSON.',
  },
  methodGone4: {
    ...NOTHING,
    when: 'another method than POST and DELETE at /gsql/v1/tokens',
    status: 405,
    message: 'Method {method} is not supported by {path}.',
  },
  tokensDropped4: {
    when: 'tokens are put on the block list',
    status: 200,
    message: 'Successfully dropped the specified JWT tokens',
    evidence: 'D',
    source: SOURCE.docs4,
  },
  noTokensNamed4: {
    ...NOTHING,
    when: 'a deletion names no tokens',
    status: 400,
    message: 'The field tokens is required.',
  },
  foreignToken4: {
    ...NOTHING,
    when: "a deletion names something that is no token of the caller's",
    status: 400,
    message: 'Failed to drop the specified JWT tokens: not a token of user {user}.',
  },
  blockListFull4: {
    ...NOTHING,
    when: 'the block list is full (switches blockListLimit, fullBlockList)',
    status: 400,
    message: 'Failed to drop the specified JWT tokens: the limit of {limit} is reached.',
  },
  checkPassed4: {
    when: '/gsql/v1/tokens/check of a good token; the answer repeats it',
    status: 200,
    message: 'The token {token} verification succeed.',
    evidence: 'D',
    source: SOURCE.docs4,
  },
  checkFailed4: {
    ...NOTHING,
    when: '/gsql/v1/tokens/check of any other token',
    status: 200,
    message: 'The token {token} verification failed: {reason}.',
  },
  version4: {
    when: 'GET /gsql/v1/version',
    status: 200,
    body: 'text',
    message:
      'GSQL version: {version}\nGSQL commit number: 0000000000000000000000000000000000000000\nGSQL commit date: 2024-10-01 00:00:00 +0000\nThis is the graphcred sandbox, an imitation.\n',
    evidence: 'D',
    source: SOURCE.docs4,
    variants: {
      'no-colon': {
        body: 'text',
        message:
          'GSQL version {version}\nGSQL commit number 0000000000000000000000000000000000000000\nGSQL commit date 2024-10-01 00:00:00 +0000\nThis is the graphcred sandbox, an imitation.\n',
        evidence: 'F',
        source: 'a user of 4.2.5, for the first line',
      },
    },
  },
  versionLogin4: {
    when: 'GET /gsql/v1/version without a login (switch versionLogin)',
    status: 401,
    message: 'Authentication failed.',
    evidence: 'F',
    source:
      'every public caller sends a login, and one of them tolerates 401; the words are those of other paths',
  },
  statementQueued4: {
    ...NOTHING,
    when: 'POST /gsql/v1/statements?async=true',
    status: 200,
    message: 'Request {id} is submitted.',
  },
  statementDone4: {
    when: 'GET /gsql/v1/statements/{id} of a request that has ended',
    status: 200,
    message: 'Request {id} is finished with status {outcome}',
    evidence: 'D',
    source: `${SOURCE.docs4} (SUCCESS; FAILED is assumed)`,
  },
  statementUnknown4: {
    ...NOTHING,
    when: 'GET /gsql/v1/statements/{id} of an unknown request',
    status: 404,
    message: 'Request {id} is not found.',
  },
} as const satisfies Record<string, Text>;
