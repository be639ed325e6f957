import { SOURCE, type Text } from '../text.js';

const BAD_TOKEN = {
  status: 403,
  statusAssumed: true,
  code: 'REST-10016',
  evidence: 'A',
  source: 'server docs 3.10 to 4.2 name the class of refusal, not its words',
} as const;

/** The texts of RESTPP, of /api/ping, and of the proxy in front of the servers. */
export const RESTPP = {
  noEndpoint: {
    when: 'an unknown path; /requesttoken while REST authentication is off',
    status: 404,
    statusAssumed: true,
    code: 'REST-1000',
    message:
      'Endpoint is not found from url = {path}, please use GET /endpoints to list all valid endpoints.',
    evidence: 'C',
    source:
      'all pyTigerGraph versions and the JDBC driver; the end of the sentence from a terminal log of 4.1.4',
  },
  noEndpoint4: {
    when: '/gsql/v1/tokens while REST authentication is off (switch restAuthOffOn4)',
    status: 404,
    statusAssumed: true,
    code: 'REST-1000',
    message:
      'Endpoint is not found from url = {path}, please use GET /endpoints to list all valid endpoints.',
    evidence: 'A',
    source: 'what 3.x says at /requesttoken; no 4.x server is known to refuse',
  },
  missingToken: {
    when: 'no token, or less than 12 characters, 3.8 and later',
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' is empty or too short",
    evidence: 'F',
    source: 'a pyTigerGraph issue of 2022; a Savanna user saw 403, others 401',
  },
  missingTokenOld: {
    when: 'no token, or less than 12 characters, before 3.8',
    status: 403,
    statusAssumed: true,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' is invalid.",
    evidence: 'F',
    source: 'a pyTigerGraph issue of 2020',
  },
  malformedToken: {
    when: 'the token is no JWT, 4.x; a JWT, before 3.10',
    status: 403,
    statusAssumed: true,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' is not in correct format",
    evidence: 'F',
    source: 'users of 4.2',
  },
  unknownToken: {
    ...BAD_TOKEN,
    when: 'the token is unknown, 3.x',
    message: "Access Denied because the input token = '{token}' is invalid.",
    source: 'the words of 2020 for an empty token',
  },
  unknownGsqlSecret: {
    ...BAD_TOKEN,
    when: 'the secret of an Authorization: GSQL-Secret header is unknown',
    message: "Access Denied because the input secret = '{token}' cannot be found",
    evidence: 'F',
    source: 'a Savanna user, for "cannot be found"; the rest is assumed',
    variants: {
      old: {
        code: 'REST-10016',
        message: "Access Denied because the input token = '{token}' is invalid.",
        evidence: 'A',
        source: SOURCE.before,
      },
    },
  },
  badSignature: {
    ...BAD_TOKEN,
    when: 'the JWT was signed elsewhere',
    message: "Access Denied because the input token = '{token}' has an invalid signature",
  },
  tokenUserGone: {
    ...BAD_TOKEN,
    when: "the JWT's user is gone",
    message: "Access Denied because the input token = '{token}' belongs to a user that does not exist",
  },
  tokenGraphGone: {
    ...BAD_TOKEN,
    when: "the JWT's graph is gone",
    message: "Access Denied because the input token = '{token}' is for a graph that does not exist",
  },
  blockedToken: {
    ...BAD_TOKEN,
    when: 'the JWT has been deleted',
    message: "Access Denied because the input token = '{token}' is in the block list",
  },
  wrongIssuer: {
    ...BAD_TOKEN,
    when: 'the JWT has another issuer',
    message: "Access Denied because the input token = '{token}' has an unknown issuer",
  },
  wrongAudience: {
    ...BAD_TOKEN,
    when: 'the JWT is for another audience',
    message:
      "Access Denied because the input token = '{token}' contains audience [{audience}], which doesn't include the configured one {own}",
    evidence: 'D',
    source: 'the page on JWTs, 3.10 to 4.1',
  },
  expiredToken: {
    when: 'the token has expired',
    status: 401,
    code: 'REST-10019',
    message: "Access Denied because the input token = '{token}' is expired.",
    evidence: 'C',
    source: 'the code from the Spark connector, which meets it with 401 or 403; the words are assumed',
  },
  noPrivilege: {
    when: 'the token is for another graph',
    status: 401,
    code: 'REST-10018',
    message: "Access Denied because the input token = '{token}' has no privilege on graph '{graph}'.",
    evidence: 'F',
    source: 'the code and the status from a GRAFLO issue on 4.2.1; the words are assumed',
    variants: {
      'belongs-to': {
        code: 'REST-10018',
        message:
          'Access Denied: The input token belongs to graph {own}, but it is attempting operations on {graph}',
        evidence: 'A',
        source: 'the words of the GSQL server, reported from Savanna 4.2',
      },
    },
  },
  unknownGraph: {
    when: 'the graph is unknown',
    status: 404,
    statusAssumed: true,
    code: 'REST-1004',
    message: "Graph '{graph}' is not found.",
    evidence: 'D',
    source: 'the code from the return code page; the words are assumed',
  },
  unknownType: {
    when: 'the vertex type is unknown',
    status: 404,
    code: 'REST-30000',
    message: "Vertex type '{type}' is not a valid vertex type for graph '{graph}'.",
    evidence: 'A',
    source: SOURCE.nothing,
  },
  badLimit: {
    when: 'limit is no whole number',
    status: 400,
    code: 'REST-30001',
    message: "The parameter limit = '{limit}' is not a whole number.",
    evidence: 'A',
    source: SOURCE.nothing,
  },
  echo: {
    when: '/echo and /echo/{graph}',
    status: 200,
    message: 'Hello GSQL',
    evidence: 'D',
    source: SOURCE.docs35,
  },
  version: {
    when: '/version and /version/{graph}; the line breaks are sent as they are',
    status: 200,
    body: 'json',
    message: '{"error":"false", "message":"{lines}"}',
    evidence: 'D',
    source: "server docs, and the Spark connector's capture of 3.9.3; before 3.9 the third line is empty (A)",
    variants: {
      strict: {
        body: 'json',
        message: '{"error":false,"message":"{escapedLines}"}',
        evidence: 'C',
        source: 'tigergraphx parses the answer as strict JSON',
      },
    },
  },
  ping: {
    when: 'GET /api/ping',
    status: 200,
    body: 'json',
    message: '{"error":"false","message":"pong","results":{}}',
    evidence: 'D',
    source: 'server docs: "false" is a text',
    variants: {
      boolean: {
        body: 'json',
        message: '{"error":false,"message":"pong","results":{}}',
        evidence: 'C',
        source: 'tigergraphx wants a boolean',
      },
    },
  },
  sleeping: {
    when: 'a cloud workspace is waking up (fault sleeping)',
    status: 502,
    body: 'html',
    message: '<html><head><title>Starting workspace</title></head><body>Starting workspace</body></html>\n',
    evidence: 'F',
    source: 'a Savanna diary: 15 to 20 seconds of it',
  },
  starting: {
    when: 'a cloud workspace is waking up (fault starting)',
    status: 202,
    body: 'json',
    message: '{"error":"false","message":"The workspace is starting","results":{}}',
    evidence: 'F',
    source: 'a Savanna client, for 202 and "is starting"',
  },
  suspended: {
    when: 'a cloud workspace is suspended and nobody but its console can start it (fault suspended)',
    status: 500,
    body: 'html',
    message:
      '<html><head><title>Failed to start workspace</title></head><body>Failed to start workspace. Auto start is not enabled for this workspace</body></html>\n',
    evidence: 'F',
    source: 'six Savanna users, on every path',
  },
  noSuchPage: {
    when: '/gsql/v1/… on 3.x, /gsqlserver/… and /gsql/v1/auth/token on 4.x',
    status: 404,
    body: 'html',
    message:
      '<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
    evidence: 'C',
    source: 'pyTigerGraph falls back to the other path on 404 only; the page is that of nginx',
  },
} as const satisfies Record<string, Text>;
