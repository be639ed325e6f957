import { execFileSync, spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import { TOPICS } from '../../src/cli/args/help-topics.js';
import { cli, temporaryHome } from '../helpers/cli.js';

test.each(Object.keys(TOPICS))('help %s prints no line wider than 100 columns in a pipe', async (name) => {
  const help = await cli(temporaryHome(), ['help', name]);
  expect(help).toMatchObject({
    status: 0,
    stdout: expect.stringContaining(TOPICS[name]?.title ?? ''),
    stderr: '',
  });
  expect(help.stdout.split('\n').filter((line) => line.length > 100)).toEqual([]);
});

// holds: C2.44
test.each(COMMANDS.map(({ path }) => path))(
  'help for %s can be called in four ways, fits 24 lines of 80 columns, and ends with at most three examples',
  async (path) => {
    const home = temporaryHome();
    const words = path.split(' ');
    const help = await cli(home, [...words, '--help']);
    expect(help).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^Usage: graphcred .*\n\n[A-Z][\s\S]*\nExamples:(\n {2}\S.*){1,3}\n$/),
      stderr: '',
    });
    expect(await cli(home, [...words, '-h'])).toEqual(help);
    expect(await cli(home, ['help', ...words])).toEqual(help);
    expect(await cli(home, ['help', ...words, '--help'])).toEqual(help);
    const lines = help.stdout.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  },
);

// holds: C2.1
test.each(['--version', '-V', '-v', 'version', '-p prod version', '-o json --version', '-v --version'])(
  '%s prints the version',
  async (line) => {
    const { status, stdout, stderr } = await cli(temporaryHome(), line.split(' '));
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  },
);

test('graphcred without arguments prints the help', async () => {
  const home = temporaryHome();
  const help = await cli(home, ['--help']);
  expect(help).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/First steps:(\n {2}graphcred .*){4}\n\nCommands:/),
    stderr: '',
  });
  for (const line of [[], ['help'], ['-q', 'help'], ['help', 'help'], ['help', '-h'], ['-h']])
    expect(await cli(home, line)).toEqual(help);
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
  expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining(`Usage: graphcred ${long}|`) });
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

const PAGE = 'docs/man/graphcred.1';

const missing = (program: string) =>
  spawnSync(program, ['-h']).error && `${program} is not installed, so it does not read the manual page`;

test('mandoc prints no warning about the manual page', ({ skip }) => {
  const problem = missing('mandoc');
  skip(problem !== undefined, problem);
  const { status, stdout, stderr } = spawnSync('mandoc', ['-Tlint', PAGE], { encoding: 'utf8' });
  expect({ status, complaints: stdout + stderr }).toEqual({ status: 0, complaints: '' });
});

test('the commands in the manual page can be typed as they are shown', ({ skip }) => {
  const problem = missing('groff');
  skip(problem !== undefined, problem);
  const shown = execFileSync('groff', ['-man', '-Tutf8', '-rLL=200n', '-P-cbou', PAGE], {
    encoding: 'utf8',
  });
  for (const { examples, options } of COMMANDS) {
    for (const line of examples) expect(shown).toContain(` ${line}\n`);
    for (const { name } of options) expect(shown).toContain(`--${name}`);
  }
  for (const section of ['EXAMPLES', 'ENVIRONMENT', 'FILES', 'EXIT STATUS', 'SEE ALSO'])
    expect(shown).toContain(`\n${section}\n`);
});
