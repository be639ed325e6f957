import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { HttpRequest, Operation } from '../../src/core/http/types.js';
import { type Meaning, meaningOf, type Refused, refusal } from '../../src/core/protocol/meanings.js';
import { BoundCredential, Sensitive } from '../../src/index.js';

const SERVERS = { restUrl: 'http://db:9000', gsqlUrl: 'http://db:14240' };
const credential = (value: string) => new BoundCredential(new Sensitive(value, 'from the vault'), SERVERS);
const REQUEST: HttpRequest = { server: 'service', base: SERVERS.gsqlUrl, method: 'POST', path: '/a' };

/** What docs/dev/fidelity.md says of real servers: `| what it means | how it is known | for example | evidence |`. */
const [REFUSALS = ''] = readFileSync('docs/dev/fidelity.md', 'utf8').split('## Rules');
const ROW = /^\| ([a-z-]+) \| (.*?) \| (?:`(.*)`)? \| (?:recorded|documented|client|reported|assumed) \|$/gm;
const ROWS = [...REFUSALS.matchAll(ROW)].map(([, means = '', known = '', example = '']) => ({
  means: means as Meaning,
  known,
  example,
}));

function answerTo({ known, example }: (typeof ROWS)[number]): [HttpRequest, Refused] {
  const [, code = ''] = /\bcode (REST-\d+)/.exec(known) ?? [];
  const [, returnCode] = /return code (\d+)/.exec(known) ?? [];
  const [, status = '400'] = /status (\d+)/.exec(known) ?? [];
  const [, operation = 'mint'] = /; at ([\w-]+)/.exec(known) ?? [];
  const login = known.includes('GSQL-Secret') && {
    authorization: { scheme: 'GSQL-Secret', credential: credential('s'.repeat(40)) } as const,
  };
  return [
    { ...REQUEST, operation: operation as Operation, ...login },
    {
      status: Number(status),
      code,
      returnCode: returnCode ? Number(returnCode) : undefined,
      message: example,
    },
  ];
}

test.each(ROWS)('what fidelity.md says is known of real servers is understood: $means by $known', (row) => {
  expect(meaningOf(...answerTo(row))).toBe(row.means);
});

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
    const row = ROWS.find((one) => one.means === means) ?? expect.fail('there is no such row');
    expect(refusal(...answerTo(row))).toMatchObject({ code, message, hint, remedies, option });
  });

  test('of a status alone has no words of the server', () => {
    const row = ROWS.find(({ known }) => known === 'status 403') ?? expect.fail('there is no such row');
    expect(refusal(...answerTo(row)).message).toBe('This user may not do that.');
  });

  test('of something unknown repeats what the server said', () => {
    const unknown = (message: string) => refusal(REQUEST, { status: 418, code: 'X-1', message });
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
    ['a'.repeat(32), 'It may have been dropped.', ['list-with-password']],
    [
      'my_alias',
      'Its value is 32 letters and digits, shown when it is made: this may be its alias instead.',
      [],
    ],
  ])('of the secret %s says what may be wrong with it', (value, hint, remedies) => {
    const secret = credential(value);
    const ways: HttpRequest[] = [
      { ...REQUEST, json: { secret } },
      { ...REQUEST, query: { secret } },
      { ...REQUEST, authorization: { scheme: 'GSQL-Secret', credential: secret } },
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
  expect(refusal({ ...REQUEST, hide: [secret] }, { status: 403, code: '', message }).message).toBe(
    'This token is for the graph [redacted] only, and this call is about global.',
  );
});

describe('a message of a server has its meaning only as a whole', () => {
  const meaningIn = (message: string, operation: Operation = 'mint', code = '') =>
    meaningOf({ ...REQUEST, operation }, { status: 400, code, message });

  test.each<[Meaning, string[], Operation?, string?]>([
    [
      'token-refused',
      [
        "Access Denied because the input token = 'lpa****u1v' is not in correct format or so",
        "It says: Access Denied because the input token = '' is empty or too short",
        "Access Denied because the input token = 'a' is empty or too short",
      ],
      'check',
      'REST-10016',
    ],
    [
      'no-such-graph',
      [
        'Graph demo does not exist',
        "Graph 'my demo' could not be found.",
        'Graph demo not found',
        'Semantic Check Fails: Graph demo is not found.',
      ],
    ],
    ['bad-login', ['User authentication failed.', 'Authentication failed.', 'Wrong password!']],
    ['bad-login', ['Invalid user name or password!']],
    [
      'no-permission',
      [
        'Refresh token failed, Permission denied.',
        "You don't have permission to do that.",
        'You do not have enough privileges.',
        'It does not have sufficient permissions.',
        'That is permission denied',
      ],
    ],
    ['alias-taken', ['Semantic Check Fails: The secret with alias ci already exists'], 'create-secret'],
    ['secrets-not-dropped', ['Semantic Check Fails: Failed to drop secrets: [ci]'], 'drop-secret'],
    ['rest-auth-off', ['REST authentication is disabled', 'RESTPP authentication is off.']],
    ['throttled', ['so please relogin after a while']],
  ])('which is %s', (means, messages, operation, code) => {
    const found = messages.map((message) => [message, meaningIn(message, operation, code)]);
    expect(found).toEqual(messages.map((message) => [message, means]));
  });

  test.each<[string, Operation?]>([
    ['It says: Graph demo does not exist.'],
    ['Graph demo does not exist. It did.'],
    ['Graph my demo does not exist'],
    ['It says: The secret is invalid.'],
    ['Wrong password! Or not.'],
    ['Invalid username and password!'],
    ["The token 'a' is invalid, please provide a valid one.", 'mint'],
    ['REST authentication is disabled for now'],
    ['Failed to drop secrets: [ci]. Or not.', 'drop-secret'],
    ['Failed to drop secrets: [ci].', 'create-secret'],
    ['The secret with alias ci already exists.', 'drop-secret'],
    ['It Encountered "SECRETT"'],
    ['The input secret cannot be found'],
  ])('and "%s" is none of them', (message, operation) => {
    expect(meaningIn(message, operation)).toBeUndefined();
  });
});

// holds: C10.5
test('a refusal of any length is told in time', () => {
  const started = Date.now();
  for (const read of [refusal, meaningOf]) {
    read(REQUEST, { status: 400, code: '', message: '['.repeat(120_000) });
  }
  expect(Date.now() - started).toBeLessThan(5000);
});
