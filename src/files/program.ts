import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { usageError } from '../core/errors.js';
import { ENDING, endBySignal } from './signals.js';

type Environment = Readonly<Record<string, string | undefined>>;

const PROGRAM_MS = 30_000;
/** For the output of a program that has ended. */
const GRACE_MS = 1000;

/** What Windows can start: the first two by itself, the others with cmd.exe. */
const ENDINGS = ['.com', '.exe', '.bat', '.cmd'];

/** A path that depends neither on the working directory nor on the current drive. */
const COMPLETE_PATH = /^(?:[a-z]:[\\/]|[\\/]{2})/i;

/**
 * Starts a program, found as the shell of the platform does. On Windows that is done here, because only cmd.exe can run a
 * batch file, and because Windows looks into the working directory first.
 * @param cwd returns the working directory, for a command that the user typed; without it nothing is taken from there
 * @throws GraphException USAGE for an argument that a batch file cannot be given safely; ErrnoException ENOENT when
 *   there is no such program, EACCES when the file is none
 */
export function startProgram(
  [program = '', ...args]: readonly string[],
  env: Environment,
  options: SpawnOptions,
  cwd?: () => string,
): ChildProcess {
  const { spawn } = process.getBuiltinModule('node:child_process');
  const all = { ...options, env: cwd ? (env as NodeJS.ProcessEnv) : withoutWorkingFolder(env) };
  if (process.platform !== 'win32') return spawn(program, args, all);
  const file = findOnWindows(program, all.env, cwd?.());
  if (!/\.(?:bat|cmd)$/i.test(file)) return spawn(file, args, all);
  const cmd = path.win32.join(variable(all.env, 'SYSTEMROOT') ?? 'C:\\Windows', 'System32\\cmd.exe');
  return spawn(cmd, argumentsOfCmd(file, args), { ...all, windowsVerbatimArguments: true });
}

function findOnWindows(program: string, env: Environment, cwd: string | undefined): string {
  const endings = (variable(env, 'PATHEXT') || ENDINGS.join(';')).toLowerCase().split(';');
  const tried = endings.filter((one) => ENDINGS.includes(one));
  const hasEnding = tried.includes(path.win32.extname(program).toLowerCase());
  const names = hasEnding ? [program] : tried.map((ending) => program + ending);
  const isPath = /[\\/:]/.test(program);
  const folders = [...(cwd === undefined ? [] : [cwd]), ...completePath(env)];
  for (const folder of isPath ? [cwd ?? ''] : folders) {
    for (const name of names) {
      const file = cwd === undefined ? path.win32.join(folder, name) : path.win32.resolve(cwd, folder, name);
      if (COMPLETE_PATH.test(file) && isNoFolder(file)) return file;
    }
  }
  const isNoProgram = isPath && cwd !== undefined && isNoFolder(path.win32.resolve(cwd, program));
  throw Object.assign(new Error('not started'), { code: isNoProgram ? 'EACCES' : 'ENOENT' });
}

function isNoFolder(file: string): boolean {
  try {
    // A program of the Microsoft Store is a link that only the system can follow.
    return !fs.lstatSync(file).isDirectory();
  } catch {
    return false;
  }
}

/** Returns the elements of PATH but those that mean a folder below the working directory, or that directory itself. */
function completePath(env: Environment): string[] {
  const elements = variable(env, 'PATH')?.replaceAll('"', '').split(';') ?? [];
  return elements.filter((element) => COMPLETE_PATH.test(element));
}

/** Windows ignores case in the names of variables; a copy of the environment does not. */
function variable(env: Environment, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1];
}

/** Returns the arguments by which cmd.exe runs a batch file. Between double quotes `"`, `%`, `!` and line ends keep their meaning. */
function argumentsOfCmd(file: string, args: readonly string[]): string[] {
  const at = [file, ...args].findIndex((word) => /["%!\r\n\0]/.test(word));
  if (at !== -1) {
    const where = `${at === 0 ? 'The name' : `Argument ${at}`} of the batch file ${path.win32.basename(file)}`;
    throw usageError(
      `${where} contains a quotation mark, %, ! or a line break, which is not safe in a batch file.`,
      'leave that character out, or start the program that the batch file starts',
    );
  }
  // The program behind the batch file reads a backslash before a quote as an escape, so those at the end are doubled.
  const quoted = args.map((arg) =>
    /^[\w.:\\/@+~#-]+$/.test(arg) ? arg : `"${arg.replace(/\\+$/, '$&$&')}"`,
  );
  return ['/d', '/s', '/e:on', '/v:off', '/c', `"${[`"${file}"`, ...quoted].join(' ')}"`];
}

/**
 * Returns the environment of a program that a setting names. What means the working directory, an empty or relative
 * element of PATH, is left out: a program planted in a cloned folder must not be run in place of the one that was named,
 * or of one that it starts.
 */
function withoutWorkingFolder(env: Environment): NodeJS.ProcessEnv {
  if (process.platform === 'win32') {
    const others = Object.entries(env).filter(([name]) => name.toUpperCase() !== 'PATH');
    const PATH = completePath(env).join(';');
    return { ...Object.fromEntries(others), PATH, NoDefaultCurrentDirectoryInExePath: '1' };
  }
  if (env.PATH === undefined) return { ...env };
  const elements = env.PATH.split(path.delimiter).filter((element) => path.isAbsolute(element));
  // Without any element some systems search the working directory.
  return { ...env, PATH: elements.join(path.delimiter) || '/usr/bin:/bin' };
}

/**
 * Runs a program that answers with its output, for at most 30 seconds. Each character of `stdout` is a byte; `stderr`
 * may be cut off after `maxBytes`; `stopped` says why the program was stopped.
 * @throws ErrnoException when the program cannot be started
 */
export async function runProgram(command: readonly string[], env: Environment, maxBytes: number) {
  const run = { stdout: '', stderr: '', stopped: undefined as string | undefined };
  let child: ChildProcess | undefined;
  const closeOutput = () => {
    child?.stdout?.destroy();
    child?.stderr?.destroy();
  };
  const stop = (why: string) => {
    run.stopped ??= why;
    killGroup(child);
    // A process that left the group may keep the streams open.
    closeOutput();
  };
  const timer = setTimeout(() => stop('gave no answer in 30 seconds'), PROGRAM_MS);
  const stopListening = () => {
    for (const signal of ENDING) process.off(signal, killWithParent);
  };
  // The program is in another process group, so a Ctrl-C does not reach it.
  const killWithParent = (signal: NodeJS.Signals) => {
    killGroup(child);
    stopListening();
    endBySignal(signal);
  };
  // A signal before the program has started must not end graphcred alone.
  for (const signal of ENDING) process.on(signal, killWithParent);
  try {
    child = startProgram(command, env, {
      stdio: ['ignore', 'pipe', 'pipe'],
      // The helper processes of the program are ended with it. On Windows it would get its own window.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    child.stdout?.setEncoding('latin1').on('data', (text: string) => {
      run.stdout += text;
      if (run.stdout.length > maxBytes) stop(`printed more than ${maxBytes / 1024} KB`);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      run.stderr = (run.stderr + text).slice(0, maxBytes + 1);
    });
    // A helper that stays, such as an agent, may keep the streams open after the answer.
    child.on('exit', () => setTimeout(closeOutput, GRACE_MS).unref());
    const [status, signal] = await once(child, 'close');
    return { ...run, status, signal };
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}

/** Kills a program with its helper processes, because one of them may keep the pipe open. */
function killGroup(child: ChildProcess | undefined): void {
  try {
    if (child?.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    child?.kill('SIGKILL');
  }
}
