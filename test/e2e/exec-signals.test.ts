// Tests `exec` with signals and on a terminal. What it gives the command and what it revokes is tested in test/cli/exec.test.ts.
import { on } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryHome } from '../helpers/cli.js';
import { gate } from '../helpers/gate.js';
import { COMMAND, type Running, sandboxFor, standaloneSkipReason, start } from '../helpers/process.js';
import { statusFor } from '../helpers/sandbox.js';
import { KEYS, onTerminal, python } from '../helpers/terminal.js';

/** All but those that no program can catch, that stop it (below), that a mistake of its own raises, and those that Node needs itself. */
const SIGNALS = [
  ...([
    'SIGINT',
    'SIGTERM',
    'SIGHUP',
    'SIGQUIT',
    'SIGUSR1',
    'SIGCONT',
    'SIGWINCH',
    'SIGURG',
    'SIGALRM',
  ] as const),
  ...(['SIGVTALRM', 'SIGPROF', 'SIGXCPU', 'SIGXFSZ', 'SIGIO', 'SIGSYS', 'SIGABRT', 'SIGTRAP'] as const),
  // bun keeps these two for itself.
  ...(process.platform === 'linux' && !standaloneSkipReason ? (['SIGPWR', 'SIGSTKFLT'] as const) : []),
];

/** This program counts the signals it gets, and exits with 40 plus that number on SIGUSR2. */
const COUNTER = `
  let seen = 0;
  for (const name of ${JSON.stringify(SIGNALS)})
    process.on(name, () => { seen++; process.stdout.write(name + '\\n'); });
  process.on('SIGUSR2', () => process.exit(40 + seen));
  setInterval(() => {}, 1000);
  process.stdout.write('ready ' + process.pid + '\\n');
`;

function exec(env: Record<string, string>, ...argv: string[]): Running {
  return start(['exec', '--store', 'none', ...argv], env);
}

/** Resolves with the output of a process as soon as it matches the pattern. */
async function until({ child }: Running, pattern: RegExp): Promise<string> {
  let text = '';
  if (child.stdout)
    for await (const [part] of on(child.stdout, 'data', { close: ['close'] })) {
      text += part;
      if (pattern.test(text)) return text;
    }
  throw new Error(`ended before ${pattern}: ${text}`);
}

describe('signals', () => {
  test('each signal is passed on once, and graphcred waits for a command that ignores it', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const running = exec(env, '--', process.execPath, '-e', COUNTER);
    await until(running, /ready/);
    for (const signal of SIGNALS) {
      const arrived = until(running, new RegExp(signal));
      running.child.kill(signal);
      await arrived;
    }
    running.child.kill('SIGUSR2');
    expect(await running.ended).toMatchObject({ status: 40 + SIGNALS.length, stderr: '' });
  });

  test.runIf(process.platform === 'linux')('what stops and continues graphcred is passed on', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const script = "process.on('SIGTSTP', () => console.log('SIGTSTP'));";
    const running = exec(env, '--', process.execPath, '-e', script + COUNTER);
    await until(running, /ready/);
    running.child.kill('SIGTSTP');
    await until(running, /SIGTSTP/);
    running.child.kill('SIGCONT');
    await until(running, /SIGCONT/);
    running.child.kill('SIGUSR2');
    expect(await running.ended).toMatchObject({ status: 41 });
  });

  test('the command goes on when graphcred is killed', async () => {
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
});

// Such a command is run as that of exec is; the servers end after it.
test.each(['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR2'] as const)(
  'a command beside a sandbox is ended by %s, and graphcred with it',
  async (signal) => {
    const script = 'echo ready; exec sleep 600';
    const running = start(['sandbox', '--', 'sh', '-c', script], { HOME: temporaryHome() });
    await until(running, /ready/);
    running.child.kill(signal);
    const status = 128 + os.constants.signals[signal];
    expect(await running.ended).toMatchObject({ status, signal: null, stderr: '' });
  },
);

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
    // This is another signal than the first, because two pending signals of the same kind are delivered as one.
    terminal.signal('SIGTERM');
    await terminal.see('SIGTERM');
    terminal.signal('SIGUSR2');
    const { status, screen } = await terminal.ended;
    expect({ status, signals: screen.match(/SIG\w+/g) }).toEqual({
      status: 42,
      signals: [signal, 'SIGTERM'],
    });
  });

  test('the command gets the terminal: all three streams, its size, and what is typed', async () => {
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

  test('Ctrl-Z stops graphcred and the command, and fg continues both', async () => {
    const { env } = await sandboxFor(temporaryHome());
    const command = ['/bin/bash', '--norc', '--noprofile', '-i'];
    // The typed line holds two paths, and `fg` shows it again, so the terminal is wide enough not to wrap it.
    const terminal = onTerminal([], { env, command, columns: 300 });
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

  test('closing the window sends SIGHUP to the command, and graphcred ends with it', async () => {
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

  test('a command under nohup goes on after the window is closed, and its token is revoked when it ends', async () => {
    const home = temporaryHome();
    const { env, sandbox } = await sandboxFor(home);
    // File descriptor 3 is a terminal as long as the window is open.
    const script = 'echo "<$TG_API_TOKEN>" >&3; while [ -t 3 ]; do sleep 0.05; done; echo yes > done';
    const words = ['--revoke', '--', 'sh', '-c', `exec 3>&1; exec nohup sh -c '${script}'`];
    const terminal = onTerminal(['exec', '--store', 'none', ...words], { env, cwd: home });
    await terminal.see(/<\w+>/);
    const token = /<(\w+)>/.exec(terminal.screen())?.[1] as string;
    terminal.close();
    await terminal.ended;
    expect(fs.existsSync(path.join(home, 'done'))).toBe(true);
    expect(await statusFor(sandbox, token)).toBe(403);
  });
});

test('signals during the revocation neither stop it nor change the exit status', async () => {
  const { env, sandbox } = await sandboxFor(temporaryHome());
  let during = () => {};
  const restUrl = await gate(
    sandbox.restUrl,
    /^DELETE \/requesttoken/,
    async () => {},
    async () => during(),
  );
  const own = { ...env, GRAPHCRED_REST_URL: restUrl };
  const running = exec(own, '--revoke', '--', 'sh', '-c', 'echo "$TG_API_TOKEN"; exec sleep 1000');
  during = () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) running.child.kill(signal);
  };
  const token = await until(running, /\n/);
  running.child.kill('SIGINT');
  expect(await running.ended).toMatchObject({ status: 130, signal: null });
  expect(await statusFor(sandbox, token)).toBe(403);
});

// holds: C8.3
test('a signal between the mint and the command neither kills exec alone nor is lost, and the token is revoked', async () => {
  const home = temporaryHome();
  const { sandbox, env } = await sandboxFor(home);
  let signal = () => {};
  let token = '';
  const url = await gate(sandbox.restUrl, /^POST .requesttoken/, async (answer) => {
    token = JSON.parse(answer).token;
    signal();
  });
  for (const delay of [0, 2, 4, 6, 8, 12]) {
    signal = () => void setTimeout(() => running.child.kill('SIGTERM'), delay);
    const own = { ...env, GRAPHCRED_REST_URL: url, GRAPHCRED_STORE: 'none' };
    const running = exec(own, '--revoke', '--', 'sleep', '1000');
    expect(await running.ended).toMatchObject({ status: 143, signal: null });
    expect(await statusFor(sandbox, token)).not.toBe(200);
  }
});
