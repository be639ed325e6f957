import { type ChildProcess, spawn } from 'node:child_process';

/** What gets the terminal's signals has died of one within that time. */
const EXIT_WAIT_MS = 250;

/**
 * Tells the terminal's Ctrl-C, which reaches the whole foreground group, from a signal that was sent to this process
 * alone. Nothing in a signal says where it came from, so a process of the same group that does nothing is kept: the
 * terminal's Ctrl-C ends it.
 */
export function watchForeground(path: string | undefined): {
  wasSentToAll(): Promise<boolean>;
  stop(): void;
} {
  let canary: ChildProcess | undefined;
  const keep = () => {
    // It reads from a pipe of ours, so it ends with us however that is.
    const kept = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'], env: { PATH: path } });
    const gone = () => {
      if (canary === kept) canary = undefined;
    };
    kept.on('error', gone).on('exit', gone);
    kept.stdin?.on('error', () => {});
    kept.unref();
    canary = kept;
  };
  keep();
  return {
    async wasSentToAll() {
      const asked = canary;
      // A second Ctrl-C right after the first, or no such program: a key is likelier.
      if (asked?.pid === undefined) return true;
      const died = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), EXIT_WAIT_MS);
        asked.once('exit', () => {
          clearTimeout(timer);
          resolve(true);
        });
      });
      if (died) keep();
      return died;
    },
    stop() {
      canary?.kill('SIGKILL');
    },
  };
}
