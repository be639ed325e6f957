import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { defined } from './defined.js';
import { missing, skipped } from './lacking.js';

/** What the session bus has: a keyring that is unlocked or locked, or a service without a keyring. */
type KeyringState = 'unlocked' | 'locked' | 'no-collection';

export interface Keyring {
  /** The environment for the processes under test: private HOME, XDG_RUNTIME_DIR, TMPDIR, session bus, display. */
  readonly env: Readonly<Record<string, string>>;
  /** The private HOME. All the other folders are inside it, and `stop` removes it. */
  readonly home: string;
  /** Locks the keyring, as a desktop does after a while. */
  lock(): Promise<void>;
  /** What graphcred has in the keyring, as D-Bus shows it. */
  items(): Promise<string>;
  /** Kills all processes of the session and removes its folder. It may be called twice. */
  stop(): Promise<void>;
}

/** The password that unlocks the keyring. */
export const KEYRING_PASSWORD = 'a-password-for-tests';
const SECRETS = '/org/freedesktop/secrets';

const required = (what: string, problem: string | undefined) =>
  skipped(what, problem, 'GRAPHCRED_TEST_KEYCHAIN');

/** Returns why this machine has no keychain, and prints it; `undefined` if there is one. */
export const keyringSkipReason = () => required('keychain', keyringProblem());

/** Does the same for tests that also need a display. */
export const displaySkipReason = () =>
  required('display', keyringProblem() ?? missing(['Xvfb'], 'apt install xvfb'));

/** Does the same for tests that answer the prompt. */
export const typingSkipReason = () =>
  required('prompt', keyringProblem() ?? missing(['Xvfb', 'xdotool'], 'apt install xvfb xdotool'));

/** Does the same for tests that mount file systems in a namespace of their own. This needs root, so it is never required. */
export const mountSkipReason = () => skipped('mount', mountProblem());

function keyringProblem(): string | undefined {
  if (process.platform !== 'linux') return 'they run on Linux only';
  const problem = missing(
    ['dbus-daemon', 'gnome-keyring-daemon', 'gdbus'],
    'apt install dbus gnome-keyring libsecret-1-0 libglib2.0-bin',
  );
  if (problem) return problem;
  try {
    createRequire(import.meta.url)('keytar');
    return undefined;
  } catch {
    return 'the native module keytar does not load (apt install libsecret-1-0; npm install)';
  }
}

function mountProblem(): string | undefined {
  if (process.platform !== 'linux') return 'they run on Linux only';
  if (process.getuid?.() !== 0) return 'they mount things and so need root';
  try {
    execFileSync('unshare', ['-m', 'mount', '--bind', '/dev/null', '/dev/null'], { stdio: 'pipe' });
    return undefined;
  } catch {
    return 'this machine does not allow private mounts (unshare -m)';
  }
}

export interface KeyringOptions {
  readonly state?: KeyringState;
  /** Whether to start an X server too, on which the keyring can show its prompt. */
  readonly display?: boolean;
}

export async function withKeyring<T>(
  options: KeyringOptions,
  work: (keyring: Keyring) => Promise<T>,
): Promise<T> {
  const keyring = await startKeyring(options);
  try {
    return await work(keyring);
  } finally {
    await keyring.stop();
  }
}

