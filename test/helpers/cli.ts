import { isUtf8 } from 'node:buffer';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Run } from '../../src/auth/run.js';
import type { Invocation } from '../../src/cli/command.js';
import { type Context, KEYCHAIN_CHILD, ownHome } from '../../src/cli/context.js';
import { main } from '../../src/cli/main.js';
import { createInterruption, plainly } from '../../src/cli/output/report.js';
import { openRun } from '../../src/cli/session.js';
import type { Flags } from '../../src/config/keys.js';
import { GraphException } from '../../src/core/errors.js';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/server.js';
import { testSandbox } from './sandbox.js';

export interface Result {
  status: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** Standard output is the null device. */
  toNowhere?: boolean;
  env?: Record<string, string | undefined>;
  cwd?: string;
  stdin?: string;
  now?: () => number;
  /** Stops `graphcred sandbox` when it resolves. Without it only a signal would. */
  stopped?: () => Promise<NodeJS.Signals>;
  /** Whether stdout is a terminal. */
  terminal?: boolean;
  /** Whether stderr is a terminal. No person is there, so nothing is asked. */
  stderrTerminal?: boolean;
  /** Whether a person sits at the terminal: stdin and stderr are one. The answers are those of helpers/person.ts. */
  person?: boolean;
  /** The width of the terminals. */
  columns?: number;
  /** Whether the user has no home folder. */
  homeless?: boolean;
  /** The platform that the program takes itself to run on. */
  platform?: NodeJS.Platform;
  /** Is given what is written to stderr, while the command runs. */
  onStderr?: (text: string) => void;
  /** Whether the disk that stdout goes to is full. */
  fullDisk?: boolean;
}

/** Creates a home that is removed at the end of the test. */
export function temporaryHome(): string {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-test-'));
  onTestFinished(() => fs.rmSync(home, { recursive: true, force: true }));
  return home;
}

/** These commands end with a status of their own, or with that of another program, without an error. */
const OWN_STATUS = ['status', 'doctor', 'exec', 'sandbox'];

/**
 * Checks that an error says what to type next, as the contract promises. A bug and a command that a person cancelled are
 * no such errors.
 */
function requireHint(argv: readonly string[], { status, stderr }: Result): void {
  if (status < 2 || status > 10 || argv.some((word) => OWN_STATUS.includes(word))) return;
  if (!/^hint: ./m.test(stderr) && !/^\{"error":.*"hint":"[^"]/m.test(stderr))
    throw new Error(`the error of ${argv.join(' ')} has no hint: ${stderr}`);
}

// Commands that run here at once listen for signals each, as if each had a process of its own.
process.setMaxListeners(0);

/**
 * Runs one command line in this process, as a script would: without a terminal, and with no environment but `env`. Fails
 * the test if an error has no hint.
 */
export async function cli(home: string, argv: readonly string[], options: RunOptions = {}): Promise<Result> {
  const written = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr') => ({
    whyLost: name === 'stdout' && options.toNowhere === true ? 'it is the null device' : undefined,
    isTTY: (name === 'stdout' ? options.terminal : options.stderrTerminal || options.person) === true,
    columns: options.columns,
    write: plainly((content) => {
      // Bytes that are no text become one character each.
      const bytes = Buffer.from(content as Uint8Array);
      const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
      if (name === 'stdout' && options.fullDisk)
        throw new GraphException('USAGE', 'The result cannot be written.', { hint: 'check the disk' });
      written[name] += text;
      if (name === 'stderr') options.onStderr?.(text);
    }),
  });
  const ctx: Context = {
    argv,
    env: { PATH: process.env.PATH, ...options.env },
    cwd: options.cwd ?? home,
    ...ownHome(options.homeless ? undefined : home, process.getuid?.()),
    platform: options.platform ?? process.platform,
    uid: process.getuid?.(),
    pid: process.pid,
    stdin: { isTTY: options.person === true, read: readText(options.stdin ?? '') },
    stdout: output('stdout'),
    stderr: output('stderr'),
    now: options.now ?? Date.now,
    startedAt: Date.now(),
    keychainHelper: { command: process.execPath, args: [path.resolve('bin/graphcred.js'), KEYCHAIN_CHILD] },
    stopped: options.stopped ?? (() => new Promise(() => {})),
  };
  const runsProgram = ['exec', 'proxy', 'sandbox'].some((name) => argv.includes(name));
  const forget = runsProgram ? noteSignalListeners() : () => {};
  const status = await main(ctx);
  forget();
  const result = { status, ...written };
  requireHint(argv, result);
  return result;
}

