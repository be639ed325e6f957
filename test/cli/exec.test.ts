import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { COMMAND, type Running, sandboxFor, start } from '../helpers/process.js';

const VARIABLES = '"$TG_HOST|$TG_GRAPHNAME|$TG_RESTPP_PORT|$TG_GS_PORT"';
/** Counts each signal it gets, and ends with 40 + that number on SIGUSR2. */
const COUNTER = `
  let seen = 0;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])
    process.on(name, () => { seen++; process.stdout.write(name + '\\n'); });
  process.on('SIGUSR2', () => process.exit(40 + seen));
  setInterval(() => {}, 1000);
  process.stdout.write('ready ' + process.pid + '\\n');
`;

function exec(env: Record<string, string>, ...argv: string[]): Running {
  return start(['exec', '--store', 'none', ...argv], env);
}

/** The text a process has written once it matches. */
function until({ child }: Running, pattern: RegExp): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (part: string) => {
      text += part;
      if (pattern.test(text)) resolve(text);
    });
    child.once('close', () => reject(new Error(`ended before ${pattern}: ${text}`)));
  });
}

describe('the environment of the command', () => {
  test.each(['3.10.1', '4.1.2'])('names the database of %s', async (serverVersion) => {
    const home = temporaryHome();
    const { env, sandbox } = await sandboxFor(home, { serverVersion });
    const { stdout } = await exec(env, '--', 'sh', '-c', `echo ${VARIABLES}`).ended;
    const [rest, service] = [new URL(sandbox.restUrl).port, new URL(sandbox.gsqlUrl).port];
    expect(stdout).toBe(`http://127.0.0.1|demo|${rest}|${service}\n`);
  });

  test('holds no graph of another database', async () => {
    const home = temporaryHome();
    const { sandbox } = await sandboxFor(home, { serverVersion: '4.1.2' });
    const config = path.join(home, 'config.json');
    const profile = {
      restUrl: sandbox.restUrl,
      gsqlUrl: sandbox.gsqlUrl,
      username: sandbox.username,
      password: sandbox.password,
    };
    fs.writeFileSync(config, JSON.stringify({ profiles: { other: profile } }), { mode: 0o600 });
    const argv = ['--config', config, '-p', 'other', '-q', '--', 'sh', '-c', `echo ${VARIABLES}`];
    const { status, stdout } = await exec({ HOME: home, TG_GRAPHNAME: 'stale' }, ...argv).ended;
    expect({ status, graph: stdout.split('|')[1] }).toEqual({ status: 0, graph: '' });
  });

  test('an exec inside an exec is noticed, and has a token of its own', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const inner = [...COMMAND, 'exec', '--store', 'none', '--', 'true'];
    const again = { ...env, GRAPHCRED_EXEC: '1', TG_API_TOKEN: 'outer' };
    expect(await exec(again, '--', 'sh', '-c', 'test "$TG_API_TOKEN" != outer').ended).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('inside another graphcred exec'),
    });
    const nested = await exec(env, '--', ...inner).ended;
    // The inner one was left nothing to mint with: that is what exec is for.
    expect(nested).toMatchObject({ status: 125, stderr: expect.stringContaining('inside another') });
  });
});

