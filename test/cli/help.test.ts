import fs from 'node:fs';
import { expect, test } from 'vitest';
import { COMMANDS, GROUPS } from '../../src/cli/commands.js';
import { TOPICS, topicPage } from '../../src/cli/topics.js';
import { cli, temporaryHome } from '../helpers/cli.js';

test.each(Object.keys(TOPICS))('docs/%s.md says what the program does', async (name) => {
  // Written anew with GRAPHCRED_WRITE_DOCS=1 npx vitest run test/cli/help.test.ts
  const file = `docs/${name}.md`;
  if (process.env.GRAPHCRED_WRITE_DOCS) fs.writeFileSync(file, topicPage(name));
  expect(fs.readFileSync(file, 'utf8')).toBe(topicPage(name));
  const help = await cli(temporaryHome(), ['help', name]);
  expect(help).toMatchObject({ status: 0, stderr: '' });
  for (const cell of TOPICS[name]?.rows().flat() ?? []) expect(help.stdout).toContain(cell);
});

test.each(COMMANDS.map(({ path }) => path))(
  'help for %s comes three ways, with examples first',
  async (path) => {
    const home = temporaryHome();
    const words = path.split(' ');
    const help = await cli(home, [...words, '--help']);
    expect(help).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^Examples:\n {2}\S/),
      stderr: '',
    });
    expect(await cli(home, [...words, '-h'])).toEqual(help);
    expect(await cli(home, ['help', ...words])).toEqual(help);
  },
);

test.each([[], ...Object.keys(GROUPS).map((name) => [name])])(
  'help for graphcred %s begins with what to type',
  async (...words) => {
    const { status, stdout } = await cli(temporaryHome(), [...words, '--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^(Examples|First steps):\n {2}.*graphcred/);
    for (const { path } of COMMANDS.filter(
      (spec) => words.length > 0 && spec.path.startsWith(`${words[0]} `),
    ))
      expect(stdout.split('Usage:')[0]).toContain(`graphcred ${path}`);
  },
);

test('every example is a command line that graphcred understands', () => {
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

test('options of the command alone come first, those of all commands under headings', async () => {
  const { stdout } = await cli(temporaryHome(), ['token', 'get', '--help']);
  const places = [
    'Options:',
    '--min-ttl',
    'Server and graph:',
    '--host',
    'Credentials and store:',
    '--store',
  ];
  expect(places.map((text) => stdout.indexOf(text))).toEqual(
    places.map((text) => stdout.indexOf(text)).toSorted((one, other) => one - other),
  );
  expect(stdout).not.toContain('undefined');
});

test.each([
  ['tokn get', 'token get'],
  ['token gte', 'token get'],
  ['token create', 'token get'],
  ['get token', 'token get'],
  ['secret delete x', 'secret drop'],
  ['rotate x', 'secret rotate'],
  ['list', 'secret list or token list'],
  ['logn', 'login'],
  ['SECRET', 'secret'],
  ['help tokn', 'token'],
  ['help secret lst', 'secret list'],
])('%s: did you mean %s', async (line, meant) => {
  const { status, stderr } = await cli(temporaryHome(), line.split(' '));
  expect(status).toBe(2);
  expect(stderr).toContain(`hint: did you mean ${meant}? `);
});

test.each(['frobnicate', 'x y', 'toString', '__proto__', 'token'])(
  '%s is like nothing, so nothing is guessed',
  async (line) => {
    const { status, stderr } = await cli(temporaryHome(), line.split(' '));
    expect(status).toBe(2);
    expect(stderr).not.toContain('did you mean');
  },
);

test.each([
  [['bogus'], 'There is no such command.'],
  [['token'], 'graphcred token needs one more word.'],
  [['token', 'get', '--hunter2=x'], 'There is no option --hunter here.'],
  [['token', 'get', '--graph'], 'The option --graph needs a value.'],
  [['token', 'get', 'hunter2'], 'There are more words than this command takes.'],
  [['token', 'get', '--store', 'hunter2'], '--store does not take this value.'],
  [['secret', 'drop'], 'The alias is missing.'],
  [[], 'A command is missing.'],
])('%j is one clear line and a hint, exit 2, and repeats no value', async (argv, message) => {
  const { status, stdout, stderr } = await cli(temporaryHome(), argv);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr.split('\n')).toEqual([`graphcred: ${message}`, expect.stringMatching(/^hint: /), '']);
  expect(stderr).not.toContain('hunter2');
});

test.each([['--password=hunter2'], ['--password', 'hunter2'], ['--secret=hunter2'], ['--token', 'hunter2']])(
  'a credential on the command line (%s) is refused and not repeated',
  async (...words) => {
    const { status, stdout, stderr } = await cli(temporaryHome(), ['token', 'get', ...words.filter(Boolean)]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).not.toContain('hunter2');
    expect(stderr).toContain('-stdin');
  },
);

test('a word that looks like a secret is refused and not repeated', async () => {
  const word = 'k3v9'.repeat(8);
  const { status, stderr } = await cli(temporaryHome(), ['secret', 'drop', word]);
  expect(status).toBe(2);
  expect(stderr).not.toContain(word);
});
