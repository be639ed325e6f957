import fs from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { cli, type Result, temporaryHome } from '../helpers/cli.js';
import { put } from '../helpers/home.js';
import { start } from '../helpers/process.js';

afterEach(() => {
  vi.useRealTimers();
});

const VALUE = 'k3v9q2m8x1c7b5n4l6h0g3f2d8s9a1p4';

/** Creates a profile whose server does not exist: a command that prints a credential gets as far as a network error. */
function profile(home: string, secretCommand: unknown): string {
  const settings = { gsqlUrl: 'http://127.0.0.1:9', restUrl: 'http://127.0.0.1:9', serverVersion: '3' };
  return put(home, 'own.json', { ...settings, secretCommand });
}

function get(home: string, command: unknown, env: Record<string, string> = {}): Promise<Result> {
  const argv = ['token', 'get', '--store', 'none', '-o', 'json', '--config', profile(home, command)];
  return cli(home, argv, { env });
}

const errorOf = ({ stderr }: Result) => JSON.parse(stderr.trim().split('\n').at(-1) as string).error;
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

function isRunning(pid: number): boolean {
  try {
    // A zombie has ended; nothing here collects its exit status.
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

// holds: C4.5
test('secretCommand gets none of the user’s credentials in its environment', async () => {
  const home = temporaryHome();
  const log = path.join(home, 'log');
  const env = {
    GRAPHCRED_STORE_KEY: VALUE,
    GRAPHCRED_SECRET_FILE: '',
    GRAPHCRED_OIDC_CLIENT_SECRET: VALUE,
    TG_API_TOKEN: VALUE,
    VAULT_ADDR: 'https://vault.example',
  };
  await get(home, ['sh', '-c', `env > '${log}'; echo x`], env);
  const seen = fs.readFileSync(log, 'utf8');
  expect(seen).toContain('VAULT_ADDR=');
  expect(seen).not.toContain(VALUE);
});

describe('a secretCommand that never ends', () => {
  /** A command that starts a process of its own, writes both process ids to a file, and never ends. */
  const hang = (log: string) => [
    'sh',
    '-c',
    `sleep 1000 & echo "$$ $!" > '${log}.tmp'; mv '${log}.tmp' '${log}'; wait`,
  ];
  const pidsIn = (log: string) =>
    fs.readFileSync(log, 'utf8').trim().split(' ').map(Number) as [number, number];

  // holds: C4.5
  test('is stopped with its helper processes after 30 seconds, and not before', async () => {
    const home = temporaryHome();
    const log = path.join(home, 'pids');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const running = get(home, hang(log));
    await until(() => fs.existsSync(log));
    const pids = pidsIn(log);
    vi.advanceTimersByTime(29_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(pids.map(isRunning)).toEqual([true, true]);
    vi.advanceTimersByTime(1);
    const result = await running;
    expect(result).toMatchObject({ status: 2, stdout: '' });
    expect(errorOf(result).message).toMatch(/sh gave no answer in 30 seconds and was stopped/);
    await until(() => !pids.some(isRunning));
  });

  test('is stopped on time, even if a helper process has left its process group', async () => {
    const home = temporaryHome();
    const log = path.join(home, 'pid');
    const command = ['sh', '-c', `setsid sleep 1000 & echo $! > '${log}'; wait`];
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const running = get(home, command);
    await until(() => fs.existsSync(log) && fs.readFileSync(log, 'utf8').endsWith('\n'));
    const pid = Number(fs.readFileSync(log, 'utf8'));
    // The test waits until the process has left the process group, because the whole group is killed.
    await until(() => /sleep/.test(fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')));
    vi.advanceTimersByTime(30_000);
    expect(await running).toMatchObject({ status: 2 });
    process.kill(pid, 'SIGKILL');
  });

  test.each(['SIGINT', 'SIGHUP', 'SIGTERM'] as const)('ends with graphcred on %s', async (signal) => {
    const home = temporaryHome();
    const log = path.join(home, 'pids');
    const argv = ['token', 'get', '--store', 'none', '--config', profile(home, hang(log))];
    const running = start(argv, { HOME: home });
    await until(() => fs.existsSync(log));
    running.child.kill(signal);
    expect(await running.ended).toMatchObject({ signal, stdout: '' });
    const pids = pidsIn(log);
    await until(() => !pids.some(isRunning));
  });
});
