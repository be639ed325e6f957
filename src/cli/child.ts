import type { ChildProcess } from 'node:child_process';
import os from 'node:os';
import type { Context } from './context.js';

/** Signals that are sent to graphcred but meant for the command it runs. */
const SIGNALS = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGALRM',
  'SIGVTALRM',
  'SIGXCPU',
  'SIGPWR',
  'SIGIO',
  'SIGCONT',
  'SIGWINCH',
] as const;

/**
 * Runs a command with our stdin, stdout and stderr and passes signals on to it.
 * @returns its exit status, or 128 plus the signal's number when a signal ended it
 * @throws ErrnoException when it cannot be started: ENOENT when there is no such program
 */
export async function runChild(
  ctx: Context,
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { spawn } = await import('node:child_process');
  const { watchForeground } = await import('./foreground.js');
  const { stdin, stdout, stderr } = ctx;
  const onTerminal = stdin.isTTY || stdout.isTTY || stderr.isTTY;
  return new Promise((resolve, reject) => {
    let child: ChildProcess;
    const foreground = onTerminal && ctx.platform !== 'win32' ? watchForeground(ctx.env.PATH) : undefined;
    const pass = async (signal: NodeJS.Signals) => {
      // The terminal sends these signals to the whole foreground group, so passing them on would deliver them twice.
      if (onTerminal && signal === 'SIGWINCH') return;
      if ((signal === 'SIGINT' || signal === 'SIGQUIT') && (await foreground?.wasSentToAll())) return;
      child.kill(signal);
    };
    const passed = SIGNALS.filter((signal) => signal in os.constants.signals);
    // The listeners are added before the command starts: a signal in between would end graphcred alone and leave the
    // command running.
    for (const signal of passed) process.on(signal, pass);
    const done = () => {
      for (const signal of passed) process.off(signal, pass);
      foreground?.stop();
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
    // A signal that could not be passed on (to a program of another user) is reported as an error although the child
    // is running.
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
 * Remembers which of the standard streams are terminals. The returned function is called at the end: if the terminal
 * window was closed meanwhile, Node would abort and write its memory to a core file, so the process ends itself with
 * SIGHUP instead.
 */
export function watchWindow({ stdin, stdout, stderr }: Context): () => void {
  const terminals = [stdin, stdout, stderr].filter(({ isTTY }) => isTTY);
  return () => {
    if (terminals.every(({ isTTY }) => isTTY)) return;
    // The listeners that pass the signal on or finish the work have already run.
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  };
}
