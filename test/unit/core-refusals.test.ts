import { describe, expect, test } from 'vitest';
import type { HttpRequest } from '../../src/core/http/types.js';
import { type Meaning, type Operation, REFUSALS, type Row } from '../../src/core/protocol/refusal-table.js';
import { meaningOf, type Refused, refusal } from '../../src/core/protocol/server-error.js';
import { BoundCredential, Sensitive } from '../../src/index.js';

const SERVERS = { restUrl: 'http://db:9000', gsqlUrl: 'http://db:14240' };
const credential = (value: string) => new BoundCredential(new Sensitive(value, 'from the vault'), SERVERS);

function answerTo(row: Row): [HttpRequest, Refused] {
  const { on = ['mint'], login, status = 400, code = '', returnCode, example } = row;
  const request: HttpRequest = {
    server: 'service',
    base: SERVERS.gsqlUrl,
    method: 'POST',
    path: '/a',
    operation: on[0],
    ...(login && { authorization: { scheme: login, credential: credential('s'.repeat(40)) } }),
  };
  return [request, { status, code, returnCode, message: example }];
}

const LOGIN =
  'Check user name and password, or the secret. After some wrong tries the server makes the user wait.';
const GET_ONE = 'Get a new one. A secret is no token, but tokens are minted from it.';
const NO_GRAPH = 'There is no such graph, or it is hidden from this user: ';
const OTHER_TOKEN = ['new-token', 'mint-from-secret'];

describe('a refusal is told with its code, its words and the next step', () => {
  test.each<[Meaning, string, string, string, string[], string?]>([
    [
      'rest-auth-off',
      'REST_AUTH_DISABLED',
      'REST authentication is not enabled on this server.',
      'An administrator turns it on with: gadmin config set RESTPP.Factory.EnableAuth true && gadmin config apply -y && gadmin restart restpp nginx gui gsql -y',
      [],
    ],
    [
      'throttled',
      'AUTH_FAILED',
      'Too many failed logins: the server makes this user wait.',
      'Too many failed logins. Please re-login after 10 seconds.',
      [],
    ],
    [
      'client-certificate',
      'TLS',
      'The server refused the client certificate.',
      'Check the client certificate and its key.',
      [],
      'tls.cert',
    ],
    [
      'licence-expired',
      'SERVER_ERROR',
      "The server's licence has expired.",
      'Ask the administrator of the server to renew it.',
      [],
    ],
    ['bad-login', 'AUTH_FAILED', 'http://db:14240 refused the login.', LOGIN, []],
    ['token-missing', 'AUTH_FAILED', 'The server requires a token.', GET_ONE, OTHER_TOKEN],
    [
      'token-malformed',
      'AUTH_FAILED',
      'The server refused the token.',
      `This server takes tokens it made itself (4.x: JWTs), not secrets. ${GET_ONE}`,
      OTHER_TOKEN,
    ],
    ['token-refused', 'AUTH_FAILED', 'The server refused the token.', GET_ONE, OTHER_TOKEN],
    ['token-expired', 'AUTH_FAILED', 'The token has expired.', 'Get a new one.', ['new-token']],
    [
      'token-without-privilege',
      'PERMISSION_DENIED',
      'The token is valid but has no privilege for this.',
      'Ask for a role on the graph.',
      [],
    ],
    [
      'token-of-other-graph',
      'PERMISSION_DENIED',
      'This token is for the graph sales only, and this call is about global.',
      'Use a token for that graph, or one without a graph.',
      [],
      'graph',
    ],
    ['unknown-token', 'NOT_FOUND', 'The server does not know this token.', 'Get a new one.', ['new-token']],
    [
      'no-permission',
      'PERMISSION_DENIED',
      'This user may not do that: Drop token failed, Permission denied.',
      'Ask an administrator for the privilege.',
      [],
    ],
    [
      'no-such-graph',
      'NOT_FOUND',
      `${NO_GRAPH}Graph 'demo' is not found.`,
      'Give the name of a graph, not the alias of a secret.',
      [],
      'graph',
    ],
    [
      'no-such-user',
      'NOT_FOUND',
      'There is no such user: User ann does not exist.',
      'Check the name of the owner.',
      [],
      'owner',
    ],
    [
      'no-graph-in-use',
      'NOT_FOUND',
      `${NO_GRAPH}Semantic Check Fails: No graph available. Please create a graph first.`,
      'Give the name of a graph, not the alias of a secret.',
      [],
      'graph',
    ],
    [
      'alias-taken',
      'ALREADY_EXISTS',
      'A secret with this alias exists already.',
      'Choose another alias, or give that one a new value.',
      ['rotate-secret'],
    ],
    [
      'lifetime-not-a-number',
      'SERVER_ERROR',
      'The server does not take this lifetime.',
      'Ask for another lifetime.',
      [],
      'lifetime',
    ],
    [
      'lifetime-over-limit',
      'SERVER_ERROR',
      "The server does not give tokens a life this long: The duration '100' exceeds the maximum limit '10'. Please enter a valid one.",
      'Ask for a shorter lifetime.',
      [],
      'lifetime',
    ],
    [
      'secrets-not-dropped',
      'SERVER_ERROR',
      'The server refused POST /a: Failed to drop secrets: [ci].',
      'Check the other settings.',
      ['examine'],
    ],
  ])('%s', (means, code, message, hint, remedies, option) => {
    const row = REFUSALS.find((one) => one.means === means) ?? expect.fail('there is no such row');
    expect(refusal(...answerTo(row))).toMatchObject({ code, message, hint, remedies, option });
  });

  test('of a status alone has no words of the server', () => {
    const row = REFUSALS.find(({ status }) => status === 403) ?? expect.fail('there is no such row');
    expect(refusal(...answerTo(row)).message).toBe('This user may not do that.');
  });

  test('of something unknown repeats what the server said', () => {
    const [request] = answerTo(REFUSALS[0] as Row);
    const unknown = (message: string) => refusal(request, { status: 418, code: 'X-1', message });
    expect(unknown('tea')).toMatchObject({
      code: 'SERVER_ERROR',
      message: 'The server refused POST /a (HTTP 418): tea',
      serverCode: 'X-1',
      status: 418,
      remedies: ['examine'],
    });
    expect(unknown('').message).toBe('The server refused POST /a (HTTP 418).');
  });

  test.each([
    ['a'.repeat(32), 'It may have been dropped.', ['list-secrets']],
    [
      'my_alias',
      'Its value is 32 letters and digits, shown when it is made: this may be its alias instead.',
      [],
    ],
  ])('of the secret %s says what may be wrong with it', (value, hint, remedies) => {
    const base: HttpRequest = { server: 'service', base: SERVERS.gsqlUrl, method: 'POST', path: '/a' };
    const secret = credential(value);
    const ways: HttpRequest[] = [
      { ...base, json: { secret } },
      { ...base, query: { secret } },
      { ...base, authorization: { scheme: 'GSQL-Secret', credential: secret } },
    ];
    for (const request of ways)
      expect(refusal(request, { status: 401, code: '', message: '' })).toMatchObject({
        code: 'AUTH_FAILED',
        message: 'http://db:14240 refused the secret from the vault.',
        hint,
        remedies,
      });
  });
});

