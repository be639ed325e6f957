/**
 * How well an answer is known: recorded from a real server, documented by its makers, tested for by a client that
 * works with real servers, reported by users, or assumed.
 */
export type Evidence = 'recorded' | 'documented' | 'client' | 'reported' | 'assumed';

/** What a request was for. */
export type Operation =
  | 'list-secrets'
  | 'create-secret'
  | 'drop-secret'
  | 'mint'
  | 'refresh'
  | 'delete'
  | 'check';

/** What a refusal means, whatever code, status and words it came with. */
export type Meaning =
  | 'rest-auth-off'
  | 'throttled'
  | 'client-certificate'
  | 'licence-expired'
  | 'bad-login'
  | 'password-login-off'
  | 'bad-secret'
  | 'token-missing'
  | 'token-malformed'
  | 'token-refused'
  | 'token-expired'
  | 'jwt-user'
  | 'jwt-graph'
  | 'jwt-graph-denied'
  | 'jwt-issuer'
  | 'jwt-audience'
  | 'jwt-signature'
  | 'token-without-privilege'
  | 'token-of-other-graph'
  | 'unknown-token'
  | 'no-permission'
  | 'no-such-graph'
  | 'no-such-user'
  | 'no-graph-in-use'
  | 'alias-taken'
  | 'secrets-not-dropped'
  | 'lifetime-not-a-number'
  | 'lifetime-over-limit'
  | 'syntax-error';

/** A row of the table. It applies when everything given in it fits the answer. */
export interface Row {
  readonly means: Meaning;
  readonly evidence: Evidence;
  /** An example of an answer that the row applies to. */
  readonly example: string;
  /** The server's own code. */
  readonly code?: string;
  /** The return code at the end of a GSQL answer. */
  readonly returnCode?: number;
  readonly status?: number;
  readonly on?: readonly Operation[];
  /** Set when the row applies only to requests that logged in this way. */
  readonly login?: 'GSQL-Secret';
  /** Matches a whole sentence; `.*` stands for the names that users chose. */
  readonly sentence?: RegExp;
  /** Matches part of a sentence, after quoted words and the names of the request were removed. */
  readonly part?: RegExp;
}

/** The classes are documented, but only the sentence about the audience is; the words of the others are assumed. */
const JWT_CLASSES: readonly Pick<Row, 'means' | 'evidence' | 'part' | 'example'>[] = [
  {
    means: 'jwt-audience',
    evidence: 'documented',
    part: /\baudience\b/i,
    example:
      "Access Denied because the input token = 'eyJh****4WgE' contains audience [a,b], which doesn't include the configured one c",
  },
  { means: 'jwt-issuer', evidence: 'assumed', part: /\bissuer\b/i, example: 'The issuer does not match.' },
  {
    means: 'jwt-signature',
    evidence: 'assumed',
    part: /\bsignature\b/i,
    example: 'The signature does not match.',
  },
  {
    means: 'jwt-user',
    evidence: 'assumed',
    part: /\buser\b.*\b(?:exist|found|unknown)\b/i,
    example: 'The user does not exist.',
  },
  {
    means: 'jwt-graph',
    evidence: 'assumed',
    part: /\bgraph\b.*\b(?:exist|found|unknown)\b/i,
    example: 'The graph does not exist.',
  },
  {
    means: 'jwt-graph-denied',
    evidence: 'assumed',
    part: /\bgraph\b.*\b(?:access|accessible)\b/i,
    example: 'The graph is not accessible.',
  },
];

const ON_GIVEN_TOKEN = ['refresh', 'delete'] as const;

/**
 * The first row that applies counts: codes come first, then whole sentences, then parts of sentences, then the status
 * alone.
 */
