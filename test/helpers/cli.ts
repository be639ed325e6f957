import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { TOKEN_GET } from '../../src/cli/args/parse-token-get.js';
import type { Invocation } from '../../src/cli/command.js';
import { main } from '../../src/cli/main.js';
import { createInterruption } from '../../src/cli/output/signals.js';
import { openRun } from '../../src/cli/session.js';
import type { Flags } from '../../src/config/keys.js';
import type { Run } from '../../src/run/run.js';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/server.js';
import { contextOf, type Result, type RunOptions } from './context.js';
import { testSandbox, unknownRoutes } from './sandbox.js';

export type { Result, RunOptions } from './context.js';

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
  const { ctx, written } = contextOf(home, argv, options);
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

/** Opens the run of a `token get` that has no terminal and prints nothing. */
export function quietRun(
  home: string,
  env: Record<string, string>,
  { flags = {}, detail = () => {} }: { flags?: Flags; detail?: (text: string) => void } = {},
): Promise<Run> {
  const terminal = { isTTY: false, columns: undefined, write: () => {} };
  return openRun({
    ctx: { env, cwd: home, home, stdin: terminal, stdout: terminal, stderr: terminal, now: Date.now },
    spec: TOKEN_GET,
    flags,
    report: { warn: () => {}, note: () => {}, detail },
    interruption: createInterruption(() => {}),
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
    const unknown = unknownRoutes(sandbox);
    if (unknown.length > 0) throw new Error(`the sandbox was asked for ${unknown.join(', ')}`);
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
