import fs from 'node:fs';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import { commandHelp } from '../../src/cli/args/help-text.js';
import { TOPICS, topicText } from '../../src/cli/args/help-topics.js';
import { cli, temporaryHome } from '../helpers/cli.js';

test.each(Object.keys(TOPICS))('help %s prints what docs/reference.md says', async (name) => {
  const page = fs.readFileSync('docs/reference.md', 'utf8');
  const help = await cli(temporaryHome(), ['help', name]);
  expect(help).toMatchObject({ status: 0, stderr: '' });
  for (const cell of TOPICS[name]?.rows().flat() ?? []) {
    expect(help.stdout).toContain(cell);
    expect(page).toContain(cell);
  }
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

test.each([60, 80])('no line of help is longer than %i columns', (columns) => {
  const texts = [
    ...COMMANDS.map((spec) => commandHelp(spec, columns)),
    ...Object.keys(TOPICS).map((name) => topicText(name, columns)),
  ];
  expect(texts.flatMap((text) => text.split('\n')).filter((line) => line.length > columns)).toEqual([]);
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
