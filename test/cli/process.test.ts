// Tests what only a process of its own has: a working folder, and standard input that nobody closes.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { KEYCHAIN_CHILD } from '../../src/cli/context.js';
import { answering } from '../contract/core-support.js';
import { temporaryHome } from '../helpers/cli.js';
import { COMMAND, COMMAND_LINE, endOf, sandboxFor, standaloneSkipReason, start } from '../helpers/process.js';

test('standard input that does not end is TIMEOUT after --timeout', async () => {
  const argv = ['token', 'check', '--token-stdin', '--timeout', '1', '-o', 'json'];
  const env = { HOME: temporaryHome(), GRAPHCRED_STORE: 'none' };
  const { child, ended } = start(argv, env, 'open');
  child.stdin?.write('x');
  const { status, stderr } = await ended;
  expect({ status, code: JSON.parse(stderr).error.code }).toEqual({ status: 7, code: 'TIMEOUT' });
});

test.skipIf(standaloneSkipReason !== undefined).each(['throw error', 'Promise.reject(error)'])(
  'an error that nobody catches (%s) is a bug by its name, and its text is not shown',
  async (thrown) => {
    const home = temporaryHome();
    const crash = path.join(home, 'crash.cjs');
    const error =
      "Object.assign(new RangeError('hunter2\\n    at hunter2'), { cause: { password: 'hunter2' } })";
    fs.writeFileSync(crash, `setTimeout(() => { const error = ${error}; ${thrown}; }, 0);`);
    const env = { HOME: home, GRAPHCRED_STORE: 'none', NODE_OPTIONS: `--require ${crash}` };
    const argv = ['token', 'check', '--token-stdin', '-v'];
    const { status, stdout, stderr } = await start(argv, env, 'open').ended;
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('graphcred ran into a bug (RangeError).');
    expect(stderr).not.toContain('hunter2');
  },
);

test('only the first word makes the process the helper of the keychain, which would wait for a request', async () => {
  const { status, stdout } = await start(['help', KEYCHAIN_CHILD], { HOME: temporaryHome() }).ended;
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
});

test('more on standard input than a token can be is refused, and the hint says where to look', async () => {
  const env = { HOME: temporaryHome(), GRAPHCRED_STORE: 'none' };
  const { status, stderr } = await start(['token', 'check', '--token-stdin'], env, 'x'.repeat(2_000_000))
    .ended;
  expect(status).toBe(2);
  expect(stderr).toMatch(/^graphcred: Standard input exceeds \d+ bytes\.$/m);
  expect(stderr).toContain('hint: check what is written to it\n');
});

test('a current directory that was removed is refused, and the hint says how to leave it', async () => {
  const home = temporaryHome();
  const gone = path.join(home, 'gone');
  fs.mkdirSync(gone);
  const child = spawn('/bin/sh', ['-c', `rmdir '${gone}'; ${COMMAND_LINE}`, 'sh', 'config', 'path'], {
    cwd: gone,
    env: { PATH: process.env.PATH, HOME: home },
  });
  const { status, stderr } = await endOf(child);
  expect(status).toBe(2);
  expect(stderr).toContain('The current directory no longer exists.');
  expect(stderr).toContain('hint: go to a directory that exists (cd), then run the command again\n');
});

test('what comes in many parts on standard input is sent whole', async () => {
  const long = 'x'.repeat(300_000);
  const { url, asked } = await answering(() => ({ body: { error: false } }));
  const env = {
    HOME: temporaryHome(),
    GRAPHCRED_REST_URL: url,
    GRAPHCRED_GSQL_URL: url,
    GRAPHCRED_SERVER_VERSION: '3.10.1',
    GRAPHCRED_STORE: 'none',
    TG_API_TOKEN: 't'.repeat(32),
  };
  expect(await start(['api', '/echo', '-d', '-'], env, long).ended).toMatchObject({ status: 0 });
  expect(asked.map(({ body }) => body === long)).toEqual([true]);
});

