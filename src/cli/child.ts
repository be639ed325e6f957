import type { ChildProcess } from 'node:child_process';
import os from 'node:os';
import type { Context } from './context.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/**
 * Runs a command on our own stdin, stdout and stderr and passes signals on to it.
 * @returns its status; 128 and the signal's number when one ended it
 * @throws ErrnoException when it cannot be started: ENOENT when there is none of this name
 */
export async function runChild(
  ctx: Context,
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { spawn } = await import('node:child_process');
  const { stdin, stdout, stderr } = ctx;
  const onTerminal = stdin.isTTY || stdout.isTTY || stderr.isTTY;
  return new Promise((resolve, reject) => {
    let child: ChildProcess;
    const pass = (signal: NodeJS.Signals) => {
      // Ctrl-C and Ctrl-\ reach the whole foreground group by themselves; passing them on would send them twice.
      if (!onTerminal || (signal !== 'SIGINT' && signal !== 'SIGQUIT')) child.kill(signal);
    };
    // Before the command starts: a signal in between would end graphcred alone and leave the command behind.
    for (const signal of SIGNALS) process.on(signal, pass);
    const done = () => {
      for (const signal of SIGNALS) process.off(signal, pass);
    };
    const fail = (error: unknown) => {
      done();
      reject(error);
    };
    try {
      child = spawn(command, args, { stdio: 'inherit', env: env as NodeJS.ProcessEnv, cwd: ctx.cwd });
    } catch (error) {
      fail(error);
      return;
    }
    // A signal that could not be passed on (to a program of another user) is an error of a child that lives.
    child.on('error', (error) => {
      if (child.pid === undefined) fail(error);
    });
    child.on('exit', (status, signal) => {
      done();
      resolve(status ?? 128 + (signal ? os.constants.signals[signal] : 0));
    });
  });
}

/**
 * Looks which of our ends are terminals now. What it returns is for the end of the work: on a window that was closed
 * meanwhile Node would abort, and leave its memory to whoever reads core files; it ends by the window's signal instead.
 */
export function watchWindow({ stdin, stdout, stderr }: Context): () => void {
  const terminals = [stdin, stdout, stderr].filter(({ isTTY }) => isTTY);
  return () => {
    if (terminals.some(({ isTTY }) => !isTTY)) process.kill(process.pid, 'SIGHUP');
  };
}