/**
 * Returns a function that removes the listeners added since. What runs a program ignores signals until its own process
 * ends, but the process of the tests goes on.
 */
function noteSignalListeners(): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGBREAK'] as const;
  const before = signals.map((signal) => process.listeners(signal));
  return () => {
    for (const [at, signal] of signals.entries())
      for (const listener of process.listeners(signal))
        if (!before[at]?.includes(listener)) process.off(signal, listener);
  };
}

/** Like the real function, this one reads no more than the limit, and each byte once. */
const readText = (input: string) => {
  let rest = input;
  return async (limits: { maxBytes: number }) => {
    const text = rest;
    rest = '';
    if (Buffer.byteLength(text) > limits.maxBytes)
      throw new GraphException('USAGE', 'There is more on stdin.', { hint: 'check what is written to it' });
    return Buffer.from(text);
  };
};

export interface Bench {
  readonly sandbox: Sandbox;
  readonly home: string;
  /** Runs a command line with the sandbox's address, graph and administrator in the environment. */
  run(line: string | readonly string[], options?: RunOptions): Promise<Result>;
  /** Does the same as `run`, with `-o json`, and returns the parsed document. */
  json<T = Record<string, unknown>>(line: string, options?: RunOptions): Promise<T>;
  /** Returns the requests since the last call of this function, as `METHOD /path`. */
  requests(): string[];
  readonly env: Record<string, string>;
}

/** Opens the run of a command that has no terminal and prints nothing. */
export function quietRun(
  home: string,
  env: Record<string, string>,
  { flags = {}, detail = () => {} }: { flags?: Flags; detail?: (text: string) => void } = {},
): Promise<Run> {
  const terminal = { isTTY: false, columns: undefined, write: () => {} };
  return openRun({
    ctx: { env, cwd: home, home, stdin: terminal, stdout: terminal, stderr: terminal, now: Date.now },
    flags,
    report: { warn: () => {}, note: () => {}, detail },
    config: {},
    interruption: createInterruption({ error: () => {} }),
  } as unknown as Invocation);
}

/** Returns the variables for a sandbox and its user. */
export const settingsFor = (
  sandbox: Pick<Sandbox, 'restUrl' | 'gsqlUrl' | 'graph' | 'username' | 'password'>,
) => ({
  GRAPHCRED_REST_URL: sandbox.restUrl,
  GRAPHCRED_GSQL_URL: sandbox.gsqlUrl,
  GRAPHCRED_GRAPH: sandbox.graph,
  GRAPHCRED_USERNAME: sandbox.username,
  GRAPHCRED_PASSWORD: sandbox.password,
});

/** Creates a sandbox and a home. Fails the test if the sandbox received a request that it does not imitate. */
export async function bench(options: SandboxOptions = {}): Promise<Bench> {
  const sandbox = await testSandbox(options);
  onTestFinished(() => {
    if (sandbox.unknownRoutes.length > 0)
      throw new Error(`the sandbox was asked for ${sandbox.unknownRoutes.join(', ')}`);
  });
  const home = temporaryHome();
  const env = { ...settingsFor(sandbox), GRAPHCRED_STORE: 'file' };
  let seen = 0;
  const run = (line: string | readonly string[], more: RunOptions = {}) =>
    cli(home, typeof line === 'string' ? line.split(' ') : line, { ...more, env: { ...env, ...more.env } });
  return {
    sandbox,
    home,
    env,
    run,
    json: async <T>(line: string, more?: RunOptions) => {
      const result = await run(`${line} -o json`, more);
      if (result.stdout === '') throw new Error(`no document: ${result.stderr}`);
      return JSON.parse(result.stdout) as T;
    },
    requests: () => {
      const fresh = sandbox.requests.slice(seen).map(({ method, path: route }) => `${method} ${route}`);
      seen = sandbox.requests.length;
      return fresh;
    },
  };
}

/** Starts a sandbox, and sends Ctrl-C to the command that makes a request to this path. */
export async function interruptedAt(route: string, options: SandboxOptions = {}) {
  const before = process.listeners('SIGINT');
  const ours = () => process.listeners('SIGINT').filter((listener) => !before.includes(listener));
  onTestFinished(() => {
    for (const listener of ours()) process.off('SIGINT', listener);
  });
  return bench({
    ...options,
    log: (line) => {
      const { method, path } = JSON.parse(line);
      if (`${method} ${path}`.endsWith(route))
        for (const listener of ours()) (listener as NodeJS.SignalsListener)('SIGINT');
    },
  });
}