// holds: C8.1
test('exec reads a credential from stdin although its token is cached, so that the command cannot', async () => {
  const home = temporaryHome();
  const { env } = await sandboxFor(home);
  expect((await start(['token', 'get'], { ...env, GRAPHCRED_STORE: 'file' }).ended).status).toBe(0);
  const argv = ['exec', '--password-stdin', '--', 'sh', '-c', 'cat; env | grep ACTIONS_ID; true'];
  const ACTIONS_ID_TOKEN_REQUEST_TOKEN = 'runner';
  const variables = {
    ...env,
    GRAPHCRED_STORE: 'file',
    GRAPHCRED_PASSWORD: '',
    ACTIONS_ID_TOKEN_REQUEST_TOKEN,
  };
  const { ended } = start(argv, variables, 'tigergraph\n');
  expect(await ended).toMatchObject({ status: 0, stdout: '', stderr: '' });
});

const closedSkipReason =
  process.getuid?.() === 0 ? undefined : 'only root can put off the right to enter every folder';
if (closedSkipReason) console.log(`the folder that a user may not enter is skipped: ${closedSkipReason}`);

// holds: C8.2
test.skipIf(closedSkipReason)('exec runs its command in a folder that this user may not enter', async () => {
  const { env } = await sandboxFor(temporaryHome());
  const closed = path.join(temporaryHome(), 'closed');
  fs.mkdirSync(closed);
  const inner = 'chmod 000 .; exec setpriv --bounding-set=-all --inh-caps=-all "$@"';
  const [program, ...first] = COMMAND;
  const child = spawn('sh', ['-c', inner, 'sh', program, ...first, 'exec', '--', 'sh', '-c', 'exit 9'], {
    env: { PATH: process.env.PATH, ...env, GRAPHCRED_STORE: 'none' },
    cwd: closed,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  expect(await endOf(child)).toMatchObject({ status: 9, stderr: '' });
});

// holds: C2.33
test('nothing of the sandbox stays in the user’s store after its command, and it reads no variable', async () => {
  const home = temporaryHome();
  const inner = `${COMMAND_LINE.replace('exec ', '').replace('"$@"', '')} token get && echo "$XDG_STATE_HOME"`;
  const env = { HOME: home, GRAPHCRED_OUTPUT: 'json', GRAPHCRED_STORE: 'keychain' };
  const done = await start(['sandbox', '--', 'sh', '-c', inner], env).ended;
  expect(done).toMatchObject({ status: 0, stderr: '' });
  expect(fs.readdirSync(home)).toEqual([]);
  expect(fs.existsSync(done.stdout.trim().split('\n')[1] as string)).toBe(false);
  expect((await start(['sandbox', '--rest-port', 'x'], env).ended).stderr).toMatch(
    /^graphcred: The value of --rest-port/,
  );
});

// holds: C2.6
test('a secret whose value nobody could read is told to be dropped, or not made at all', async () => {
  const { env } = await sandboxFor(temporaryHome());
  const run = async (stdout: 'pipe' | 'ignore' | number, ...argv: string[]) => {
    const [program, ...first] = COMMAND;
    const child = spawn(program, [...first, 'secret', ...argv], {
      env: { PATH: process.env.PATH, ...env, GRAPHCRED_STORE: 'none' },
      stdio: ['ignore', stdout, 'pipe'],
    });
    child.stdout?.destroy();
    return endOf(child);
  };
  const gone = await run('pipe', 'create', 'ci');
  expect(gone).toMatchObject({ status: 2, stderr: expect.stringContaining('graphcred secret drop ci') });
  const devices = process.platform === 'linux' ? [os.devNull, '/dev/full'] : [os.devNull];
  for (const device of devices)
    expect(await run(fs.openSync(device, 'w'), 'create', 'other')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(`cannot be printed to standard output: it is closed, or ${device}`),
    });
  expect((await run('ignore', 'list')).stderr).not.toContain('other');
});
