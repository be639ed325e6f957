import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { COMMAND, type Running, sandboxFor, start } from '../helpers/process.js';
import { KEYS, onTerminal, python } from '../helpers/terminal.js';

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

interface Slow {
  readonly env: Record<string, string>;
  /** The request that is not answered has arrived. */
  readonly asked: Promise<void>;
}

/** A REST server that never answers this method, and to any other gives a token. */
async function slowServer(home: string, method: string): Promise<Slow> {
  let arrived = () => {};
  const asked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const server = http.createServer((request, response) => {
    if (request.method === method) return arrived();
    const expiration = Math.floor(Date.now() / 1000) + 3600;
    response.end(JSON.stringify({ error: false, code: 'REST-0000', token: 'a1'.repeat(16), expiration }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const where = { GRAPHCRED_REST_URL: url, GRAPHCRED_GSQL_URL: url, GRAPHCRED_SERVER_VERSION: '3' };
  return { env: { HOME: home, GRAPHCRED_SECRET: 'x', GRAPHCRED_LIFETIME: '1h', ...where }, asked };
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

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '%s while the token is minted ends graphcred, and nothing runs',
    async (signal) => {
      const home = temporaryHome();
      const { env, asked } = await slowServer(home, 'POST');
      const marker = path.join(home, 'ran');
      const running = exec(env, '--', 'touch', marker);
      await asked;
      running.child.kill(signal);
      expect(await running.ended).toMatchObject({ signal, stdout: '', stderr: '' });
      expect(fs.existsSync(marker)).toBe(false);
    },
  );
});

describe.skipIf(!python)('on a terminal', () => {
  const onOne = (env: Record<string, string>, ...argv: string[]) =>
    onTerminal(['exec', '--store', 'none', ...argv], { env });

  test.each([
    ['Ctrl-C', KEYS.ctrlC, 'SIGINT'],
    ['Ctrl-\\', '\x1c', 'SIGQUIT'],
  ])('%s reaches the command once', async (_, key, signal) => {
    const { env } = await sandboxFor(temporaryHome());
    const terminal = onOne(env, '--', process.execPath, '-e', COUNTER);
    await terminal.see(/ready \d+/);
    terminal.type(key);
    await terminal.see(signal);
    // Another signal, so that a second one of the first would have to stand before its answer.
    terminal.signal('SIGTERM');
    await terminal.see('SIGTERM');
    terminal.signal('SIGUSR2');
    const { status, screen } = await terminal.ended;
    expect({ status, signals: screen.match(/SIG\w+/g) }).toEqual({
      status: 42,
      signals: [signal, 'SIGTERM'],
    });
  });

  test('it is the command’s: all three ends, its size, what is typed', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const script =
      'test -t 0 && test -t 1 && test -t 2 && stty size; read line; echo "got $line"; stty size; exit 5';
    const terminal = onOne(env, '--', 'sh', '-c', script);
    await terminal.see(/40 100/);
    terminal.resize(70);
    terminal.type('words\r');
    const { status, screen, restored } = await terminal.ended;
    expect({ status, restored }).toEqual({ status: 5, restored: true });
    expect(screen).toMatch(/got words\n40 70/);
  });

  test('Ctrl-Z stops both, and fg goes on with both', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const command = ['/bin/bash', '--norc', '--noprofile', '-i'];
    const terminal = onTerminal([], { env, command });
    await terminal.see(/[#$]$/m);
    const script = 'echo up; read x; echo "got $x"; exit 6';
    terminal.type(`${COMMAND.join(' ')} exec --store none -- sh -c '${script}'\r`);
    await terminal.see(/^up$/m);
    terminal.type('\x1a');
    await terminal.see(/Stopped/);
    terminal.type('fg\r');
    await terminal.see(/fg\n.*exec/);
    terminal.type('words\r');
    await terminal.see(/^got words$/m);
    terminal.type('echo "status $?"; exit\r');
    await terminal.see(/^status 6$/m);
    expect((await terminal.ended).status).toBe(0);
  });

  test('closing the window hangs up on the command, and graphcred ends with it', async () => {
    const home = temporaryHome();
    const { env } = await sandboxFor(home);
    const marker = path.join(home, 'hung-up');
    const script = `trap 'echo yes > ${marker}; exit 9' HUP; echo "ready"; while :; do sleep 0.05; done`;
    const terminal = onOne(env, '--', 'sh', '-c', script);
    await terminal.see('ready');
    terminal.close();
    expect((await terminal.ended).status).toBe(-1);
    expect(fs.existsSync(marker)).toBe(true);
  });

  test('a command under nohup outlives the window, and its token is revoked when it ends', async () => {
    const home = temporaryHome();
    const { env, sandbox } = await sandboxFor(home);
    // While the window is there, the third end is a terminal.
    const script = 'echo "<$TG_API_TOKEN>" >&3; while [ -t 3 ]; do sleep 0.05; done; echo yes > done';
    const words = ['--revoke', '--', 'sh', '-c', `exec 3>&1; exec nohup sh -c '${script}'`];
    const terminal = onTerminal(['exec', '--store', 'none', ...words], { env, cwd: home });
    await terminal.see(/<\w+>/);
    const token = /<(\w+)>/.exec(terminal.screen())?.[1] as string;
    terminal.close();
    await terminal.ended;
    expect(fs.existsSync(path.join(home, 'done'))).toBe(true);
    expect(await ask(sandbox.restUrl, token)).toBe(403);
  });

  const LOOP = 'echo "<$TG_API_TOKEN>"; while :; do sleep 0.05; done';

  test('Ctrl-C ends the command, and --revoke is done all the same', async () => {
    const { env, sandbox } = await sandboxFor(temporaryHome());
    const terminal = onOne(env, '--revoke', '--', 'sh', '-c', LOOP);
    await terminal.see(/<\w+>/);
    const token = /<(\w+)>/.exec(terminal.screen())?.[1] as string;
    terminal.type(KEYS.ctrlC);
    expect((await terminal.ended).status).toBe(130);
    expect(await ask(sandbox.restUrl, token)).toBe(403);
  });

  test('a second Ctrl-C does not wait for a slow server', async () => {
    const { env, asked } = await slowServer(temporaryHome(), 'DELETE');
    const terminal = onOne(env, '--revoke', '--', 'sh', '-c', LOOP);
    await terminal.see(/<\w+>/);
    terminal.type(KEYS.ctrlC);
    await asked;
    terminal.type(KEYS.ctrlC);
    expect((await terminal.ended).status).toBe(-2);
  });
});

/** What the server says to a token now. */
async function ask(restUrl: string, token: string): Promise<number> {
  return (await fetch(`${restUrl}/echo`, { headers: { authorization: `Bearer ${token.trim()}` } })).status;
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
      const { restUrl } = sandbox;
      expect([await ask(restUrl, run.stdout), await ask(restUrl, held.stdout)]).toEqual([403, 200]);
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
    expect([await ask(sandbox.restUrl, token), await ask(sandbox.restUrl, held)]).toEqual([403, 200]);
  });

  test('a command that is ended by a signal has its token revoked as well', async () => {
    const { env, sandbox } = await sandboxFor(temporaryHome());
    const running = exec(env, '--revoke', '--', 'sh', '-c', 'echo "$TG_API_TOKEN"; exec sleep 1000');
    const token = await until(running, /\n/);
    running.child.kill('SIGTERM');
    expect((await running.ended).status).toBe(143);
    expect(await ask(sandbox.restUrl, token)).toBe(403);
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
