import { type Fix, GraphException } from './errors.js';

export const MORE_TIME: readonly Fix[] = ['try again, or allow more time', { setting: 'timeoutMs' }];

/**
 * A time limit that several requests share. Only the time during which at least one of them is under way counts: a
 * prompt or another program takes none of it, and requests at the same time are counted once.
 */
export class Deadline {
  /** How long all requests together may take. */
  readonly limitMs: number;
  readonly #cutsRequests: boolean;
  #usedMs = 0;
  #underWay = 0;
  #since = 0;

  /**
   * @param cutsRequests whether a request ends when the deadline has come. If not, each request has the whole time, and
   *   the deadline is looked at with `check`, between steps that must not be cut
   */
  constructor(limitMs: number, cutsRequests = true) {
    this.limitMs = limitMs;
    this.#cutsRequests = cutsRequests;
  }

  /** How long the next request may take, in ms. */
  get forRequestMs(): number {
    return this.#cutsRequests ? this.#leftMs() : this.limitMs;
  }

  /** Counts the time that a request takes. */
  async count<T>(request: () => Promise<T>): Promise<T> {
    if (this.#underWay++ === 0) this.#since = uptimeMs();
    try {
      return await request();
    } finally {
      this.#usedMs = this.limitMs - this.#leftMs();
      this.#underWay--;
      this.#since = uptimeMs();
    }
  }

  /** Throws TIMEOUT when the time is over. */
  check(): void {
    if (this.#leftMs() < 1) throw timeIsOver(this.limitMs);
  }

  #leftMs(): number {
    const running = this.#underWay > 0 ? uptimeMs() - this.#since : 0;
    return this.limitMs - this.#usedMs - running;
  }
}

/** Creates the error of a call whose time is over; `begin` stands before the limit. */
export function timeIsOver(limitMs: number, begin = 'The'): GraphException {
  const message = `${begin} time limit of ${limitMs / 1000} s for the whole call is over.`;
  return new GraphException('TIMEOUT', message, { hint: MORE_TIME });
}

/** Returns milliseconds of a monotonic clock. performance.now() is not used, because it loads another module. */
export function uptimeMs(): number {
  return process.uptime() * 1000;
}

/** The end of the year 9999: a later year has another form in ISO dates, so it is written as this. */
export const LAST_SECOND = 253_402_300_799;

/** Formats a time in seconds since 1970 as `2023-11-21T22:13:20Z`. */
export function isoSeconds(unix: number): string {
  return `${new Date(Math.min(unix, LAST_SECOND) * 1000).toISOString().slice(0, 19)}Z`;
}