/** Starts a session bus with gnome-keyring, in a home folder of its own. */
export async function startKeyring(options: KeyringOptions = {}): Promise<Keyring> {
  const { state = 'unlocked', display = false } = options;
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-keyring-'));
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    LANG: 'C.UTF-8',
    HOME: home,
    XDG_RUNTIME_DIR: path.join(home, 'run'),
    TMPDIR: path.join(home, 'tmp'),
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${path.join(home, 'run', 'bus')}`,
  };
  for (const dir of [defined(env.XDG_RUNTIME_DIR), defined(env.TMPDIR)]) fs.mkdirSync(dir, { mode: 0o700 });

  const killAll = () => signalProcessesOf(home, 'SIGKILL');
  // The test run may be cut short.
  process.on('exit', killAll);
  const stop = async () => {
    process.off('exit', killAll);
    // After SIGTERM the X server removes its files from /tmp.
    signalProcessesOf(home, 'SIGTERM');
    await eventually(() => processesOf(home).length === 0, 2_000);
    killAll();
    fs.rmSync(home, { recursive: true, force: true, maxRetries: 10 });
  };

  try {
    if (display) env.DISPLAY = await startDisplay(env);
    await startBus(home, env);
    await startDaemon(env, state);
    const items = () => callService(env, 'SearchItems', "{'service': 'graphcred'}");
    return { env, home, stop, items, lock: () => lockKeyring(env) };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startDisplay(env: Record<string, string>): Promise<string> {
  const server = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '640x480x24', '-nolisten', 'tcp'], {
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  return `:${await firstLine(server, server.stdio[3] as Readable, 'Xvfb')}`;
}

async function startBus(home: string, env: Record<string, string>): Promise<void> {
  const config = path.join(home, 'bus.conf');
  // The service folder also starts the program that shows prompts; without it no prompt would appear.
  fs.writeFileSync(
    config,
    `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>${env.DBUS_SESSION_BUS_ADDRESS}</listen>
  <auth>EXTERNAL</auth>
  <servicedir>/usr/share/dbus-1/services</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
</busconfig>
`,
  );
  const bus = spawn(
    'dbus-daemon',
    [`--config-file=${config}`, '--nofork', '--nopidfile', '--print-address'],
    {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  await firstLine(bus, bus.stdout, 'dbus-daemon');
}

async function startDaemon(env: Record<string, string>, state: KeyringState): Promise<void> {
  const unlock = state === 'no-collection' ? [] : ['--unlock'];
  const daemon = spawn('gnome-keyring-daemon', ['--foreground', '--components=secrets', ...unlock], {
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // The daemon reads the password from its input until the end, and creates a keyring with it.
  daemon.stdin.end(state === 'no-collection' ? '' : KEYRING_PASSWORD);
  await gdbus(env, 'wait', '--timeout', '20', 'org.freedesktop.secrets');
  const ready = async () => {
    const collection = await callService(env, 'ReadAlias', 'default');
    return collection.includes("'/'") === (state === 'no-collection');
  };
  if (!(await eventually(ready))) throw new Error(`gnome-keyring did not get into the state ${state}`);
  if (state === 'locked') await lockKeyring(env);
}

async function lockKeyring(env: Record<string, string>): Promise<void> {
  await callService(env, 'Lock', `[objectpath '${SECRETS}/collection/login']`);
}

function callService(env: Record<string, string>, method: string, argument: string): Promise<string> {
  const to = ['--dest', 'org.freedesktop.secrets', '--object-path', SECRETS];
  return gdbus(env, 'call', ...to, '--method', `org.freedesktop.Secret.Service.${method}`, argument);
}

async function gdbus(env: Record<string, string>, command: string, ...args: string[]): Promise<string> {
  const run = promisify(execFile);
  return (await run('gdbus', [command, '--session', ...args], { env, timeout: 25_000 })).stdout;
}

async function eventually(check: () => boolean | Promise<boolean>, limitMs = 5_000): Promise<boolean> {
  for (const deadline = performance.now() + limitMs; performance.now() < deadline; ) {
    if (await check()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}

async function firstLine(child: ChildProcess, output: Readable, name: string): Promise<string> {
  const data = once(output.setEncoding('utf8'), 'data').then(([text]) => String(text).trim());
  const failed = once(child, 'close').then(() => {
    throw new Error(`${name} ended before it was ready`);
  });
  return Promise.race([data, failed]);
}

export const NO_PROMPT = 'the program ended before a prompt was shown';

/**
 * Waits for the unlock prompt, and types the password and Enter into it, or closes it with Escape. Returns why that was not possible: on a busy
 * machine the program that shows prompts sometimes never opens its window.
 */
export async function typeIntoPrompt(
  keyring: Keyring,
  password: string | undefined,
  asking: Promise<unknown>,
): Promise<string | undefined> {
  const xdotool = (...args: string[]) => promisify(execFile)('xdotool', args, { env: keyring.env });
  const shown = () =>
    xdotool('search', '--onlyvisible', '--name', 'Unlock').then(
      () => true,
      () => false,
    );
  let hasEnded = false;
  void asking.finally(() => {
    hasEnded = true;
  });
  if (!(await eventually(async () => hasEnded || (await shown()), 30_000))) {
    const prompter = processesOf(keyring.home).some((pid) => commandLineOf(pid).includes('gcr-prompter'));
    if (prompter) return 'the prompter of the desktop runs, but shows no window';
    throw new Error('no prompter was started');
  }
  if (hasEnded) return NO_PROMPT;
  for (let attempt = 0; attempt < 10; attempt++) {
    // A prompt that has just appeared may miss the first keys.
    await xdotool('key', 'ctrl+a');
    if (password !== undefined) await xdotool('type', password);
    await xdotool('key', password === undefined ? 'Escape' : 'Return');
    if (await eventually(async () => !(await shown()), 500)) return undefined;
  }
  throw new Error('the prompt does not take any answer');
}

/** Returns every process that was started with this home folder, including those that the bus started by itself. */
export function processesOf(home: string): number[] {
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => environmentOf(pid).includes(`HOME=${home}`))
    .map(Number);
}

function commandLineOf(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function environmentOf(pid: string): string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function signalProcessesOf(home: string, signal: NodeJS.Signals): void {
  for (const pid of processesOf(home)) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process has already ended.
    }
  }
}
