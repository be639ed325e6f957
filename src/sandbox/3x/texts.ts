import { said, type Text } from '../say.js';

const done = (message: string) => said(200, message, { code: 'REST-0000' });
const invalid = (message: string, more: Partial<Text> = {}) =>
  said(200, message, { code: 'REST-1101', ...more });

/** The token endpoints of 3.x. Recorded: an integration test suite of 2022, at a 3.x GSQL server. */
export const V3 = {
  // A token is made, 3.5 to 3.11. Server docs 3.5 to 3.11, built-in endpoints.
  generated: done(
    'Generate new token successfully.\nWarning: Tigergraph Support cannot restore access to secrets/tokens for security reasons. Please save your secret/token and keep it safe and accessible.',
  ),
  // A token is made, 3.0 to 3.4. Server docs 3.2 and 3.4, built-in endpoints.
  generatedOld: done('Generate new token successfully.'),
  // A token is refreshed. Server docs 3.5 to 3.11, built-in endpoints.
  refreshed: done('Refresh token successfully.'),
  // A token is deleted. Server docs 3.5 to 3.11, built-in endpoints.
  dropped: done('Drop token successfully.'),
  // The secret is unknown (POST, PUT and DELETE); the answer repeats it. Recorded.
  badSecret: invalid("The secret '{secret}' is invalid. Please enter a valid one."),
  // No secret and no login is sent (recorded); the nearest text known for a wrong user name or password.
  badLogin: invalid('The username or password is incorrect. Please enter a valid one.'),
  // Too many failed logins, 3.8 and later. The Java GSQL client tests for "Please re-login after" at its login.
  tooManyLogins: invalid('Too many failed logins. Please re-login after {seconds} seconds.'),
  // The token to refresh or delete is unknown. Recorded. Every pyTigerGraph, the .NET and the JavaScript client test
  // for the code REST-3300 instead.
  unknownToken: said(200, "The token '{token}' is invalid, please provide a valid one."),
  // The token to refresh is somebody else's and the caller is no superuser. Recorded.
  refreshDenied: said(200, 'Refresh token failed, Permission denied.'),
  // The token to delete is somebody else's and the caller is no superuser. Recorded.
  dropDenied: said(200, 'Drop token failed, Permission denied.'),
  // The lifetime is not a number. Recorded.
  lifetimeNotNumber: invalid('Invalid parameters, lifetime is not a number.', { fields: { token: '' } }),
  // The lifetime is above GSQL.MaxAuthTokenLifeTimeSec (switch maxLifetime). Recorded.
  lifetimeTooLong: said(
    200,
    "The duration '{lifetime}' exceeds the maximum limit '{limit}'. Please enter a valid one.",
    { code: 'REST-3101', fields: { token: '' } },
  ),
  // The lifetime is 0, negative or beyond any date.
  lifetimeNotPositive: invalid('The lifetime is invalid.'),
  missingGraph: invalid('Either a secret or a graph with user name and password is required.'),
  missingToken: invalid('The token is required.'),
  unknownGraph: invalid("Graph '{graph}' does not exist."),
  badBody: invalid('The request body is not valid JSON.'),
  // GET /requesttoken on 3.5 and later, or another method. The release notes of 3.6 say only that GET is gone.
  methodGone: said(405, 'Method {method} is not supported by /requesttoken.'),
  // Wrong password at /gsqlserver/gsql/authtoken. A comment of the JDBC driver: no error message comes.
  authtokenBadLogin: said(401, '', { fields: { results: {} } }),
  // Unknown graph at /gsqlserver/gsql/authtoken.
  authtokenUnknownGraph: said(200, "Graph '{graph}' does not exist."),
  // /gsqlserver/gsql/authtoken while REST authentication is off.
  authtokenRestAuthOff: said(200, 'REST authentication is not enabled.'),
} satisfies Record<string, Text>;
