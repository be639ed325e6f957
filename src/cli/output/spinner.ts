import type { Call } from '../command.js';
import { inCi } from '../context.js';
import { inWords } from './time.js';

/** What takes less is over before anybody wonders. */
const PATIENCE_MS = 300;
const FRAME_MS = 100;
const FRAMES = '-\\|/';
/** Waits this close to each other are one wait. */
const BREATH_MS = 100;

export interface Spinner {
  /** @param ofSeconds how long it may take at most, if that is worth telling */
  start(text: string, ofSeconds?: number): void;
  stop(): void;
}

/**
 * A line on stderr that says what is being waited for, and is gone before anything else is written. Only for
 * people: on a terminal, and never under -q, -o json, CI or TERM=dumb. The cursor is never hidden, so there is
 * nothing to restore.
 */
export function createSpinner({ ctx, report }: Pick<Call, 'ctx' | 'report'>): Spinner {
  let timer: NodeJS.Timeout | undefined;
  let drawn = false;
  let since = 0;
  let stoppedAt = 0;

  const erase = () => {
    if (drawn) ctx.stderr.write('\r\x1b[K');
    drawn = false;
  };
  const leave = (signal: NodeJS.Signals) => {
    stop();
    // Whoever else listens for it decides what it ends.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const start = (text: string, ofSeconds?: number) => {
    const shown = ctx.stderr.isTTY && !report.quiet && !report.json;
    if (!shown || inCi(ctx.env) || ctx.env.TERM === 'dumb') return;
    if (timer !== undefined) stop();
    if (performance.now() - stoppedAt > BREATH_MS) since = performance.now();
    let frame = 0;
    const draw = () => {
      const passed = (performance.now() - since) / 1000;
      const time =
        passed < 2 ? '' : ` ${inWords(passed)}${ofSeconds === undefined ? '' : ` of ${inWords(ofSeconds)}`}`;
      const line = `${FRAMES[frame++ % FRAMES.length]} ${text}${time}`;
      // A line that wraps could not be erased.
      drawn = false;
      ctx.stderr.write(`\r${line.slice(0, (ctx.stderr.columns || 80) - 1)}\x1b[K`);
      drawn = true;
      timer = setTimeout(draw, FRAME_MS).unref();
    };
    timer = setTimeout(
      () => {
        process.on('SIGINT', leave).on('SIGTERM', leave);
        draw();
      },
      Math.max(0, since + PATIENCE_MS - performance.now()),
    ).unref();
    report.clear = erase;
  };
  const stop = () => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    erase();
    stoppedAt = performance.now();
    process.off('SIGINT', leave).off('SIGTERM', leave);
  };
  return { start, stop };
}
