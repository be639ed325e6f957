import { describe, expect, test } from 'vitest';
import { formatDuration, shortPath } from '../../src/app/format.js';
import type { Invocation } from '../../src/cli/command.js';
import { EXITS, exitStatus } from '../../src/cli/output/exit-codes.js';
import { textOf } from '../../src/cli/output/hints.js';
import { wrapped } from '../../src/cli/output/report.js';
import { colours, shorten, table } from '../../src/cli/output/table.js';
import { resolveSettings } from '../../src/config/settings.js';
import { GraphException } from '../../src/core/errors.js';

const HEAD = ['HOST', 'PRINCIPAL', 'LIFE'];
const ROWS = [
  ['https://graph.example.com', 'secret:0123456789abcdef', '30d left'],
  ['http://127.0.0.1', 'user:alice', 'expired'],
];

test('a line is wrapped at blanks, and not in a command, which is copied whole', () => {
  const line =
    'hint: see what is there: graphcred secret list -p prod; or make one: graphcred secret create NAME';
  expect(wrapped(line, 40, '  ').split('\n')).toEqual([
    'hint: see what is there:',
    '  graphcred secret list -p prod; or make',
    '  one: graphcred secret create NAME',
  ]);
  const others =
    "then: chmod go-w '/home/ann/a; b, c'; or in a job: gadmin config apply -y && gadmin restart";
  expect(wrapped(others, 20).split('\n')).toEqual([
    'then:',
    "chmod go-w '/home/ann/a; b, c';",
    'or in a job:',
    'gadmin config apply -y && gadmin restart',
  ]);
});

describe('a table', () => {
  test('shortens the first column to its heading before it shortens the next one, and no other one', () => {
    const text = table(HEAD, ROWS, [1, 0], 45);
    expect(text).toBe(
      [
        'HOST                      PRINCIPAL  LIFE',
        'https://graph.e…mple.com  secre…def  30d left',
        'http://127.0.0.1          user:…ice  expired',
      ].join('\n'),
    );
  });

  test('counts wide and combining characters by the columns that a terminal gives them', () => {
    const text = table(
      ['ALIAS', 'GRAPH'],
      [
        ['図書', 'a'],
        ['e\u0301te\u0301', 'b'],
        ['😀', 'c'],
      ],
    );
    expect(text).toBe(['ALIAS  GRAPH', '図書   a', 'e\u0301te\u0301    b', '😀     c'].join('\n'));
  });

  test('removes control characters from the cells', () => {
    expect(table(['A'], [['x\x1b[2Jy\nz']])).toBe('A\nx [2Jy z');
  });
});

test.each([
  ['図書館', 5, '図書…'],
  ['図書館', 4, '図…'],
  ['graph', undefined, 'graph'],
  ['secret 6b10… (not saved)', 20, 'secret 6b10… (not s…'],
])('shortening: %s in %s columns is %s', (text, width, short) => {
  expect(shorten(text, width)).toBe(short);
});

test('a message names a file of the home folder as a shell does', () => {
  expect(shortPath('/home/ann/.config/x', '/home/ann')).toBe('~/.config/x');
  expect(shortPath('/home/anna/x', '/home/ann')).toBe('/home/anna/x');
  expect(shortPath('/etc/x', undefined)).toBe('/etc/x');
});

test.each([
  [-5, '0s'],
  [89, '89s'],
  [90, '2m'],
  [3600, '60m'],
  [7200, '2h'],
  [86_400, '24h'],
  [172_800, '2d'],
])(
  'a duration of %i seconds is shown as %s: the largest unit of which there are at least two',
  (seconds, shown) => {
    expect(formatDuration(seconds)).toBe(shown);
  },
);

test('an error is retryable only if the same call may succeed later', () => {
  const codes = EXITS.flatMap((row) => row.codes);
  expect(codes.filter((code) => new GraphException(code, 'x').retryable).sort()).toEqual([
    'LOCK_TIMEOUT',
    'NETWORK',
    'SERVER_UNAVAILABLE',
    'TIMEOUT',
    'TLS',
  ]);
  expect(new GraphException('NETWORK', 'x', { retryable: false }).retryable).toBe(false);
});

