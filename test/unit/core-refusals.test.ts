import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Exchange, HttpRequest, Operation } from '../../src/core/http/types.js';
import { type Meaning, meaningOf, type ServerRefusal } from '../../src/core/protocol/meanings.js';
import { refusal } from '../../src/core/protocol/refusals.js';
import { BoundCredential, Sensitive } from '../../src/index.js';
import { listErrors } from '../helpers/told.js';

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

const answered = (request: HttpRequest, status: number): Exchange => ({
  request,
  reply: { status, headers: {}, body: '' },
});

function answerTo({ known, example }: (typeof ROWS)[number], given = '400'): [Exchange, ServerRefusal] {
  const [, code = ''] = /\bcode (REST-\d+)/.exec(known) ?? [];
  const [, returnCode] = /return code (\d+)/.exec(known) ?? [];
  const [, status = given] = /status (\d+)/.exec(known) ?? [];
  const [, operation = 'mint'] = /; at ([\w-]+)/.exec(known) ?? [];
  return [
    answered({ ...REQUEST, operation: operation as Operation }, Number(status)),
    { code, returnCode: returnCode ? Number(returnCode) : undefined, message: example },
  ];
}

test.each(ROWS)(
  'what fidelity.md says of real servers is understood at any status: $means by $known',
  (row) => {
    for (const status of ['200', '400', '401', '403', '404', '500'])
      expect(meaningOf(...answerTo(row, status)), status).toBe(row.means);
  },
);

describe('a refusal is told with its code, its words and the next step', () => {
  test('for each meaning', async () => {
    const firsts = ROWS.filter(({ means }, at) => at === ROWS.findIndex((row) => row.means === means));
    const cases = firsts.map((row) => [row.means, () => Promise.reject(refusal(...answerTo(row)))] as const);
    await expect(await listErrors(cases)).toMatchFileSnapshot('core-refusals-told.txt');
  });

  test('of a status alone has no words of the server', () => {
    const row = ROWS.find(({ known }) => known === 'status 403') ?? expect.fail('there is no such row');
    expect(refusal(...answerTo(row)).message).toBe('http://db:14240 does not let the login do this.');
  });

  test('of something unknown repeats what the server said', () => {
    const unknown = (message: string) => refusal(answered(REQUEST, 418), { code: 'X-1', message });
    expect(unknown('tea')).toMatchObject({
      code: 'SERVER_ERROR',
      message: 'http://db:14240 refused POST /a (HTTP 418): tea',
      serverCode: 'X-1',
      status: 418,
      fix: ['check the server and its address', { command: 'doctor' }],
    });
    expect(unknown('').message).toBe('http://db:14240 refused POST /a (HTTP 418).');
  });

  test.each([
    ['a'.repeat(32), 'it may have been dropped; make another one, and give its value instead'],
    ['my_alias', 'use its value alone (32 letters and digits), without its name or spaces'],
  ])('of the secret %s says what may be wrong with it', (value, hint) => {
    const secret = credential(value);
    const ways: HttpRequest[] = [
      { ...REQUEST, json: { secret } },
      { ...REQUEST, query: { secret } },
      { ...REQUEST, authorization: { scheme: 'GSQL-Secret', credential: secret } },
    ];
    for (const request of ways)
      expect(refusal(answered(request, 401), { message: '' })).toMatchObject({
        code: 'AUTH_FAILED',
        message: 'http://db:14240 refused the secret from the vault.',
        hint,
      });
  });
});

const TOKEN = 'the token from the vault';

// holds: C2.41
test.each<[code: string, request: Partial<HttpRequest>, told: string]>([
  ['REST-10016', { authorization: { scheme: 'Bearer', credential: credential('t') } }, TOKEN],
  ['REST-10019', { json: { token: credential('t') } }, TOKEN],
  ['REST-10018', { authorization: { scheme: 'Bearer', credential: credential('t') } }, TOKEN],
  [
    '',
    { authorization: { scheme: 'Basic', username: 'ada', credential: credential('p') } },
    'the user "ada" (password from the vault)',
  ],
  ['', { authorization: { scheme: 'Bearer', credential: credential('t') } }, TOKEN],
  ['', { json: { secret: credential('s') } }, 'the secret from the vault'],
])(
  'the refusal %s with 403 of %j names the server, and where the credential came from',
  (code, sent, told) => {
    const { message } = refusal(answered({ ...REQUEST, ...sent }, 403), { code, message: '' });
    expect(message).toContain('http://db:14240 ');
    expect(message).toContain(` ${told}`);
  },
);

test('a credential in the place of a graph is not shown', () => {
  const secret = credential('hiddenhiddenhiddenhidden');
  const message = `Access Denied: The input token belongs to graph ${secret.reveal()}, but it is attempting operations on global`;
  expect(refusal(answered({ ...REQUEST, hide: [secret] }, 403), { message }).message).toBe(
    'http://db:14240 refused the token, which is for another graph: Access Denied: The input token belongs to graph [redacted], but it is attempting operations on global',
  );
});

describe('a message of a server has its meaning only as a whole', () => {
  const meaningIn = (message: string, operation: Operation = 'mint', code = '') =>
    meaningOf(answered({ ...REQUEST, operation }, 400), { code, message });

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
    ['bad-login', ['User authentication failed.', 'Authentication failed.']],
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
    ['alias-taken', ['Semantic Check Fails: The secret with alias ci already exists']],
    ['secrets-not-dropped', ['Semantic Check Fails: Failed to drop secrets: [ci]']],
    ['throttled', ['so please relogin after a while']],
  ])('which is %s', (means, messages, operation, code) => {
    const found = messages.map((message) => [message, meaningIn(message, operation, code)]);
    expect(found).toEqual(messages.map((message) => [message, means]));
  });

  test.each<[string, Operation?]>([
    ['It says: Graph demo does not exist.'],
    ['Graph demo does not exist. It did.'],
    ['Graph my demo does not exist'],
    ["The token 'a' is invalid, please provide a valid one.", 'mint'],
    ['Failed to drop secrets: [ci]. Or not.'],
    ['It Encountered "SECRETT"'],
  ])('and "%s" is none of them', (message, operation) => {
    expect(meaningIn(message, operation)).toBeUndefined();
  });
});

// holds: C10.5
test('a refusal of any length is told in time', () => {
  const started = Date.now();
  for (const read of [refusal, meaningOf]) read(answered(REQUEST, 400), { message: '['.repeat(120_000) });
  expect(Date.now() - started).toBeLessThan(5000);
});
