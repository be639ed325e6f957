// Tests what `exec` gives the command and what it revokes. Signals and terminals are tested in test/e2e/exec-signals.test.ts.
import { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { runChild } from '../../src/cli/child.js';
import type { Context } from '../../src/cli/context.js';
import { type Bench, bench, interruptedAt, temporaryHome } from '../helpers/cli.js';
import { COMMAND, type Running, sandboxFor, start } from '../helpers/process.js';

const VARIABLES = '"$TG_HOST|$TG_GRAPHNAME|$TG_RESTPP_PORT|$TG_GS_PORT"';

function exec(env: Record<string, string>, ...argv: string[]): Running {
  return start(['exec', '--store', 'none', ...argv], env);
}

// holds: C8.8
test('without a command, the shell of a person gets the token; a script is told what is missing', async () => {
  const { run, home } = await bench();
  const SHELL = path.join(home, 'shell');
  fs.writeFileSync(SHELL, '#!/bin/sh\ntest -n "$TG_API_TOKEN" && exit 7\n', { mode: 0o700 });
  expect(await run('exec', { person: true, env: { SHELL } })).toMatchObject({
    status: 7,
    stderr: expect.stringContaining('to leave it: exit'),
  });
  expect(await run('exec', { env: { SHELL } })).toMatchObject({ status: 2, stdout: '' });
});

describe('the environment of the command', () => {
  test.each(['3.10.1', '4.1.2'])('contains the address of the database on %s', async (serverVersion) => {
    const home = temporaryHome();
    const { env, sandbox } = await sandboxFor(home, { serverVersion });
    const { stdout } = await exec(env, '--', 'sh', '-c', `echo ${VARIABLES}`).ended;
    const [rest, service] = [new URL(sandbox.restUrl).port, new URL(sandbox.gsqlUrl).port];
    expect(stdout).toBe(`http://127.0.0.1|demo|${rest}|${service}\n`);
  });

  test('of an exec inside an exec contains a token of its own', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const inner = [...COMMAND, 'exec', '--store', 'none', '--', 'true'];
    const again = { ...env, GRAPHCRED_EXEC: '1', TG_API_TOKEN: 'outer' };
    expect(await exec(again, '--', 'sh', '-c', 'test "$TG_API_TOKEN" != outer').ended).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('inside another graphcred exec'),
    });
    const nested = await exec(env, '--', ...inner).ended;
    // The inner `exec` has no credential to mint with, because the outer one removes credentials from the environment.
    expect(nested).toMatchObject({ status: 125, stderr: expect.stringContaining('inside another') });
  });
});

// holds: C3.23
test('--all-graphs mints without the graph that is set, on 4.x alone', async () => {
  const { run, json, env, sandbox, requests } = await bench({ serverVersion: '4.1.2' });
  const ofGraph = await json<{ token: string }>('token get');
  const { token, graph } = await json<{ token: string; graph: null }>('token get --all-graphs');
  expect({ graph, isOther: token !== ofGraph.token }).toEqual({ graph: null, isOther: true });
  const { stdout } = await exec(env, '--all-graphs', '--', 'sh', '-c', `echo ${VARIABLES}`).ended;
  expect(stdout.split('|')[1]).toBe('demo');
  const mints = sandbox.requests.filter(({ path: route }) => route === '/gsql/v1/tokens');
  expect(mints.map(({ fields }) => fields.includes('graph'))).toEqual([true, false, false]);
  requests();
  for (const line of ['token get --all-graphs --graph demo', 'exec --all-graphs --graph=demo -- true'])
    expect(await run(line)).toMatchObject({ status: 2, stderr: expect.stringContaining('contradict') });
  expect(requests()).toEqual([]);
  const of3 = await bench();
  for (const line of ['token get --all-graphs', 'exec --revoke --all-graphs -- true'])
    expect(await of3.run(line)).toMatchObject({ status: 2, stderr: expect.stringContaining('--graph NAME') });
  expect(of3.requests().filter((line) => !line.includes('version'))).toEqual([]);
});

test('a signal to graphcred reaches the command as the same signal', async () => {
  const { env } = await sandboxFor(temporaryHome());
  const script =
    "process.on('SIGUSR2', () => process.exit(44)); console.log('ready'); setInterval(() => {}, 60_000)";
  const running = exec(env, '--', process.execPath, '-e', script);
  running.child.stdout?.once('data', () => running.child.kill('SIGUSR2'));
  expect(await running.ended).toMatchObject({ status: 44, stdout: 'ready\n' });
});