export const REFUSALS: readonly Row[] = [
  // These codes have only one meaning.
  {
    means: 'rest-auth-off',
    evidence: 'client',
    code: 'REST-1000',
    on: ['mint', 'refresh', 'delete', 'check'],
    example:
      'Endpoint is not found from url = /requesttoken, please use GET /endpoints to list all valid endpoints.',
  },
  {
    means: 'token-without-privilege',
    evidence: 'reported',
    code: 'REST-10018',
    example: "Access Denied because the input token = 'abcd****wxyz' has no privilege.",
  },
  {
    means: 'token-expired',
    evidence: 'client',
    code: 'REST-10019',
    example: "Access Denied because the input token = 'abcd****wxyz' is expired.",
  },
  {
    means: 'token-missing',
    evidence: 'reported',
    code: 'REST-10016',
    sentence: /^Access Denied because the input token = '' is .*$/,
    example: "Access Denied because the input token = '' is empty or too short",
  },
  {
    means: 'token-malformed',
    evidence: 'reported',
    code: 'REST-10016',
    sentence: /^Access Denied because the input token = '.*' is not in correct format\.?$/,
    example: "Access Denied because the input token = 'lpa6****u1v' is not in correct format",
  },
  ...JWT_CLASSES.map((row): Row => ({ ...row, code: 'REST-10016' })),
  {
    means: 'token-refused',
    evidence: 'documented',
    code: 'REST-10016',
    example: "Access Denied because the input token = 'abcd****wxyz' is invalid.",
  },
  { means: 'licence-expired', evidence: 'documented', code: 'REST-10020', example: 'License expired.' },
  {
    means: 'no-such-graph',
    evidence: 'documented',
    code: 'REST-1004',
    example: "Graph 'demo' is not found.",
  },
  {
    means: 'lifetime-over-limit',
    evidence: 'recorded',
    code: 'REST-3101',
    example: "The duration '100' exceeds the maximum limit '10'. Please enter a valid one.",
  },
  // These sentences are compared as a whole.
  {
    means: 'no-such-graph',
    evidence: 'reported',
    sentence:
      /^(?:Semantic Check Fails: )?Graph (?:'.*'|\S+) (?:does not exist|(?:is )?not found|could not be found)\.?$/,
    example: "Graph 'demo' does not exist.",
  },
  {
    means: 'no-such-user',
    evidence: 'assumed',
    on: ['list-secrets', 'create-secret', 'drop-secret'],
    sentence: /^User .* does not exist\.?$/,
    example: 'User ann does not exist.',
  },
  {
    means: 'no-graph-in-use',
    evidence: 'reported',
    sentence: /^Semantic Check Fails: No graph available\. Please create a graph first\.$/,
    example: 'Semantic Check Fails: No graph available. Please create a graph first.',
  },
  {
    means: 'bad-secret',
    evidence: 'recorded',
    sentence: /^The secret '.*' is invalid\. Please enter a valid one\.$/,
    example: "The secret 'abcdefg' is invalid. Please enter a valid one.",
  },
  {
    means: 'bad-login',
    evidence: 'recorded',
    sentence: /^The username or password is incorrect\. Please enter a valid one\.$/,
    example: 'The username or password is incorrect. Please enter a valid one.',
  },
  {
    means: 'bad-login',
    evidence: 'reported',
    sentence: /^User authentication failed\.?$/,
    example: 'User authentication failed',
  },
  {
    means: 'bad-login',
    evidence: 'client',
    sentence: /^(?:Authentication failed\.|Wrong password!|Invalid user ?name or password!)$/,
    example: 'Invalid username or password!',
  },
  {
    means: 'unknown-token',
    evidence: 'recorded',
    on: ON_GIVEN_TOKEN,
    sentence: /^The token '.*' is invalid, please provide a valid one\.$/,
    example: "The token 'abc123' is invalid, please provide a valid one.",
  },
  {
    means: 'lifetime-not-a-number',
    evidence: 'recorded',
    sentence: /^Invalid parameters, lifetime is not a number\.$/,
    example: 'Invalid parameters, lifetime is not a number.',
  },
  {
    means: 'no-permission',
    evidence: 'recorded',
    sentence: /^(?:Refresh|Drop) token failed, Permission denied\.$/,
    example: 'Drop token failed, Permission denied.',
  },
  {
    means: 'no-permission',
    evidence: 'reported',
    sentence: /^User '.*' does not have the permission to run the command\. Required privilege on .*$/,
    example:
      "User 'ada' does not have the permission to run the command. Required privilege on global: WRITE_SCHEMA.",
  },
  {
    means: 'token-of-other-graph',
    evidence: 'reported',
    sentence:
      /^Access Denied: The input token belongs to graph (.*), but it is attempting operations on (.*?)\.?$/,
    example:
      'Access Denied: The input token belongs to graph sales, but it is attempting operations on global',
  },
  {
    means: 'alias-taken',
    evidence: 'client',
    on: ['create-secret'],
    sentence: /^(?:Semantic Check Fails: )?The secret with alias .* already exists\.?$/,
    example: 'The secret with alias ci already exists.',
  },
  {
    means: 'secrets-not-dropped',
    evidence: 'client',
    on: ['drop-secret'],
    sentence: /^(?:Semantic Check Fails: )?Failed to drop secrets: \[.*\]\.?$/,
    example: 'Failed to drop secrets: [ci].',
  },
  {
    means: 'rest-auth-off',
    evidence: 'assumed',
    sentence: /^REST(?:PP)? authentication is (?:disabled|not enabled|off)\.?$/i,
    example: 'REST authentication is not enabled.',
  },
  {
    means: 'bad-secret',
    evidence: 'assumed',
    sentence: /^The secret is invalid\.$/,
    example: 'The secret is invalid.',
  },
  {
    means: 'lifetime-over-limit',
    evidence: 'assumed',
    sentence: /^The lifetime exceeds the limit of .*$/,
    example: 'The lifetime exceeds the limit of 60 seconds.',
  },
  {
    means: 'no-permission',
    evidence: 'assumed',
    sentence: /^(?:Semantic Check Fails: )?You don't have (?:the )?permission .*$/,
    example: "Semantic Check Fails: You don't have permission to create a secret on graph 'demo'.",
  },
  // Servers use this code for another case too, so the sentences above come before it.
  {
    means: 'unknown-token',
    evidence: 'client',
    code: 'REST-3300',
    on: ON_GIVEN_TOKEN,
    example: 'The token does not exist.',
  },
  // These are return codes at the end of a GSQL answer.
  { means: 'bad-login', evidence: 'documented', returnCode: 41, example: '__GSQL__RETURN__CODE__,41' },
  { means: 'syntax-error', evidence: 'documented', returnCode: 211, example: '__GSQL__RETURN__CODE__,211' },
  {
    means: 'no-graph-in-use',
    evidence: 'documented',
    returnCode: 213,
    example: '__GSQL__RETURN__CODE__,213',
  },
  // Existing clients look only for these parts of sentences.
  ...JWT_CLASSES.map((row): Row => ({ ...row, on: ['check'] })),
  {
    means: 'token-expired',
    evidence: 'assumed',
    on: ['check'],
    part: /\btoken is expired\b/i,
    example: 'The token is expired.',
  },
  {
    means: 'password-login-off',
    evidence: 'assumed',
    part: /\bpassword (?:log-?in|authentication)\b.*\b(?:disabled|off|not (?:allowed|enabled|supported))\b/i,
    example: 'Password login is disabled.',
  },
  {
    means: 'throttled',
    evidence: 'client',
    part: /\bplease re-?login after\b/i,
    example: 'Too many failed logins. Please re-login after 10 seconds.',
  },
  {
    means: 'client-certificate',
    evidence: 'client',
    part: /\bclient certificate verification failed\b/i,
    example: 'Client certificate verification failed',
  },
  { means: 'licence-expired', evidence: 'client', part: /\blicense expired\b/i, example: 'License expired.' },
  {
    means: 'bad-secret',
    evidence: 'reported',
    login: 'GSQL-Secret',
    part: /\bcannot be found\b/i,
    example: 'The input secret cannot be found',
  },
  {
    means: 'alias-taken',
    evidence: 'client',
    on: ['create-secret'],
    part: /\balready exists\b/i,
    example: 'Secret ci already exists in the catalog.',
  },
  {
    means: 'no-permission',
    evidence: 'client',
    part: /\b(?:does not|do not|don't) have (?:the |enough |sufficient )?(?:permission|privilege)s?\b|\bpermission denied\b/i,
    example: 'This user does not have enough privilege for that.',
  },
  {
    means: 'syntax-error',
    evidence: 'client',
    part: /^Encountered /,
    example: 'Encountered "SECRETT" at line 2',
  },
  // These rows apply when only the status is known.
  { means: 'bad-login', evidence: 'client', status: 401, example: '' },
  { means: 'no-permission', evidence: 'assumed', status: 403, example: '' },
];
