import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import { temporaryHome } from '../helpers/cli.js';
import { COMMAND, sandboxFor, start } from '../helpers/process.js';
import { DEEP } from '../helpers/property.js';
import { onTerminal, python } from '../helpers/terminal.js';

const [command, ...first] = COMMAND;
const begin = (argv: string[], options: SpawnOptions) => spawn(command, [...first, ...argv], options);

/** Ways to start a program while no person can be asked. */
const WAYS: Readonly<Record<string, (argv: string[], env: Record<string, string>) => ChildProcess>> = {
  'stdin closed': (argv, env) => spawn('sh', ['-c', 'exec "$@" <&-', 'sh', ...COMMAND, ...argv], { env }),
  'stdin is /dev/null': (argv, env) => begin(argv, { env, stdio: ['ignore', 'pipe', 'pipe'] }),
  'stdin is a pipe that says nothing': (argv, env) => begin(argv, { env }),
  'no terminal at all': (argv, env) => begin(argv, { env, detached: true }),
  'CI=true': (argv, env) => begin(argv, { env: { ...env, CI: 'true' } }),
};

interface Ended {
  status: number;
  stdout: string;
  stderr: string;
}

function ended(child: ChildProcess): Promise<Ended> {
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin?.on('error', () => {});
  const result: Ended = { status: -1, stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      result[name] += text;
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ ...result, status: status ?? -1 }));
  });
}

const said = (message: string, hint: string) => `graphcred: ${message}\nhint: ${hint}\n`;
const LOGIN = said(
  'A password is needed for <gsql>, and there is no terminal to ask.',
  'give --password-stdin, --password-file or GRAPHCRED_PASSWORD',
);
const MINT = said(
  'A password is needed for <gsql>, and there is no terminal to ask.',
  'give --password-stdin, --password-file or GRAPHCRED_PASSWORD; or a secret: --secret-stdin, --secret-file, GRAPHCRED_SECRET',
);
const NO_PROFILE = (command: string) =>
  said(`There is no profile "mine" (${command}).`, 'make it with: graphcred login');
const NO_FILE = said('There is no config file.', 'make one: graphcred login');

/** The message of each command when the password is missing, while the user name and the server are set. */
const POOR: Readonly<Record<string, readonly [words: string, status: number, stderr: string]>> = {
  'secret list': ['', 2, LOGIN],
  'secret create': ['ci', 2, LOGIN],
  'secret drop': ['ci old', 2, LOGIN],
  'secret rotate': ['ci', 2, LOGIN],
  'secret prune': ['--yes', 2, LOGIN],
  'token get': ['', 2, MINT],
  'token refresh': ['', 3, said('This machine holds no token to refresh.', 'get one: graphcred token get')],
  'token delete': [
    '',
    3,
    said(
      'This machine holds no such token.',
      '--skip-missing makes this no error; held tokens: graphcred token list',
    ),
  ],
  'token list': ['', 0, 'graphcred: this machine holds no token; get one: graphcred token get\n'],
  'token check': ['', 3, said('This machine holds no token to check.', 'get one: graphcred token get')],
  exec: ['-- cat', 125, MINT],
  api: ['/echo', 2, MINT],
  login: ['', 2, MINT],
  logout: ['', 3, said('Nothing of http://127.0.0.1 is kept here.', 'see: graphcred token list')],
  status: ['', 3, ''],
  'profile list': ['', 0, 'graphcred: there are no profiles; make one: graphcred login\n'],
  'profile use': ['mine', 3, NO_PROFILE('profile use')],
  'profile remove': ['mine', 3, NO_PROFILE('profile remove')],
  'config show': ['', 0, ''],
  'config trust': ['', 3, said('There is no config file here.', 'name it: graphcred config trust FILE')],
  'config path': ['', 3, NO_FILE],
  doctor: ['', 0, ''],
  sandbox: ['--rest-port 0 --gsql-port 0 -- true', 0, ''],
  completion: ['bash', 0, ''],
};

test('every command is in the table below', () => {
  expect(Object.keys(POOR).sort()).toEqual(COMMANDS.map((spec) => spec.path).sort());
});

test.each(Object.keys(WAYS))('%s: every command ends, and names the flag and the variable', async (way) => {
  const home = temporaryHome();
  const { env, sandbox } = await sandboxFor(home);
  const { GRAPHCRED_PASSWORD: _, ...poor } = env;
  const all = { PATH: process.env.PATH ?? '', ...poor, GRAPHCRED_STORE: 'file' };
  const results = await fourAtOnce(Object.entries(POOR), async ([command, [words]]) => {
    const argv = `${command} ${words}`.trim().split(' ');
    const { status, stderr } = await ended((WAYS[way] as (typeof WAYS)[string])(argv, all));
    return [command, status, stderr.replaceAll(sandbox.gsqlUrl, '<gsql>')];
  });
  expect(results).toEqual(
    Object.entries(POOR).map(([command, [, status, stderr]]) => [command, status, stderr]),
  );
  expect(sandbox.requests.filter(({ login }) => login !== 'none')).toEqual([]);
});