describe('before the command runs', () => {
  test.each([
    ['AUTH_FAILED', { GRAPHCRED_PASSWORD: 'wrong' }],
    ['INPUT_REQUIRED', { GRAPHCRED_PASSWORD: '' }],
    ['CONFIG_INVALID', { GRAPHCRED_CONFIG: path.resolve('LICENSE') }],
    ['NETWORK', { GRAPHCRED_GSQL_URL: 'http://127.0.0.1:1' }],
  ])('%s is exit 125, and the command is not run', async (code, more) => {
    const home = temporaryHome();
    const { env } = await sandboxFor(home);
    const marker = path.join(home, 'ran');
    const ended = await exec({ ...env, ...more }, '-o', 'json', '--', 'touch', marker).ended;
    expect({ status: ended.status, stdout: ended.stdout, ran: fs.existsSync(marker) }).toEqual({
      status: 125,
      stdout: '',
      ran: false,
    });
    expect(JSON.parse(ended.stderr).error).toMatchObject({ code, exitCode: 125 });
  });

  // holds: C8.5
  test.each([['--bogus'], ['--store', 'drawer'], ['--lifetime']])('%j is exit 2', async (...argv) => {
    const { env } = await sandboxFor(temporaryHome());
    expect((await exec(env, ...argv, '--', 'true').ended).status).toBe(2);
  });
});

/** Returns the HTTP status with which the server answers a request with this token. */
async function ask(restUrl: string, token: string): Promise<number> {
  return (await fetch(`${restUrl}/echo`, { headers: { authorization: `Bearer ${token.trim()}` } })).status;
}

describe('--revoke', () => {
  // holds: C8.3
  test.each(['3.10.1', '4.1.2'])(
    'mints a token on %s for this run alone, and revokes it at the end',
    async (serverVersion) => {
      const home = temporaryHome();
      const { env, sandbox } = await sandboxFor(home, { serverVersion });
      const held = await start(['token', 'get', '--store', 'file', '-q'], env).ended;
      const argv = ['exec', '--revoke', '--store', 'file', '--lifetime', '1h', '--', 'sh', '-c'];
      const run = await start([...argv, 'printenv TG_API_TOKEN; exit 3'], env).ended;
      expect(run.status).toBe(3);
      expect(run.stdout).not.toBe(held.stdout);
      expect(run.stderr.includes('block list')).toBe(serverVersion.startsWith('4'));
      const { restUrl } = sandbox;
      expect([await ask(restUrl, run.stdout), await ask(restUrl, held.stdout)]).toEqual([403, 200]);
      const list = await start(['token', 'list', '--store', 'file', '-o', 'json'], env).ended;
      expect(JSON.parse(list.stdout).tokens).toHaveLength(1);
    },
  );

  test.each([
    ['1h', 3600],
    ['9', 9],
  ])(
    'gets another token than the one cached for %s, even in the same second on 4.x',
    async (lifetime, seconds) => {
      const at = Date.now();
      const { env, sandbox } = await sandboxFor(temporaryHome(), { serverVersion: '4.1.2', now: () => at });
      const words = ['-q', '--store', 'file', '--lifetime', lifetime];
      const held = (await start(['token', 'get', ...words], env).ended).stdout.trim();
      const run = await start(['exec', '--revoke', ...words, '--', 'printenv', 'TG_API_TOKEN'], env).ended;
      expect(run.status).toBe(0);
      const token = run.stdout.trim();
      const { iat, exp } = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
      const life = exp - iat - 5;
      expect(life).toBeLessThan(seconds);
      expect(life).toBeGreaterThanOrEqual(seconds * 0.9 - 1);
      expect([await ask(sandbox.restUrl, token), await ask(sandbox.restUrl, held)]).toEqual([403, 200]);
    },
  );

  test.each(['1', '2'])('can have the shortest lifetimes, %s s, on 4.x', async (lifetime) => {
    const { run, requests } = await bench({ serverVersion: '4.1.2' });
    const { status } = await run(`exec --revoke --lifetime ${lifetime} -- true`);
    expect(status).toBe(0);
    expect(requests()).toContain('POST /gsql/v1/tokens');
  });

  // holds: C8.4
  test('is exit 10 if the revocation fails and the command exited with 0', async () => {
    const { env, sandbox } = await sandboxFor(temporaryHome());
    sandbox.addFault({ action: 'drop-before', route: 'DELETE /requesttoken' });
    expect(await exec(env, '--revoke', '-o', 'json', '--', 'true').ended).toMatchObject({
      status: 10,
      stderr: expect.stringMatching(/PARTIAL.*could not be revoked/),
    });
  });
});

