/** Signals that end this process: Ctrl-C, a request to stop, a closed terminal, and Ctrl-Break. */
export const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGBREAK'] as const;

/** Closes the debugger that Node opens for a SIGUSR1 from before the program began, up to half a second late. Takes 3 ms. */
export function closeDebugger(): void {
  const { close } = process.getBuiltinModule('node:inspector');
  for (const ms of [0, 100, 500]) setTimeout(close, ms).unref();
}

export function statusOf(signal: NodeJS.Signals | null): number {
  return 128 + (signal ? process.getBuiltinModule('node:os').constants.signals[signal] : 0);
}

/** Ends this process as the signal does, unless another listener decides whether it ends. */
export function endBySignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 0) return;
  // A process of Windows cannot send itself a signal.
  if (process.platform === 'win32') process.exit(statusOf(signal));
  process.kill(process.pid, signal);
}
