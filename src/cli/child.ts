import type { ChildProcess } from 'node:child_process';
import os from 'node:os';
import type { Flags } from '../config/keys.js';
import { GraphException, usageError } from '../core/errors.js';
import { startProgram } from '../files/program.js';
import { shellWord } from '../files/shell-word.js';
import { closeDebugger, statusOf } from '../files/signals.js';
import type { Run } from '../run/run.js';
import type { Invocation } from './command.js';
import type { Context } from './context.js';
import { textOf } from './output/hints.js';
import { fail } from './output/report.js';
import { endWithTerminal } from './output/signals.js';
import { openRun } from './session.js';

type Caller = Pick<Invocation, 'ctx' | 'report'>;

/**
 * Runs a command to its end, whatever signals come, and returns its exit status.
 * @param prepare makes the environment of the command, and what is called at its end and returns what went wrong. Only
 *   an error in the options that were typed keeps its exit status: any other could be mistaken for that of the command.
 */
export async function runToEnd(
  invocation: Invocation,
  args: readonly string[],
  prepare: (run: Run) => Promise<{ env: Context['env']; finish: () => Promise<GraphException | undefined> }>,
): Promise<number> {
  const { report, interruption } = invocation;
  // Signals are listened for without a gap: in one, a token that was minted would live on unseen.
  const started = await interruption.during(async () => {
    const prepared = await openRun(invocation)
      .then(prepare)
      .catch((error) => {
        if (interruption.status !== undefined || isOfOptions(error, invocation)) throw error;
        // The exit status for a failure before the command ran; `error.code` gives the cause.
        return fail(error, report, 125);
      });
    if (typeof prepared === 'number') return prepared;
    return { ended: runChild(invocation, args, prepared.env), finish: prepared.finish };
  });
  if (typeof started === 'number') return started;
  const status = await started.ended;
  const failure = await started.finish();
  if (failure && status === 0) return fail(failure, report);
  if (failure) report.warn(failure.message);
  return status;
}

function isOfOptions(error: unknown, { flags }: Invocation): boolean {
  if (!(error instanceof GraphException) || error.code !== 'USAGE') return false;
  const told = `${error.message} ${textOf(error.fix, { typed: {} })}`.split(/[^\w-]+/);
  return Object.keys(flags).some((name) => told.includes(`--${name}`));
}

/** Returns the port that an option names. @throws GraphException USAGE */
export function portOption(flags: Flags, name: string): number | undefined {
  const text = flags[name] as string | undefined;
  if (text === undefined) return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw usageError(`The value of --${name} is not a port number.`, 'write 0 to 65535; 0 means any free port');
}

/** Tells why a command could not be started, and returns the exit status that shells have for it. */
function tellNotStarted({ ctx, report }: Caller, name: string, error: NodeJS.ErrnoException): number {
  if (error instanceof GraphException) return fail(error, report);
  if (error.code === 'ENOENT') {
    const hint = 'check its name, and that it is on the PATH';
    return fail(new GraphException('NOT_FOUND', `The command was not found: ${name}`, { hint }), report, 127);
  }
  const hint =
    ctx.platform === 'win32'
      ? 'Windows starts only .exe, .com, .cmd and .bat files; start another with its interpreter: powershell -File FILE'
      : `if it is a program, make it executable: chmod +x ${shellWord(name)}`;
  return fail(usageError(`The command could not be started: ${name}`, hint), report, 126);
}

const signals = (names: string) => names.split(' ').map((name) => `SIG${name}` as NodeJS.Signals);
/** The terminal sends these to its whole foreground group, so passing them on would deliver them twice. */
const OF_TERMINAL = signals('INT QUIT WINCH TSTP');
/** Signals that are sent to graphcred but meant for the command it runs. */
const SIGNALS = [
  ...OF_TERMINAL,
  ...signals('TERM HUP USR1 USR2 CONT BREAK ALRM VTALRM PROF XCPU XFSZ IO URG PWR STKFLT SYS ABRT TRAP'),
];

/**
 * Runs a command with our stdin, stdout and stderr and passes signals on to it. From then on signals do not end this
 * process, so that one after the command's end neither changes the exit status nor prevents what is left to do.
 * @returns its exit status, 128 plus the signal's number when a signal ended it, or 126 or 127 when it could not be started
 */
export function runChild(caller: Caller, command: readonly string[], env: Context['env']): Promise<number> {
  const { ctx } = caller;
  const { stdin, stdout, stderr } = ctx;
  const onTerminal = stdin.isTTY || stdout.isTTY || stderr.isTTY;
  const ended = new Promise<number>((resolve, reject) => {
    let child: ChildProcess | undefined;
    const pass = (signal: NodeJS.Signals) => {
      // Windows tells every program of the console, and has no other way than to end a program.
      if (ctx.platform === 'win32') return;
      if (!onTerminal || !OF_TERMINAL.includes(signal)) child?.kill(signal);
      if (signal !== 'SIGTSTP') return;
      // Who listens to this signal does not stop.
      process.off(signal, pass);
      process.kill(process.pid, signal);
      process.on(signal, pass);
    };
    endWithTerminal();
    closeDebugger();
    // Before the command starts: a signal in between would end graphcred alone and leave the command running.
    for (const signal of SIGNALS) if (signal in os.constants.signals) process.on(signal, pass);
    // The working folder is inherited: entering it anew fails where this user may not, or where its name is not UTF-8.
    child = startProgram(command, env, { stdio: 'inherit' }, () => ctx.cwd);
    // A signal that cannot be passed on, to a program of another user, is an error too while the child is running.
    child.on('error', (error) => {
      if (child?.pid === undefined) reject(error);
    });
    child.on('exit', (status, signal) => resolve(status ?? statusOf(signal)));
  });
  return ended.catch((error) => tellNotStarted(caller, `${command[0]}`, error));
}
