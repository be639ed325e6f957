// Server docs 3.10 to 4.2 name the class of refusal, not its words.
const BAD_TOKEN = { status: 403, code: 'REST-10016' } as const;

/** The texts of RESTPP, of /api/ping, and of the proxy in front of the servers. */
export const RESTPP = {
  // An unknown path; /requesttoken while REST authentication is off. All pyTigerGraph versions and the JDBC driver;
  // the end of the sentence from a terminal log of 4.1.4; the status is assumed.
  noEndpoint: {
    status: 404,
    code: 'REST-1000',
    message:
      'Endpoint is not found from url = {path}, please use GET /endpoints to list all valid endpoints.',
    evidence: 'C',
  },
  // /gsql/v1/tokens while REST authentication is off (switch restAuthOffOn4). What 3.x says at /requesttoken; no 4.x
  // server is known to refuse.
  noEndpoint4: {
    status: 404,
    code: 'REST-1000',
    message:
      'Endpoint is not found from url = {path}, please use GET /endpoints to list all valid endpoints.',
  },
  // No token, or less than 12 characters, 3.8 and later. A pyTigerGraph issue of 2022; a Savanna user saw 403, others
  // 401.
  missingToken: {
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' is empty or too short",
    evidence: 'F',
  },
  // No token, or less than 12 characters, before 3.8. A pyTigerGraph issue of 2020; the status is assumed.
  missingTokenOld: {
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' is invalid.",
    evidence: 'F',
  },
  // The token is no JWT, 4.x; a JWT, before 3.10. Users of 4.2; the status is assumed.
  malformedToken: {
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input token = '{token}' is not in correct format",
    evidence: 'F',
  },
  // The token is unknown, 3.x. The words of 2020 for an empty token.
  unknownToken: { ...BAD_TOKEN, message: "Access Denied because the input token = '{token}' is invalid." },
  // The secret of an Authorization: GSQL-Secret header is unknown. A Savanna user, for "cannot be found"; the rest is
  // assumed; the status is assumed.
  unknownGsqlSecret: {
    status: 403,
    code: 'REST-10016',
    message: "Access Denied because the input secret = '{token}' cannot be found",
    evidence: 'F',
    variants: { old: { message: "Access Denied because the input token = '{token}' is invalid." } },
  },
  // The JWT was signed elsewhere.
  badSignature: {
    ...BAD_TOKEN,
    message: "Access Denied because the input token = '{token}' has an invalid signature",
  },
  // The JWT's user is gone.
  tokenUserGone: {
    ...BAD_TOKEN,
    message: "Access Denied because the input token = '{token}' belongs to a user that does not exist",
  },
  // The JWT's graph is gone.
  tokenGraphGone: {
    ...BAD_TOKEN,
    message: "Access Denied because the input token = '{token}' is for a graph that does not exist",
  },
  // The JWT's user may not use its graph (switch closedGraph).
  tokenGraphClosed: {
    ...BAD_TOKEN,
    message: "Access Denied because the input token = '{token}' is for a graph that is not accessible",
  },
  // The JWT has been deleted.
  blockedToken: {
    ...BAD_TOKEN,
    message: "Access Denied because the input token = '{token}' is in the block list",
  },
  // The JWT has another issuer.
  wrongIssuer: {
    ...BAD_TOKEN,
    message: "Access Denied because the input token = '{token}' has an unknown issuer",
  },
  // The JWT is for another audience. The page on JWTs, 3.10 to 4.1; the status is assumed.
  wrongAudience: {
    status: 403,
    code: 'REST-10016',
    message:
      "Access Denied because the input token = '{token}' contains audience [{audience}], which doesn't include the configured one {own}",
    evidence: 'D',
  },
  // The token has expired. The code from the Spark connector, which meets it with 401 or 403; the words are assumed.
  expiredToken: {
    status: 401,
    code: 'REST-10019',
    message: "Access Denied because the input token = '{token}' is expired.",
    evidence: 'C',
  },
  // The token is for another graph. The code and the status from a GRAFLO issue on 4.2.1; the words are assumed.
  noPrivilege: {
    status: 401,
    code: 'REST-10018',
    message: "Access Denied because the input token = '{token}' has no privilege on graph '{graph}'.",
    evidence: 'F',
    variants: {
      // The words of the GSQL server, reported from Savanna 4.2 (A).
      'belongs-to': {
        message:
          'Access Denied: The input token belongs to graph {own}, but it is attempting operations on {graph}',
      },
    },
  },
  // The graph is unknown. The code from the return code page; the words are assumed; the status is assumed.
  unknownGraph: { status: 404, code: 'REST-1004', message: "Graph '{graph}' is not found.", evidence: 'D' },
  // The vertex type is unknown.
  unknownType: {
    status: 404,
    code: 'REST-30000',
    message: "Vertex type '{type}' is not a valid vertex type for graph '{graph}'.",
  },
  // limit is no whole number.
  badLimit: {
    status: 400,
    code: 'REST-30001',
    message: "The parameter limit = '{limit}' is not a whole number.",
  },
  // /echo and /echo/{graph}. Server docs 3.5 to 3.11, built-in endpoints.
  echo: { status: 200, message: 'Hello GSQL', evidence: 'D' },
  // /version and /version/{graph}; the line breaks are sent as they are. Server docs, and the Spark connector's
  // capture of 3.9.3; before 3.9 the third line is empty (A).
  version: {
    status: 200,
    body: 'json',
    message: '{"error":"false", "message":"{lines}"}',
    evidence: 'D',
    variants: {
      // tigergraphx parses the answer as strict JSON (C).
      strict: { message: '{"error":false,"message":"{escapedLines}"}' },
    },
  },
  // GET /api/ping. Server docs: "false" is a text.
  ping: {
    status: 200,
    body: 'json',
    message: '{"error":"false","message":"pong","results":{}}',
    evidence: 'D',
    variants: {
      // tigergraphx wants a boolean (C).
      boolean: { message: '{"error":false,"message":"pong","results":{}}' },
    },
  },
  // A cloud workspace is waking up (fault sleeping). A Savanna diary: 15 to 20 seconds of it.
  sleeping: {
    status: 502,
    body: 'html',
    message: '<html><head><title>Starting workspace</title></head><body>Starting workspace</body></html>\n',
    evidence: 'F',
  },
  // A cloud workspace is waking up (fault starting). A Savanna client, for 202 and "is starting".
  starting: {
    status: 202,
    body: 'json',
    message: '{"error":"false","message":"The workspace is starting","results":{}}',
    evidence: 'F',
  },
  // A cloud workspace is suspended and nobody but its console can start it (fault suspended). Six Savanna users, on
  // every path.
  suspended: {
    status: 500,
    body: 'html',
    message:
      '<html><head><title>Failed to start workspace</title></head><body>Failed to start workspace. Auto start is not enabled for this workspace</body></html>\n',
    evidence: 'F',
  },
  // /gsql/v1/… on 3.x, /gsqlserver/… and /gsql/v1/auth/token on 4.x. pyTigerGraph falls back to the other path on 404
  // only; the page is that of nginx.
  noSuchPage: {
    status: 404,
    body: 'html',
    message:
      '<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
    evidence: 'C',
  },
} as const;
