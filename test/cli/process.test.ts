// Tests what only a process of its own has: file descriptors, and standard input that nobody closes.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { KEYCHAIN_CHILD } from '../../src/cli/context.js';
import { temporaryHome } from '../helpers/cli.js';
import { gate } from '../helpers/gate.js';
import { COMMAND, COMMAND_LINE, sandboxFor, standaloneSkipReason, start } from '../helpers/process.js';
import { KEYS, onTerminal, python } from '../helpers/terminal.js';

/** Waits for the end of a process; its status is null when a signal ended it. */
async function endOf(child: ChildProcess): Promise<{ status: number | null; stderr: string }> {
  let stderr = '';
  child.stderr?.on('data', (text) => {
    stderr += text;
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stderr };
}

test('standard input that does not end is TIMEOUT after --timeout', async () => {
  const argv = ['token', 'check', '--token-stdin', '--timeout', '1', '-o', 'json'];
  const env = { HOME: temporaryHome(), GRAPHCRED_STORE: 'none' };
  const { child, ended } = start(argv, env, 'open');
  child.stdin?.write('x');
  const { status, stderr } = await ended;
  expect({ status, code: JSON.parse(stderr).error.code }).toEqual({ status: 7, code: 'TIMEOUT' });
});

test.skipIf(standaloneSkipReason !== undefined)(
  'an error that nobody catches is a bug by its name, and its text is not shown',
  async () => {
    const home = temporaryHome();
    const crash = path.join(home, 'crash.cjs');
    fs.writeFileSync(crash, `setTimeout(() => { throw new RangeError('hunter2'); }, 0);`);
    const env = { HOME: home, GRAPHCRED_STORE: 'none', NODE_OPTIONS: `--require ${crash}` };
    const { status, stdout, stderr } = await start(['token', 'check', '--token-stdin'], env, 'open').ended;
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

test('as much on standard input as is read is no error of its own', async () => {
  const env = { HOME: temporaryHome(), GRAPHCRED_STORE: 'none' };
  const input = `two\nlines${'x'.repeat(65_536)}`.slice(0, 65_536);
  const { status, stderr } = await start(['token', 'check', '--token-stdin'], env, input).ended;
  expect({ status, size: stderr.includes('Standard input exceeds') }).toEqual({ status: 2, size: false });
});

test('a reader that has closed the pipe is no error', async () => {
  const { child, ended } = start(['--help'], { HOME: temporaryHome() });
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ status: 0, stderr: '' });
});

test('a current directory that was removed is refused, and the hint says how to leave it', async () => {
  const home = temporaryHome();
  const gone = path.join(home, 'gone');
  fs.mkdirSync(gone);
  const child = spawn('/bin/sh', ['-c', `rmdir '${gone}'; ${COMMAND_LINE}`, 'sh', 'config', 'path'], {
    cwd: gone,
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const { status, stderr } = await endOf(child);
  expect(status).toBe(2);
  expect(stderr).toContain('The current directory no longer exists.');
  expect(stderr).toContain('hint: go to one that exists, then run the command again: cd\n');
});

test('without an absolute HOME the home folder is the one that the system has for the user', async () => {
  const config = path.join(temporaryHome(), 'config.json');
  fs.writeFileSync(
    config,
    JSON.stringify({ graph: 'demo', username: 'ada', password: 'x', tls: { ca: '~/no-such.pem' } }),
    { mode: 0o600 },
  );
  const { stderr } = await start(['token', 'get', '--config', config], { HOME: 'relative/home' }).ended;
  expect(stderr).toContain(path.join(os.userInfo().homedir, 'no-such.pem'));
});

test.skipIf(!python)(
  'what is missing is asked for on a terminal, and not with /dev/null as input',
  async () => {
    const env = { HOME: temporaryHome(), GRAPHCRED_STORE: 'none', GRAPHCRED_HOST: 'http://127.0.0.1' };
    const argv = ['token', 'get', '--graph', 'demo', '--username', 'ada', '--server-version', '4'];
    const terminal = onTerminal(argv, { env });
    await terminal.see('Password');
    terminal.type(KEYS.ctrlC);
    expect((await terminal.ended).status).toBe(130);
    const [program, ...first] = COMMAND;
    const child = spawn(program, [...first, ...argv], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const { status, stderr } = await endOf(child);
    expect(status).toBe(2);
    expect(stderr).toContain('--password-file');
  },
);

test.skipIf(!fs.existsSync('/dev/full'))(
  'a note that cannot be written to stderr does not change the exit status',
  async () => {
    const [program, ...first] = COMMAND;
    const full = fs.openSync('/dev/full', 'w');
    const env = { PATH: process.env.PATH, HOME: temporaryHome(), GRAPHCRED_STORE: 'file' };
    const child = spawn(program, [...first, 'token', 'list'], { env, stdio: ['ignore', 'pipe', full] });
    fs.closeSync(full);
    expect((await endOf(child)).status).toBe(0);
  },
);

test('what comes in many parts on standard input is sent whole, and what goes to a pipe is written whole', async () => {
  const long = 'x'.repeat(300_000);
  const received: string[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      received.push(body);
      response.end(`{"error":false,"message":"${long}"}`);
    });
  });
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = {
    HOME: temporaryHome(),
    GRAPHCRED_REST_URL: url,
    GRAPHCRED_GSQL_URL: url,
    GRAPHCRED_SERVER_VERSION: '3.10.1',
    GRAPHCRED_STORE: 'none',
    TG_API_TOKEN: 't'.repeat(32),
  };
  const { status, stdout } = await start(['api', '/echo', '-d', '-'], env, long).ended;
  expect(status).toBe(0);
  expect(received.map((body) => body === long)).toEqual([true]);
  expect(stdout.includes(long)).toBe(true);
});

// holds: C8.1
test('exec reads a credential from stdin although its token is cached, so that the command cannot', async () => {
  const home = temporaryHome();
  const { env } = await sandboxFor(home);
  expect((await start(['token', 'get'], { ...env, GRAPHCRED_STORE: 'file' }).ended).status).toBe(0);
  const argv = ['exec', '--password-stdin', '--', 'cat'];
  const { ended } = start(argv, { ...env, GRAPHCRED_STORE: 'file', GRAPHCRED_PASSWORD: '' }, 'tigergraph\n');
  expect(await ended).toMatchObject({ status: 0, stdout: '', stderr: '' });
});

// holds: C8.2
test.skipIf(process.platform === 'win32')(
  'exec hands on the descriptors that it was started with',
  async () => {
    const home = temporaryHome();
    const { env } = await sandboxFor(home);
    fs.writeFileSync(path.join(home, 'three'), 'from 3 ');
    const line = `exec 3<three 4>four; ${COMMAND_LINE.replace('exec ', '')} <(echo from a pipe)`;
    const inner = 'cat <&3; cat "$1"; echo to 4 >&4';
    const child = spawn('bash', ['-c', line, 'bash', 'exec', '--', 'bash', '-c', inner, 'inner'], {
      env: { ...process.env, ...env, GRAPHCRED_STORE: 'none' },
      cwd: home,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    child.stdout?.on('data', (text) => {
      stdout += text;
    });
    expect(await endOf(child)).toEqual({ status: 0, stderr: '' });
    expect([stdout, fs.readFileSync(path.join(home, 'four'), 'utf8')]).toEqual([
      'from 3 from a pipe\n',
      'to 4\n',
    ]);
  },
);

// holds: C2.33
test('nothing of the sandbox stays in the user’s store after its command, and it reads no variable', async () => {
  const home = temporaryHome();
  const inner = `${COMMAND_LINE.replace('exec ', '').replace('"$@"', '')} token get && echo "$XDG_STATE_HOME"`;
  const env = { HOME: home, GRAPHCRED_OUTPUT: 'json', GRAPHCRED_STORE: 'keychain' };
  const done = await start(['sandbox', '--', 'sh', '-c', inner], env).ended;
  expect(done).toMatchObject({ status: 0, stderr: '' });
  expect(fs.readdirSync(home)).toEqual([]);
  expect(fs.existsSync(done.stdout.trim().split('\n')[1] as string)).toBe(false);
  expect((await start(['sandbox', '--rest-port', 'x'], env).ended).stderr).toMatch(/^graphcred: --rest-port/);
});

// holds: C2.6
test('a secret whose value nobody could read is told to be dropped', async () => {
  const { env } = await sandboxFor(temporaryHome());
  const run = async (stdout: 'pipe' | number, ...argv: string[]) => {
    const [program, ...first] = COMMAND;
    const options = { env: { PATH: process.env.PATH, ...env, GRAPHCRED_STORE: 'none' } };
    const child = spawn(program, [...first, 'secret', ...argv], {
      ...options,
      stdio: ['ignore', stdout, 'pipe'],
    });
    child.stdout?.destroy();
    return endOf(child);
  };
  const gone = await run('pipe', 'create', 'ci');
  expect(gone).toEqual({ status: 2, stderr: expect.stringContaining('graphcred secret drop ci') });
  const nowhere = await run(fs.openSync(os.devNull, 'w'), 'create', 'other');
  expect(nowhere.stderr).toContain(
    'the value went to the null device and is lost; drop it: graphcred secret drop other',
  );
  // A rotation without a store prints the value that works on what is left.
  const rotated = await run('pipe', 'rotate', 'ci');
  expect(rotated).toEqual({ status: 2, stderr: expect.stringMatching(/^[a-z0-9]{32}$/m) });
});

// holds: C2.11
test('a rotation that is broken off while its reader is gone prints the value, and what is left to do', async () => {
  const { sandbox, env } = await sandboxFor(temporaryHome(), { serverVersion: '4.1.2' });
  const set = { ...env, GRAPHCRED_STORE: 'none' };
  expect((await start(['secret', 'create', 'ci'], set).ended).status).toBe(0);
  let interrupted = async () => {};
  const url = await gate(sandbox.gsqlUrl, /^DELETE .*\bci\b/, () => interrupted());
  const at = { GRAPHCRED_GSQL_URL: url, GRAPHCRED_REST_URL: `${url}/restpp` };
  const { child, ended } = start(['secret', 'rotate', 'ci'], { ...set, ...at });
  // The answer comes too late.
  interrupted = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  child.stdout?.destroy();
  const { status, stderr } = await ended;
  expect(status).toBe(143);
  expect(stderr).toMatch(/^[a-z0-9]{32}$/m);
  expect(stderr).toMatch(
    /hint: ci_next has the value that was printed; see which of ci and ci_next there are/,
  );
});
