import { GraphException } from '../../core/errors.js';
import { ENDING, statusOf } from '../../files/signals.js';
import { Interrupted, type Interruption } from '../../run/interruption.js';
import { once } from '../../run/once.js';

const NOTHING_CHANGED = 'Interrupted; nothing was changed.';

/**
 * Returns what listens for SIGINT, SIGTERM, SIGHUP and Ctrl-Break during work, and until the end once one has come. A
 * signal that comes before anything was changed ends the process at once, with a sentence that says so.
 */
export function createInterruption(tell: (error: GraphException, status?: number) => void): Interruption {
  // Made when it is needed: a cached token does not need it, and Node loads its code late.
  const controller = once(() => new AbortController());
  let listeners = 0;
  /** Whether a change has begun whose own work has not ended. */
  let hasBegun = false;
  let status: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    status ??= statusOf(signal);
    if (hasBegun) controller().abort();
    // The other listeners must run first, because one of them ends a helper program.
    else
      process.nextTick(() => {
        tell(new GraphException('CANCELLED', NOTHING_CHANGED), status);
        process.exit(status);
      });
  };
  const listen = () => {
    const hadBegun = hasBegun;
    if (listeners++ === 0) {
      endWithTerminal();
      for (const name of ENDING) process.on(name, onSignal);
    }
    return () => {
      listeners--;
      // A second signal must not end the process before it has said what happened.
      if (status !== undefined) return;
      hasBegun = hadBegun && listeners > 0;
      if (listeners === 0) for (const name of ENDING) process.off(name, onSignal);
    };
  };
  return {
    get signal() {
      return controller().signal;
    },
    during: async (work) => {
      const stop = listen();
      let reason: unknown;
      try {
        const done = await work();
        if (status === undefined) return done;
      } catch (error) {
        if (status === undefined || error instanceof Interrupted) throw error;
        reason = error;
      } finally {
        stop();
      }
      throw new Interrupted(status, reason);
    },
    begin: () => {
      hasBegun ||= listeners > 0;
    },
    get status() {
      return status;
    },
  };
}

/** For SIGHUP listeners: ends by it if the terminal is gone. Node would abort and write its memory to a core file. */
export const endWithTerminal = once(() => {
  const { isatty } = process.getBuiltinModule('node:tty');
  const terminals = [0, 1, 2].filter((fd) => isatty(fd));
  process.once('exit', () => {
    if (terminals.every((fd) => isatty(fd))) return;
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  });
});

export function endOfInterrupted({ reason, message: whenDone }: Interrupted, hasChanged: boolean) {
  if (reason === undefined) return new GraphException('CANCELLED', whenDone);
  if (!(reason instanceof GraphException)) return new GraphException('CANCELLED', 'Interrupted.');
  const { code, message, fix, ambiguous } = reason;
  // The cancelled request changes nothing, so there is no hint on how to continue.
  if (code === 'CANCELLED' && !ambiguous && fix.length === 0)
    return new GraphException('CANCELLED', hasChanged ? 'Interrupted.' : NOTHING_CHANGED);
  return new GraphException('CANCELLED', `Interrupted: ${message}`, { fix });
}
