import fs from 'node:fs';
import { expect, test } from 'vitest';
import { COMMANDS, GROUPS } from '../../src/cli/args/catalogue.js';
import { TOPICS, topicPage } from '../../src/cli/args/help-topics.js';
import { cli, temporaryHome } from '../helpers/cli.js';

test.each(Object.keys(TOPICS))('docs/%s.md is what the program prints', async (name) => {
  // The page is written again with GRAPHCRED_WRITE_DOCS=1 npx vitest run test/cli/help.test.ts
  const file = `docs/${name}.md`;
  if (process.env.GRAPHCRED_WRITE_DOCS) fs.writeFileSync(file, topicPage(name));
  expect(fs.readFileSync(file, 'utf8')).toBe(topicPage(name));
  const help = await cli(temporaryHome(), ['help', name]);
  expect(help).toMatchObject({ status: 0, stderr: '' });
  for (const cell of TOPICS[name]?.rows().flat() ?? []) expect(help.stdout).toContain(cell);
});

test.each(COMMANDS.map(({ path }) => path))(
  'help for %s can be called in three ways, and begins with a summary and ends with examples',
  async (path) => {
    const home = temporaryHome();
    const words = path.split(' ');
    const help = await cli(home, [...words, '--help']);
    expect(help.stdout).toContain(`graphcred ${path}`);
    expect(help).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^[A-Z].*\.\n[\s\S]*\nUsage: [\s\S]*\nExamples:(\n {2}\S.*)+\n$/),
      stderr: '',
    });
    expect(await cli(home, [...words, '-h'])).toEqual(help);
    expect(await cli(home, ['help', ...words])).toEqual(help);
  },
);

test.each(Object.keys(GROUPS))('help for the group %s shows each of its commands', async (name) => {
  const { status, stdout } = await cli(temporaryHome(), [name, '--help']);
  expect(status).toBe(0);
  for (const { path } of COMMANDS.filter((spec) => spec.path.startsWith(`${name} `)))
    expect(stdout).toContain(`graphcred ${path}`);
});

test('graphcred without arguments prints the help', async () => {
  const home = temporaryHome();
  const help = await cli(home, ['--help']);
  expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining('First steps:'), stderr: '' });
  for (const line of [[], ['help'], ['help', 'help'], ['-h']]) expect(await cli(home, line)).toEqual(help);
});

test.each(COMMANDS.map(({ path }) => path))('the help for %s fits on a screen of 40 lines', async (path) => {
  const { stdout } = await cli(temporaryHome(), [...path.split(' '), '--help']);
  expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
  expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
});

test.each(['completion', 'config path', 'profile use'])(
  '%s uses no server, and its help lists no option for one',
  async (path) => {
    const { stdout } = await cli(temporaryHome(), [...path.split(' '), '--help']);
    expect(stdout).not.toContain('--host');
  },
);

// holds: C2.2
test.each([
  [['-p', 'dev', 'status', '--offline'], 'dev (--profile)'],
  [['--profile=dev', 'status', '--offline'], 'dev (--profile)'],
  [['-pdev', '-v', 'status', '--offline'], 'dev (--profile)'],
  [['-o', 'json', '-p', 'dev', 'config', 'show'], '"value":"dev"'],
  [['-qvp', 'dev', '--lifetime', '15m', 'config', 'show', '-ojson'], '"value":"dev"'],
])('shared options may stand before the command: %j', async (argv, shown) => {
  const home = temporaryHome();
  fs.mkdirSync(`${home}/.config/graphcred`, { recursive: true });
  fs.writeFileSync(`${home}/.config/graphcred/config.json`, '{"profiles":{"dev":{}}}', { mode: 0o600 });
  expect((await cli(home, argv)).stdout).toContain(shown);
});

test.each([
  ['-p', 'dev', 'frobnicate'],
  ['--frob', 'status'],
  ['-p', 'dev', 'completion', 'bash'],
  ['-q', '-v'],
])('options before an unknown command are USAGE: %j', async (...argv) => {
  const { status, stdout } = await cli(temporaryHome(), argv);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
});

test('a credential after an option in first position is still refused', async () => {
  const argv = ['-p', 'dev', 'token', 'get', '--password=hunter2'];
  const { status, stderr } = await cli(temporaryHome(), argv);
  expect(status).toBe(2);
  expect(stderr).toContain('--password is refused');
  expect(stderr).not.toContain('hunter2');
});

// holds: C2.1
test.each([
  ['token ls', 'token list'],
  ['secret ls', 'secret list'],
  ['profile ls', 'profile list'],
  ['secret rm', 'secret drop'],
  ['token rm', 'token delete'],
  ['profile rm', 'profile remove'],
])('%s is short for %s', async (short, long) => {
  const home = temporaryHome();
  const help = await cli(home, [...short.split(' '), '--help']);
  expect(help).toEqual(await cli(home, [...long.split(' '), '--help']));
  expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining(`Usage: graphcred ${long}`) });
});

