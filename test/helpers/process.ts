import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/server.js';
import { type Result, settingsFor } from './cli.js';
import { mintsOf, testSandbox } from './sandbox.js';

/** The command of the npm package, for tests that examine Node itself. All other tests start COMMAND. */
export const BIN = path.resolve('bin/graphcred.js');
const EXECUTABLE = process.env.GRAPHCRED_BIN;

/** How the command under test is started: that of the npm package, or the executable that GRAPHCRED_BIN names. */
export const COMMAND: readonly [string, ...string[]] = EXECUTABLE
  ? [path.resolve(EXECUTABLE)]
  : [process.execPath, BIN];

/** The line of a shell script that runs the command. */
export const COMMAND_LINE = `exec ${COMMAND.map((word) => `'${word}'`).join(' ')} "$@"`;

/** The reason to skip a test that examines Node itself. */
export const standaloneSkipReason = EXECUTABLE ? `${EXECUTABLE} does not run on Node` : undefined;
if (standaloneSkipReason) console.log(`tests that look into Node are skipped: ${standaloneSkipReason}`);

/** Writes a program `graphcred` that runs the command, and returns its folder, which belongs on the PATH. */
export function putCommand(home: string): string {
  const bin = path.join(home, 'bin');
  fs.mkdirSync(bin, { recursive: true });
  fs.writeFileSync(path.join(bin, 'graphcred'), `#!/bin/sh\n${COMMAND_LINE}\n`, { mode: 0o755 });
  return bin;
}

type Ended = Result & { signal: NodeJS.Signals | null };

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Resolves with the status and the output of a process when it has ended. The test's end kills it. */
export function endOf(child: ChildProcess): Promise<Ended> {
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  // It is no error of the test if a process ends without reading its input.
  child.stdin?.on('error', () => {});
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve({ status: status ?? -1, signal, ...output }));
  });
}

/** Starts the built command as a process. Its environment is `env` and the PATH, nothing else. */
export function start(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  input: string | 'open' = '',
  cwd?: string,
): Running {
  const [command, ...first] = COMMAND;
  const child = spawn(command, [...first, ...argv], {
    env: { PATH: process.env.PATH, ...env },
    stdio: 'pipe',
    ...(cwd !== undefined && { cwd }),
  });
  const ended = endOf(child);
  if (input !== 'open') child.stdin.end(input);
  return { child, ended };
}

/** Runs a program to its end. Its environment is `env` and the PATH, nothing else. */
export function spawned(
  [command = '', ...argv]: readonly string[],
  env: Readonly<Record<string, string>>,
  input = '',
): Promise<Ended> {
  const child = spawn(command, argv, { env: { PATH: process.env.PATH, ...env }, stdio: 'pipe' });
  const ended = endOf(child);
  child.stdin.end(input);
  return ended;
}

/** Starts a sandbox in this process, and returns the environment with which a command finds it. */
export async function sandboxFor(
  home: string,
  options: SandboxOptions = {},
): Promise<{ sandbox: Sandbox; env: Record<string, string>; mints(): number }> {
  const sandbox = await testSandbox(options);
  const env = { HOME: home, ...settingsFor(sandbox) };
  return { sandbox, env, mints: () => mintsOf(sandbox) };
}
