import { type ChildProcess, spawn } from 'node:child_process';

/** The witness process has ended within this time if the terminal sent it a signal. */
const EXIT_WAIT_MS = 250;

/**
 * Tells a Ctrl-C of the terminal, which reaches the whole foreground group, from a signal sent to this process alone.
 * A signal does not carry its origin, so an idle witness process of the same group is started: a Ctrl-C of the
 * terminal ends it.
 */
export function watchForeground(path: string | undefined): {
  wasSentToAll(): Promise<boolean>;
  stop(): void;
} {
  let witness: ChildProcess | undefined;
  const startWitness = () => {
    // It reads from our pipe, so it ends when this process ends.
    const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'], env: { PATH: path } });
    const onEnd = () => {
      if (witness === child) witness = undefined;
    };
    child.on('error', onEnd).on('exit', onEnd);
    child.stdin?.on('error', () => {});
    child.unref();
    witness = child;
  };
  startWitness();
  return {
    async wasSentToAll() {
      const current = witness;
      // No witness is running right after an earlier Ctrl-C, or if `cat` is missing; then a Ctrl-C is assumed.
      if (current?.pid === undefined) return true;
      const died = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), EXIT_WAIT_MS);
        current.once('exit', () => {
          clearTimeout(timer);
          resolve(true);
        });
      });
      if (died) startWitness();
      return died;
    },
    stop() {
      witness?.kill('SIGKILL');
    },
  };
}