const MISSING: readonly (readonly [what: string, argv: string, left: string[], stderr: string])[] = [
  [
    'the user name',
    'token get',
    ['GRAPHCRED_PASSWORD', 'GRAPHCRED_USERNAME'],
    said(
      'A user name is needed for <gsql>, and there is no terminal to ask.',
      'give --username or GRAPHCRED_USERNAME; or a secret: --secret-stdin, --secret-file, GRAPHCRED_SECRET',
    ),
  ],
  [
    'the graph',
    'secret list',
    ['GRAPHCRED_GRAPH'],
    said(
      'Which graph? A 3.x server needs one for this.',
      'give --graph NAME, GRAPHCRED_GRAPH, or graph in the profile',
    ),
  ],
  [
    'a yes',
    'secret prune',
    [],
    said(
      'There is no terminal to ask whether secrets may be dropped.',
      'look first: graphcred secret prune --dry-run; then drop them with --yes',
    ),
  ],
  [
    'a file for -o gitlab',
    'token get -o gitlab',
    [],
    said('-o gitlab needs a file to write to.', 'give --dotenv FILE'),
  ],
  [
    'a file for -o github',
    'token get -o github',
    [],
    said(
      '-o github needs the variable GITHUB_OUTPUT, which GitHub Actions sets.',
      'outside GitHub Actions use another format, for example -o env',
    ),
  ],
];

test.each(MISSING)(
  'without %s the exit status is 2 at once, and the hint says how to set it',
  async (_what, line, left, stderr) => {
    const home = temporaryHome();
    const { env, sandbox } = await sandboxFor(home);
    const all: Record<string, string> = { ...env, GRAPHCRED_STORE: 'file' };
    for (const name of left) delete all[name];
    const result = await start(line.split(' '), all, 'open').ended;
    expect({ ...result, stderr: result.stderr.replaceAll(sandbox.gsqlUrl, '<gsql>') }).toEqual({
      status: 2,
      signal: null,
      stdout: '',
      stderr,
    });
  },
);

test.skipIf(!python).each([
  ['CI=true', { CI: 'true' }, []],
  ['--no-input', {}, ['--no-input']],
  ['GRAPHCRED_NO_INPUT', { GRAPHCRED_NO_INPUT: '1' }, []],
])('on a terminal with %s no question is asked', async (_way, more, words) => {
  const home = temporaryHome();
  const { env, sandbox } = await sandboxFor(home);
  const { GRAPHCRED_PASSWORD: _, ...poor } = env;
  for (const command of ['token get', 'secret list', 'secret prune', 'login']) {
    const argv = [...command.split(' '), ...words];
    const terminal = onTerminal(argv, { env: { ...poor, ...more, GRAPHCRED_STORE: 'file' }, pipe: true });
    const { status, stdout, screen } = await terminal.ended;
    const stderr = `${screen.replace(/\n/g, ' ').replaceAll(sandbox.gsqlUrl, '<gsql>')}`;
    expect({ command, status, stdout, stderr }).toEqual({
      command,
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('--password-stdin, --password-file or GRAPHCRED_PASSWORD'),
    });
  }
});

const RUNS = DEEP ? 200 : 20;

test.each([
  ['token get', /^$/],
  ['secret list', /^graphcred: there are no secrets on graph demo; [^\n]+\n$/],
  ['token list', /^$/],
  ['status', /^$/],
  ['api /echo', /^$/],
])(
  `%s ends ${RUNS} times out of ${RUNS} while stdin is an open pipe without data`,
  { timeout: 600_000 },
  async (line, told) => {
    const home = temporaryHome();
    const { env } = await sandboxFor(home);
    const all = { ...env, GRAPHCRED_STORE: 'file' };
    // The token is cached first, so that every run finds the same state.
    expect((await start(['token', 'get'], all).ended).status).toBe(0);
    const results = await fourAtOnce(
      Array.from({ length: RUNS }),
      () => start(line.split(' '), all, 'open').ended,
    );
    expect(results).toHaveLength(RUNS);
    for (const result of results)
      expect(result).toMatchObject({ status: 0, signal: null, stderr: expect.stringMatching(told) });
  },
);

/** Runs four at a time and returns the results in order. */
async function fourAtOnce<I, O>(inputs: readonly I[], work: (input: I) => Promise<O>): Promise<O[]> {
  const results: O[] = [];
  let next = 0;
  const worker = async () => {
    while (next < inputs.length) {
      const at = next++;
      results[at] = await work(inputs[at] as I);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return results;
}
