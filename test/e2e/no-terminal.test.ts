import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/args/catalogue.js';
import { temporaryHome } from '../helpers/cli.js';
import { COMMAND, endOf, sandboxFor } from '../helpers/process.js';
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

/** The exit status of each command while the password is missing, and the user name and the server are set. */
const POOR: Readonly<Record<string, readonly [words: string, status: number]>> = {
  'secret list': ['', 2],
  'secret create': ['ci', 2],
  'secret drop': ['ci old', 2],
  'secret rotate': ['ci', 2],
  'secret prune': ['--yes', 2],
  'token get': ['', 2],
  'token refresh': ['', 3],
  'token delete': ['', 3],
  'token list': ['', 0],
  'token check': ['', 3],
  exec: ['-- cat', 125],
  proxy: ['-- cat', 125],
  api: ['/echo', 2],
  login: ['', 2],
  logout: ['', 3],
  status: ['', 3],
  'profile list': ['', 0],
  'profile use': ['mine', 3],
  'profile remove': ['mine', 3],
  'config show': ['', 0],
  'config trust': ['', 3],
  'config path': ['', 3],
  doctor: ['', 0],
  sandbox: ['--rest-port 0 --gsql-port 0 -- true', 0],
  completion: ['bash', 0],
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
    const { status, stderr } = await endOf((WAYS[way] as (typeof WAYS)[string])(argv, all));
    if (status === 2 || status === 125)
      expect(stderr).toContain('hint: give --password-stdin, --password-file or GRAPHCRED_PASSWORD');
    return [command, status];
  });
  expect(results).toEqual(Object.entries(POOR).map(([command, [, status]]) => [command, status]));
  expect(sandbox.requests.filter(({ login }) => login !== 'none')).toEqual([]);
});

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
