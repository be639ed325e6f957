import { said, type Text } from '../say.js';

const rest = (status: number, code: string, message: string) =>
  said(status, message, { code, ofRestpp: true });

const HTML = { body: 'html' } as const;

const TOKEN = "Access Denied because the input token = '{token}'";

/** A refusal of a token. Server docs 3.10 to 4.2 name the class of refusal, not its words. */
const denied = (why: string) => rest(403, 'REST-10016', `${TOKEN} ${why}`);

/** A web page in place of the cloud's workspace. */
const page = (status: number, title: string, more = '') =>
  said(status, `<html><head><title>${title}</title></head><body>${title}${more}</body></html>\n`, HTML);

/** The texts of RESTPP, of /api/ping, and of the proxy in front of the servers. */
export const RESTPP = {
  // An unknown path; /requesttoken while REST authentication is off. All pyTigerGraph versions and the JDBC driver; the
  // end of the sentence from a terminal log of 4.1.4. Also /gsql/v1/tokens while it is off (switch restAuthOffOn4),
  // where no 4.x server is known to refuse.
  noEndpoint: rest(
    404,
    'REST-1000',
    'Endpoint is not found from url = {path}, please use GET /endpoints to list all valid endpoints.',
  ),
  // No token or under 12 characters, 3.8 and later. A pyTigerGraph issue of 2022; a Savanna user saw 403, others 401.
  missingToken: denied('is empty or too short'),
  // The token is no JWT, 4.x; a JWT, before 3.10. Users of 4.2.
  malformedToken: denied('is not in correct format'),
  // The token is unknown, 3.x; no token, or less than 12 characters, before 3.8. A pyTigerGraph issue of 2020, for an
  // empty token.
  unknownToken: denied('is invalid.'),
  // The secret of an Authorization: GSQL-Secret header is unknown. A Savanna user, for "cannot be found".
  unknownGsqlSecret: rest(
    403,
    'REST-10016',
    "Access Denied because the input secret = '{token}' cannot be found",
  ),
  // The token has expired. The code from the Spark connector, which meets it with 401 or 403.
  expiredToken: rest(401, 'REST-10019', `${TOKEN} is expired.`),
  // The token is for another graph. The code and the status from a GRAFLO issue on 4.2.1.
  noPrivilege: rest(401, 'REST-10018', `${TOKEN} has no privilege on graph '{graph}'.`),
  // The graph is unknown. The code from the return code page.
  unknownGraph: rest(404, 'REST-1004', "Graph '{graph}' is not found."),
  unknownType: rest(
    404,
    'REST-30000',
    "Vertex type '{type}' is not a valid vertex type for graph '{graph}'.",
  ),
  badLimit: rest(400, 'REST-30001', "The parameter limit = '{limit}' is not a whole number."),
  // /echo and /echo/{graph}. Server docs 3.5 to 3.11, built-in endpoints.
  echo: said(200, 'Hello GSQL'),
  // /version and /version/{graph}; the line breaks are sent as they are. Server docs, and the Spark connector's capture
  // of 3.9.3; before 3.9 the third line is empty (assumed).
  version: said(200, '{"error":"false", "message":"{lines}"}', { body: 'json' }),
  // GET /api/ping. Server docs: "false" is a text.
  ping: said(200, '{"error":"false","message":"pong","results":{}}', { body: 'json' }),
  // A cloud workspace is waking up (fault sleeping). A Savanna diary: 15 to 20 seconds of it.
  sleeping: page(502, 'Starting workspace'),
  // A cloud workspace is waking up (fault starting). A Savanna client, for 202 and "is starting".
  starting: said(202, '{"error":"false","message":"The workspace is starting","results":{}}', {
    body: 'json',
  }),
  // A suspended cloud workspace, which only its console can start (fault suspended). Six Savanna users, every path.
  suspended: page(500, 'Failed to start workspace', '. Auto start is not enabled for this workspace'),
  // /gsql/v1/… on 3.x, /gsqlserver/… and /gsql/v1/auth/token on 4.x. pyTigerGraph falls back to the other path on 404
  // only; the page is that of nginx.
  noSuchPage: said(
    404,
    '<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
    HTML,
  ),
} satisfies Record<string, Text>;

/**
 * Why a JWT is refused: what RESTPP answers, and the class that `/gsql/v1/tokens/check` tells. Only the names of the
 * classes are documented, and the words on the audience (the page on JWTs, 3.10 to 4.1; the status is assumed).
 */
export const JWT_PROBLEMS = {
  malformed: [RESTPP.malformedToken, 'the token is malformed'],
  signature: [denied('has an invalid signature'), 'the signature does not match'],
  issuer: [denied('has an unknown issuer'), 'the issuer does not match'],
  audience: [
    denied("contains audience [{audience}], which doesn't include the configured one {own}"),
    'the audience does not match',
  ],
  expired: [RESTPP.expiredToken, 'the token is expired'],
  user: [denied('belongs to a user that does not exist'), 'the user does not exist'],
  graph: [denied('is for a graph that does not exist'), 'the graph does not exist'],
  access: [denied('is for a graph that is not accessible'), 'the graph is not accessible'],
  blocked: [denied('is in the block list'), 'the token has been dropped'],
} as const satisfies Record<string, readonly [Text, string]>;
