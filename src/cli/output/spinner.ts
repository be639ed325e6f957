import { formatDuration } from '../../app/format.js';
import type { RequestEvent } from '../../core/http/types.js';
import { endBySignal } from '../../files/signals.js';
import type { Invocation } from '../command.js';
import { inCi } from '../context.js';
import { singleLine } from './plain.js';

const SHOW_AFTER_MS = 300;
const FRAME_MS = 100;
const FRAMES = '-\\|/';
/** Waits that follow each other within this time are shown as one. */
const MERGE_GAP_MS = 100;

/** Creates a line on a terminal that says what the command waits for. It is erased before anything else is written. */
export function createSpinner({ ctx, report }: Pick<Invocation, 'ctx' | 'report'>) {
  let timer: NodeJS.Timeout | undefined;
  let since = 0;
  let stoppedAt = 0;

  const erase = () => {
    report.clear = () => {};
    ctx.stderr.write(Buffer.from('\r\x1b[K'));
  };
  const stopOnSignal = (signal: NodeJS.Signals) => {
    stop();
    endBySignal(signal);
  };
  /** @param maxSeconds how long it may take at most: then the time left is shown, else the time that has passed */
  const start = (text: string, maxSeconds?: number) => {
    const shown = ctx.stderr.isTTY && !report.quiet && !report.json;
    if (!shown || inCi(ctx.env) || ctx.env.TERM === 'dumb') return;
    if (timer !== undefined) stop();
    if (performance.now() - stoppedAt > MERGE_GAP_MS) since = performance.now();
    let frame = 0;
    const draw = () => {
      const passed = performance.now() - since;
      if (passed < SHOW_AFTER_MS) return;
      const seconds = passed / 1000;
      const count = maxSeconds
        ? `${Math.max(0, Math.ceil(maxSeconds - seconds))}s left`
        : formatDuration(seconds);
      const time = passed < 2000 ? '' : ` ${count}`;
      const line = `${FRAMES[frame++ % FRAMES.length]} ${singleLine(text)}${time}`;
      // A line that wraps could not be erased, so it is cut off.
      ctx.stderr.write(Buffer.from(`\r${line.slice(0, (ctx.stderr.columns || 80) - 1)}\x1b[K`));
      report.clear = erase;
    };
    timer = setInterval(draw, FRAME_MS).unref();
    process.on('SIGINT', stopOnSignal).on('SIGTERM', stopOnSignal);
  };
  const stop = () => {
    if (timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
    report.clear();
    stoppedAt = performance.now();
    process.off('SIGINT', stopOnSignal).off('SIGTERM', stopOnSignal);
  };
  return { start, stop };
}

/** Shows each request while it is under way, and writes a line about it under -v when it has ended. */
export function showRequests(invocation: Invocation, text: string) {
  const { report } = invocation;
  const spinner = createSpinner(invocation);
  return {
    onStart: () => spinner.start(report.progress ?? text),
    onRequest: ({ method, path, status, ms }: RequestEvent) => {
      spinner.stop();
      report.detail(`${method} ${path} ${status ?? 'no answer'} ${Math.round(ms)} ms`);
    },
  };
}