test('a hint is printed with its commands and options, and of these with what was typed', () => {
  const hint = [
    'do it',
    { setting: 'graph' },
    { command: 'token delete 1c24be77' },
    { command: 'exec -- ls' },
  ];
  const typed = { profile: 'one', config: 'my file' };
  const place = "-p one --config 'my file'";
  expect(textOf(hint, { typed })).toBe(
    `do it (--graph): graphcred token delete 1c24be77 ${place}; graphcred exec ${place} -- ls`,
  );
  expect(textOf([{ command: 'profile list' }, 'or not'], { typed })).toBe(
    "graphcred profile list --config 'my file'; or not",
  );
  expect(textOf({ command: 'secret drop ci -p two' }, { typed: { ...typed, owner: 'ada' } })).toBe(
    "graphcred secret drop ci -p two --owner ada --config 'my file'",
  );
});

test('a hint names the place where its setting was set, else the option', () => {
  const env = { GRAPHCRED_TIMEOUT: '5', TG_USERNAME: 'ann', TG_CERT_PATH: 'ca.pem' };
  const settings = resolveSettings({ flags: { lifetime: '15m' }, env }, undefined);
  const hint = ['timeoutMs', 'username', 'lifetime', 'graph', 'tls.ca'].map((setting) => ({ setting }));
  expect(textOf(['change', ...hint], { typed: {}, settings })).toBe(
    'change (GRAPHCRED_TIMEOUT) (TG_USERNAME) (--lifetime) (--graph) (--ca FILE)',
  );
});

test('without a terminal, and where colours are switched off, a text is painted with nothing', async () => {
  const paint = async (isTTY: boolean, flags: object = {}, env: object = {}) => {
    const { bold, dim, good, bad, warn } = await colours({
      ctx: { stdout: { isTTY }, env },
      flags,
    } as unknown as Invocation);
    return [bold, dim, good, bad, warn].map((colour) => colour(' x '));
  };
  const plain = Array(5).fill(' x ');
  expect(await paint(false)).toEqual(plain);
  expect(await paint(true, { 'no-color': true })).toEqual(plain);
  expect(await paint(true, {}, { NO_COLOR: '1' })).toEqual(plain);
  expect(await paint(true, {}, { CLICOLOR: '0' })).toEqual(plain);
  expect(await paint(true, {}, { TERM: 'dumb' })).toEqual(plain);
  const painted = ['1', '2', '32', '31', '33'].map((code) => expect.stringContaining(`\u001b[${code}m x `));
  expect(await paint(true)).toEqual(painted);
  const force = { FORCE_COLOR: '1' };
  expect(await paint(false, {}, { TERM: 'dumb', ...force })).toEqual(painted);
  expect(await paint(false, {}, { NO_COLOR: '1', ...force })).toEqual(plain);
  expect(await paint(false, { 'no-color': true }, force)).toEqual(plain);
  expect(await paint(true, {}, { FORCE_COLOR: '0' })).toEqual(plain);
});

// holds: C7.1
test('each error code has its exit status', () => {
  const table = EXITS.map(({ status, codes }) => [status, ...codes]);
  expect(table).toEqual([
    [0],
    [1, 'INTERNAL'],
    [2, 'USAGE', 'INPUT_REQUIRED'],
    [3, 'NOT_FOUND'],
    [4, 'AUTH_FAILED', 'PERMISSION_DENIED'],
    [5, 'CONFIG_INVALID', 'CONFIG_UNTRUSTED', 'HOST_MISMATCH'],
    [6, 'STORE_UNAVAILABLE', 'STORE_LOCKED'],
    [7, 'NETWORK', 'TIMEOUT', 'TLS', 'SERVER_UNAVAILABLE'],
    [8, 'REST_AUTH_DISABLED', 'UNSUPPORTED', 'ALREADY_EXISTS', 'SERVER_ERROR', 'BAD_RESPONSE'],
    [9, 'LOCK_TIMEOUT'],
    [10, 'PARTIAL'],
    [125],
    [126],
    [127],
    [128],
    [130, 'CANCELLED'],
  ]);
  for (const { status, codes } of EXITS) for (const code of codes) expect(exitStatus(code)).toBe(status);
});