test('the error for --json names -o json', async () => {
  const { status, stderr } = await cli(temporaryHome(), ['status', '--json']);
  expect(status).toBe(2);
  expect(stderr).toContain('hint: for JSON: -o json');
});

test('every example is a valid command line', () => {
  const lines = COMMANDS.flatMap(({ path, examples }) => examples.map((line) => ({ path, line })));
  for (const { path, line } of lines) {
    const [, words = ''] = /graphcred ([^)'|]*)/.exec(line.replace(/'(\/[^']*)'/, '$1')) ?? [];
    const [own = ''] = words.split(' -- ');
    const spec = COMMANDS.find((one) => `${own} `.startsWith(`${one.path} `));
    expect({ line, path: spec?.path }).toEqual({ line, path });
    const flags = own.split(' ').filter((word) => word.startsWith('-'));
    const known = spec?.options.flatMap(({ name, short }) => [`--${name}`, `-${short}`]) ?? [];
    expect(known).toEqual(expect.arrayContaining(flags));
  }
});

test('the help of a group fits a narrow terminal, with each description beside its command', async () => {
  const { stdout } = await cli(temporaryHome(), ['profile', '--help'], { terminal: true, columns: 44 });
  expect(stdout.split('\n')).toEqual([
    'List profiles, choose the default one,',
    'remove one.',
    '',
    'Usage: graphcred profile <command> [options]',
    '',
    'Commands:',
    '  list    the profiles of the config file in',
    '          force; * marks the default one',
    '  use     make a profile the default one',
    '  remove  remove a profile, with its tokens,',
    '          secrets and password on this',
    '          machine',
    '',
    'Examples:',
    '  graphcred profile list',
    '  graphcred profile use prod',
    '  graphcred profile remove old',
    '',
  ]);
});

test('the help of a command that asks no server has its options in columns, and its shared ones by name', async () => {
  const argv = ['profile', 'remove', '--help'];
  const { stdout } = await cli(temporaryHome(), argv, { terminal: true, columns: 70 });
  expect(stdout.split('\n')).toEqual([
    'Remove a profile, with its tokens, secrets and password on this',
    'machine.',
    '',
    'The server keeps its secrets and tokens. To revoke the tokens first:',
    'graphcred logout -p NAME --revoke',
    '',
    'Usage: graphcred profile remove [options] <name>',
    '',
    'Options:',
    '  -o, --output <format>  how the result is printed (one of text, json)',
    '  -y, --yes              do not ask before removing',
    '  -h, --help             show this help',
    '',
    'Shared options:',
    '  --no-input -q/--quiet -v/--verbose --no-color',
    '',
    'Examples:',
    '  graphcred profile remove old',
    '  graphcred profile remove old --yes',
    '',
  ]);
});

test('on a narrow terminal a description stands below a long name, and on a wide one no line is longer than 100', async () => {
  const home = temporaryHome();
  const help = async (columns: number, ...words: string[]) =>
    (await cli(home, [...words, '--help'], { terminal: true, columns })).stdout.split('\n');
  const narrow = await help(44);
  expect(narrow.slice(narrow.indexOf('First steps:'), narrow.indexOf('  graphcred login'))).toEqual([
    'First steps:',
    '  graphcred sandbox',
    '      start a local imitation of the',
    '      database, to try things on',
  ]);
  expect(Math.max(...narrow.map((line) => line.length))).toBeLessThanOrEqual(44);
  const lengths = (await help(300, 'exec')).map((line) => line.length);
  expect(Math.max(...lengths)).toBe(100);
  const check = await help(60, 'token', 'check');
  expect(check.slice(check.indexOf('Options:') + 1, check.indexOf('Options:') + 3)).toEqual([
    '  -o, --output <format>  how the result is printed (one of',
    '                         text, json)',
  ]);
  const shared = check.indexOf('Shared options, explained by: graphcred help settings:');
  expect(check[shared + 1]).toBe('  -p/--profile --config --host --rest-port --gsql-port');
});

test('the help names what belongs to another program, and what may be left out or repeated', async () => {
  const usage = async (...words: string[]) =>
    /\nUsage: (.*)/.exec((await cli(temporaryHome(), [...words, '--help'])).stdout)?.[1];
  expect(await usage('exec')).toBe('graphcred exec [options] [--] [command...]');
  expect(await usage('sandbox')).toBe('graphcred sandbox [options] [--] [command...]');
  expect(await usage('secret', 'create')).toBe('graphcred secret create [options] [alias]');
  expect(await usage('secret', 'drop')).toBe('graphcred secret drop [options] <alias...>');
});

test('a line without a command is USAGE, also when it ends the options', async () => {
  expect(await cli(temporaryHome(), ['--'])).toEqual({
    status: 2,
    stdout: '',
    stderr: 'graphcred: A command is missing.\nhint: see: graphcred --help\n',
  });
});

test('the help explains the command’s own options and names the shared ones', async () => {
  const { stdout } = await cli(temporaryHome(), ['token', 'get', '--help']);
  const places = ['Options:', '--min-ttl', 'graphcred help settings', '--host', '--store', 'Examples:'];
  expect(places.map((text) => stdout.indexOf(text))).toEqual(
    places.map((text) => stdout.indexOf(text)).toSorted((one, other) => one - other),
  );
  expect(stdout).not.toContain('undefined');
});

// holds: C2.38
test.each([
  ['auth login', 'login'],
  ['revoke', 'token delete'],
  ['g token', 'token get'],
  ['SECRET', 'secret'],
])('the error for %s suggests %s', async (line, meant) => {
  const { status, stderr } = await cli(temporaryHome(), line.split(' '));
  expect(status).toBe(2);
  expect(stderr).toContain(`. Did you mean: ${meant}\n`);
});

test.each(['frobnicate', 'x y', 'secret crtea', 'toString', '__proto__', 'token'])(
  '%s resembles no command, so nothing is suggested',
  async (line) => {
    const { status, stderr } = await cli(temporaryHome(), line.split(' '));
    expect(status).toBe(2);
    expect(stderr).not.toMatch(/did you mean/i);
  },
);

test.each([
  [['bogus'], 'Unknown command "bogus".'],
  [['token'], 'graphcred token needs one more word.'],
  [['token', 'get', '--hunter2=x'], 'There is no option --hunter here.'],
  [['token', 'get', '--graph'], 'The option --graph needs a value.'],
  [['token', 'get', 'hunter2'], 'There are more words than this command takes.'],
  [['token', 'get', '--store', 'hunter2'], '--store does not take this value.'],
  [['secret', 'drop'], 'The alias is missing.'],
])('%j is one line and a hint, exit 2, and repeats no value', async (argv, message) => {
  const { status, stdout, stderr } = await cli(temporaryHome(), argv);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr.split('\n')).toEqual([`graphcred: ${message}`, expect.stringMatching(/^hint: /), '']);
  expect(stderr).not.toContain('hunter2');
});

