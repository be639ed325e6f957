/** Tells a use case that changes something whether it was interrupted (Ctrl-C), while it listens. */
export interface Interruption {
  /** Aborted by the first signal after `begin`, which ends the request in progress and prevents further ones. */
  readonly signal: AbortSignal;
  /** Does work that listens for signals, which else end the process at once. Throws Interrupted when one came. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Called before the first change. After a signal, the use case then reports what was done before it ends. */
  begin(): void;
  /** The exit status for the signal; undefined while there was none. */
  readonly status: number | undefined;
}

export class Interrupted extends Error {
  readonly status: number;
  /** Why the work was broken off; undefined when it was done. */
  readonly reason: unknown;

  /** @param message what to say when the work was done */
  constructor(status: number, reason: unknown, message = 'Interrupted after the work was complete.') {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}