describe('exec', () => {
  /** Runs `exec` with a command that writes its environment to a file. */
  const environmentOf = async (b: Bench, argv: string[], env: Record<string, string> = {}) => {
    const file = path.join(b.home, 'environment');
    const result = await b.run([...argv, '--', 'sh', '-c', `env > '${file}'`], { env });
    expect(result.status, result.stderr).toBe(0);
    return fs.readFileSync(file, 'utf8');
  };

  test('--version after the command belongs to the command, which runs in the working directory', async () => {
    const b = await bench();
    const there = temporaryHome();
    const argv = ['exec', '--', 'sh', '-c', 'echo "$1" > said', 'sh', '--version'];
    expect(await b.run(argv, { cwd: there })).toMatchObject({ status: 0, stdout: '' });
    expect(fs.readFileSync(path.join(there, 'said'), 'utf8')).toBe('--version\n');
  });

  test('-o json after the command belongs to the command, so an error of exec is text', async () => {
    const b = await bench();
    const { status, stderr } = await b.run(['exec', '--bogus', '--', 'tool', '-o', 'json']);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^graphcred: /);
  });

  test('a graph in the environment is not passed on with a profile without a graph', async () => {
    const b = await bench({ serverVersion: '4.1.2' });
    const env = { GRAPHCRED_GRAPH: '', TG_GRAPHNAME: 'stale' };
    expect((await b.run('login -p dev', { env: { GRAPHCRED_GRAPH: '' } })).status).toBe(0);
    expect(await environmentOf(b, ['exec', '-p', 'dev'], env)).not.toContain('stale');
  });

  test('a bug before the command runs is exit 125 and shown only by its kind', async () => {
    const { run } = await bench();
    const now = () => {
      throw new TypeError('canary');
    };
    const { status, stdout, stderr } = await run(['exec', '--', 'echo', 'ran'], { now });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toBe(
      'graphcred: graphcred ran into a bug (TypeError).\nhint: please report it, with the command you typed and the lines that -v prints\n',
    );
  });

  test.each([
    [['graphcred-no-such-program'], 127],
    [['/etc/passwd'], 126],
    [['sh', '-c', 'kill -TERM $$'], 143],
    [['sh', '-c', 'exit 7'], 7],
  ])('%j is exit %i', async (command, status) => {
    const { run } = await bench();
    expect((await run(['exec', '--', ...command])).status).toBe(status);
  });
});

test('a signal that may not be sent to the command, since it runs as another user, is no failure to start it', async () => {
  const ctx = { stdin: {}, stdout: {}, stderr: {}, platform: process.platform, cwd: temporaryHome() };
  const kill = vi.spyOn(ChildProcess.prototype, 'kill').mockImplementationOnce(function (this: ChildProcess) {
    this.emit('error', Object.assign(new Error('kill EPERM'), { code: 'EPERM' }));
    this.kill('SIGTERM');
    return false;
  });
  onTestFinished(() => kill.mockRestore());
  const ended = runChild(ctx as unknown as Context, ['sh', '-c', 'read line'], process.env);
  await vi.waitFor(() => expect(process.listenerCount('SIGUSR2')).toBeGreaterThan(0));
  process.emit('SIGUSR2');
  expect(await ended).toBe(128 + 15);
});

test('after Ctrl-C during the mint, exec --revoke does not start the command', async () => {
  const { run, home } = await interruptedAt('POST /requesttoken');
  const { status, stderr } = await run(['exec', '--revoke', '--', 'touch', path.join(home, 'ran')]);
  expect({ status, ran: fs.existsSync(path.join(home, 'ran')) }).toEqual({ status: 130, ran: false });
  expect(stderr).toContain('Interrupted');
});