test('a credential in the place of a graph is not shown', () => {
  const secret = credential('hiddenhiddenhiddenhidden');
  const message = `Access Denied: The input token belongs to graph ${secret.value.reveal()}, but it is attempting operations on global`;
  const request: HttpRequest = {
    server: 'rest',
    base: SERVERS.restUrl,
    method: 'GET',
    path: '/a',
    hide: [secret],
  };
  expect(refusal(request, { status: 403, code: '', message }).message).toBe(
    'This token is for the graph [redacted] only, and this call is about global.',
  );
});

describe('a message of a server has its meaning only as a whole', () => {
  const meaningIn = (message: string, operation: Operation = 'mint', code = '') => {
    const request: HttpRequest = {
      ...{ server: 'rest', base: SERVERS.restUrl, method: 'POST', path: '/a' },
      operation,
    };
    return meaningOf(request, { status: 400, code, message });
  };

  test.each<[Meaning, string[], Operation?, string?]>([
    [
      'token-missing',
      ["Access Denied because the input token = '' is empty or too short"],
      'check',
      'REST-10016',
    ],
    [
      'token-malformed',
      [
        "Access Denied because the input token = 'lpa****u1v' is not in correct format",
        "Access Denied because the input token = 'lpa****u1v' is not in correct format.",
      ],
      'check',
      'REST-10016',
    ],
    [
      'token-refused',
      [
        "Access Denied because the input token = 'lpa****u1v' is not in correct format or so",
        "It says: Access Denied because the input token = 'lpa****u1v' is not in correct format",
        "It says: Access Denied because the input token = '' is empty or too short",
        "Access Denied because the input token = 'a' is empty or too short",
      ],
      'check',
      'REST-10016',
    ],
    [
      'no-such-graph',
      [
        "Graph 'demo' does not exist",
        'Graph demo does not exist.',
        "Graph 'my demo' could not be found.",
        'Graph demo not found',
        'Semantic Check Fails: Graph demo is not found.',
      ],
    ],
    ['no-graph-in-use', ['Semantic Check Fails: No graph available. Please create a graph first.']],
    ['bad-secret', ["The secret '' is invalid. Please enter a valid one.", 'The secret is invalid.']],
    [
      'bad-login',
      [
        'The username or password is incorrect. Please enter a valid one.',
        'User authentication failed',
        'User authentication failed.',
        'Authentication failed.',
        'Wrong password!',
        'Invalid username or password!',
        'Invalid user name or password!',
      ],
    ],
    ['unknown-token', ["The token '' is invalid, please provide a valid one."], 'delete'],
    ['lifetime-not-a-number', ['Invalid parameters, lifetime is not a number.']],
    [
      'no-permission',
      [
        'Refresh token failed, Permission denied.',
        "User 'ada' does not have the permission to run the command. Required privilege on graph: A.",
        "You don't have permission to do that.",
        "Semantic Check Fails: You don't have the permission to do that.",
        'You do not have enough privileges.',
        'It does not have sufficient permissions.',
        "They don't have privilege.",
        'That is permission denied',
      ],
    ],
    [
      'token-of-other-graph',
      [
        'Access Denied: The input token belongs to graph sales, but it is attempting operations on global',
        'Access Denied: The input token belongs to graph sales, but it is attempting operations on global.',
      ],
    ],
    [
      'alias-taken',
      [
        'The secret with alias ci already exists.',
        'Semantic Check Fails: The secret with alias ci already exists',
        'Secret ci already exists in the catalog.',
      ],
      'create-secret',
    ],
    [
      'secrets-not-dropped',
      ['Failed to drop secrets: [ci]', 'Semantic Check Fails: Failed to drop secrets: [ci].'],
      'drop-secret',
    ],
    [
      'rest-auth-off',
      [
        'REST authentication is disabled',
        'RESTPP authentication is off.',
        'rest authentication is not enabled',
      ],
    ],
    ['lifetime-over-limit', ['The lifetime exceeds the limit of 60 seconds.']],
    ['throttled', ['Please re-login after 10 s.', 'so please relogin after a while']],
    ['licence-expired', ['The License Expired yesterday']],
    ['syntax-error', ['Encountered "SECRETT"']],
  ])('which is %s', (means, messages, operation, code) => {
    const found = messages.map((message) => [message, meaningIn(message, operation, code)]);
    expect(found).toEqual(messages.map((message) => [message, means]));
  });

  test.each<[string, Operation?]>([
    ['It says: Graph demo does not exist.'],
    ['Graph demo does not exist. It did.'],
    ['Graph my demo does not exist'],
    ['It says: Semantic Check Fails: No graph available. Please create a graph first.'],
    ['Semantic Check Fails: No graph available. Please create a graph first. Or not.'],
    ["It says: The secret 'a' is invalid. Please enter a valid one."],
    ["The secret 'a' is invalid. Please enter a valid one. Or not."],
    ['It says: The secret is invalid.'],
    ['The secret is invalid. Or not.'],
    ['It says: The username or password is incorrect. Please enter a valid one.'],
    ['The username or password is incorrect. Please enter a valid one. Or not.'],
    ['It says: User authentication failed'],
    ['User authentication failed. Or not.'],
    ['It says: Wrong password!'],
    ['Wrong password! Or not.'],
    ['Invalid username and password!'],
    ["It says: The token 'a' is invalid, please provide a valid one.", 'delete'],
    ["The token 'a' is invalid, please provide a valid one. Or not.", 'delete'],
    ["The token 'a' is invalid, please provide a valid one.", 'mint'],
    ['It says: Invalid parameters, lifetime is not a number.'],
    ['Invalid parameters, lifetime is not a number. Or not.'],
    ['It says: REST authentication is disabled'],
    ['REST authentication is disabled for now'],
    ['It says: The lifetime exceeds the limit of 60 seconds.'],
    ['It says: Failed to drop secrets: [ci].', 'drop-secret'],
    ['Failed to drop secrets: [ci]. Or not.', 'drop-secret'],
    ['Failed to drop secrets: [ci].', 'create-secret'],
    ['The secret with alias ci already exists.', 'drop-secret'],
    ['It says: Access Denied: The input token belongs to graph a, but it is attempting operations on b'],
    ['It Encountered "SECRETT"'],
    ['The input secret cannot be found'],
  ])('and "%s" is none of them', (message, operation) => {
    expect(meaningIn(message, operation)).toBeUndefined();
  });
});

// holds: C10.5
test('a refusal of any length is told in time', () => {
  const [request] = answerTo(REFUSALS[0] as Row);
  const started = Date.now();
  for (const read of [refusal, meaningOf]) {
    read(request, { status: 400, code: '', message: '['.repeat(120_000) });
  }
  expect(Date.now() - started).toBeLessThan(5000);
});
