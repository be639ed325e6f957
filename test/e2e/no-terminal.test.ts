import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { EVERY_COMMAND } from '../helpers/every-command.js';
import { COMMAND, endOf, sandboxFor } from '../helpers/process.js';

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

/** These commands need the password that is missing. The others end with nothing done, or with what needs no server. */
const NEED_PASSWORD = /^(secret|token get|api|login)/;
const statusesOf = (path: string) =>
  ['exec', 'proxy'].includes(path) ? [125] : NEED_PASSWORD.test(path) ? [2] : [0, 3];

test.each(Object.keys(WAYS))('%s: every command ends, and names the flag and the variable', async (way) => {
  const home = temporaryHome();
  const { env, sandbox } = await sandboxFor(home);
  const { GRAPHCRED_PASSWORD: _, ...poor } = env;
  const all = { PATH: process.env.PATH ?? '', ...poor, GRAPHCRED_STORE: 'file' };
  await fourAtOnce(EVERY_COMMAND, async ({ path, lines: [line = ''] }) => {
    const argv = (path === 'secret prune' ? `${path} --yes` : line).split(' ');
    const { status, stderr } = await endOf((WAYS[way] as (typeof WAYS)[string])(argv, all));
    expect({ path, stderr, expected: statusesOf(path) }).toMatchObject({
      expected: expect.arrayContaining([status]),
    });
    if (status === 2 || status === 125)
      expect(stderr).toContain('hint: give --password-stdin, --password-file or GRAPHCRED_PASSWORD');
  });
  expect(sandbox.requests.filter(({ login }) => login !== 'none')).toEqual([]);
});

/** Runs four at a time. */
async function fourAtOnce<I>(inputs: readonly I[], work: (input: I) => Promise<void>): Promise<void> {
  const rest = [...inputs];
  const worker = async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) await work(next);
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
}