// holds: C2.3
test.each([['--password=hunter2'], ['--password', 'hunter2'], ['--secret=hunter2'], ['--token', 'hunter2']])(
  'a credential on the command line (%s) is refused and not repeated',
  async (...words) => {
    const { status, stdout, stderr } = await cli(temporaryHome(), ['token', 'get', ...words.filter(Boolean)]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).not.toContain('hunter2');
    expect(stderr).toContain('-stdin');
  },
);

test.each([
  ['password', 'use --password-stdin, --password-file FILE or GRAPHCRED_PASSWORD'],
  ['secret', 'use --secret-stdin, --secret-file FILE or GRAPHCRED_SECRET'],
  ['token', 'use --token-stdin'],
])('the hint for a refused --%s names the ways that exist', async (name, ways) => {
  const { stderr } = await cli(temporaryHome(), ['token', 'get', `--${name}`, 'hunter2']);
  expect(stderr).toContain(
    `--${name} is refused: other users can read a command line.\nhint: ${ways}; change`,
  );
});

test.each([
  [['token', 'get', '-o', 'xml'], 'text, json, env, header, github, gitlab, k8s-secret'],
  [['token', 'refresh', '-o', 'k8s-secret'], 'text, json, env, header, github, gitlab'],
  [['status', '-o', 'env'], 'text, json'],
  [['token', 'get', '--shell', 'csh'], 'sh, fish, powershell'],
  [['status', '--store', 'vault'], 'keychain, file, redis, none'],
  [['sandbox', '--rest-auth', 'maybe'], 'on, off'],
  [['sandbox', '--lifetime-unit', 'h'], 's, ms'],
])('%j is refused with the values that the option takes', async (argv, choices) => {
  const { status, stdout, stderr } = await cli(temporaryHome(), argv);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain(`hint: choose one of: ${choices}\n`);
});

// holds: C2.3
test('a word that looks like a secret is refused and not repeated', async () => {
  const word = 'k3v9'.repeat(8);
  const { status, stderr } = await cli(temporaryHome(), ['secret', 'drop', word]);
  expect(status).toBe(2);
  expect(stderr).not.toContain(word);
});

test('help of a short form is the help of the command that it stands for', async () => {
  const home = temporaryHome();
  const { status, stdout } = await cli(home, ['help', 'secret', 'rm']);
  expect(status).toBe(0);
  expect(stdout).toBe((await cli(home, ['secret', 'drop', '--help'])).stdout);
});