describe('before the command runs', () => {
  test.each([
    ['AUTH_FAILED', { GRAPHCRED_PASSWORD: 'wrong' }],
    ['INPUT_REQUIRED', { GRAPHCRED_PASSWORD: '' }],
    ['CONFIG_INVALID', { GRAPHCRED_CONFIG: path.resolve('LICENSE') }],
    ['NETWORK', { GRAPHCRED_GSQL_URL: 'http://127.0.0.1:1' }],
  ])('%s is 125, and it does not run', async (code, more) => {
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

  test.each([['--bogus'], ['--store', 'drawer'], ['--lifetime']])('%j is 2', async (...argv) => {
    const { env } = await sandboxFor(temporaryHome());
    expect((await exec(env, ...argv, '--', 'true').ended).status).toBe(2);
  });
});

describe('signals', () => {
  test('each is passed on once; a command that ignores them is waited for', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const running = exec(env, '--', process.execPath, '-e', COUNTER);
    await until(running, /ready/);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
      const arrived = until(running, new RegExp(signal));
      running.child.kill(signal);
      await arrived;
    }
    running.child.kill('SIGUSR2');
    expect(await running.ended).toMatchObject({ status: 44, stderr: '' });
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGKILL', 137],
  ])('a command that dies of %s is %i', async (signal, status) => {
    const { env } = await sandboxFor(temporaryHome());
    const command = `process.kill(process.pid, '${signal}'); setTimeout(() => {}, 60000)`;
    expect(await exec(env, '--', process.execPath, '-e', command).ended).toMatchObject({ status });
  });

  test('when graphcred is killed the command lives on', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const running = exec(env, '--', process.execPath, '-e', COUNTER);
    const pid = Number(/ready (\d+)/.exec(await until(running, /ready \d+\n/))?.[1]);
    const gone = new Promise((resolve) => running.child.once('exit', resolve));
    running.child.kill('SIGKILL');
    await gone;
    const answer = until(running, /SIGTERM/);
    process.kill(pid, 'SIGTERM');
    expect(await answer).toContain('SIGTERM');
    process.kill(pid, 'SIGUSR2');
    expect((await running.ended).signal).toBe('SIGKILL');
  });

  const terminal = hasPython();
  if (!terminal) console.log('Ctrl-C on a terminal is not tested: there is no python3 to make one');
  test.skipIf(!terminal)('Ctrl-C on a terminal reaches the command once', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const words = [...COMMAND, 'exec', '--store', 'none', '--', process.execPath, '-e', COUNTER];
    const child = spawn('python3', ['-c', ON_A_TERMINAL, ...words], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    const status = await new Promise((resolve) => child.once('close', resolve));
    expect({ status, signals: text.match(/SIG\w+/g) }).toEqual({ status: 41, signals: ['SIGINT'] });
  });
});

/** Runs a program on a new terminal, types Ctrl-C when it is ready, and ends it by SIGUSR2 when it answered. */
const ON_A_TERMINAL = `
import os, pty, re, signal, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
text, typed, ended = '', False, False
while True:
    try:
        part = os.read(fd, 4096).decode()
    except OSError:
        break
    if not part:
        break
    text += part
    sys.stdout.write(part)
    ready = re.search(r'ready (\\d+)', text)
    if ready and not typed:
        typed = True
        os.write(fd, b'\\x03')
    if typed and 'SIGINT' in text and not ended:
        ended = True
        # Time for a second one, if there is a second one.
        time.sleep(0.5)
        os.kill(int(ready.group(1)), signal.SIGUSR2)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

function hasPython(): boolean {
  return (process.env.PATH ?? '').split(':').some((folder) => fs.existsSync(path.join(folder, 'python3')));
}

describe('--revoke', () => {
  test.each(['3.10.1', '4.1.2'])(
    'mints on %s for this run alone, and revokes it at the end',
    async (serverVersion) => {
      const home = temporaryHome();
      const { env, sandbox } = await sandboxFor(home, { serverVersion });
      const held = await start(['token', 'get', '--store', 'file', '-q'], env).ended;
      const argv = ['exec', '--revoke', '--store', 'file', '--lifetime', '1h', '--', 'sh', '-c'];
      const run = await start([...argv, 'printenv TG_API_TOKEN; exit 3'], env).ended;
      expect(run.status).toBe(3);
      expect(run.stdout).not.toBe(held.stdout);
      expect(run.stderr.includes('block list of 20')).toBe(serverVersion.startsWith('4'));
      const ask = async (token: string) =>
        (await fetch(`${sandbox.restUrl}/echo`, { headers: { authorization: `Bearer ${token.trim()}` } }))
          .status;
      expect([await ask(run.stdout), await ask(held.stdout)]).toEqual([403, 200]);
      const list = await start(['token', 'list', '--store', 'file', '-o', 'json'], env).ended;
      expect(JSON.parse(list.stdout).tokens).toHaveLength(1);
    },
  );

  test.each([
    ['1h', 3600],
    ['9', 9],
  ])('in one second of a 4.x it gets another token than the one held for %s', async (lifetime, seconds) => {
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
    const ask = async (bearer: string) =>
      (await fetch(`${sandbox.restUrl}/echo`, { headers: { authorization: `Bearer ${bearer}` } })).status;
    expect([await ask(token), await ask(held)]).toEqual([403, 200]);
  });

  test('a revocation that fails is a warning; the status is still the command’s', async () => {
    const { env, sandbox } = await sandboxFor(temporaryHome());
    const running = exec(env, '--revoke', '--', process.execPath, '-e', COUNTER);
    await until(running, /ready/);
    await sandbox.close();
    running.child.kill('SIGUSR2');
    expect(await running.ended).toMatchObject({
      status: 40,
      stderr: expect.stringMatching(/warning: the token could not be revoked/),
    });
  });
});
