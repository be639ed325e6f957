import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Context } from '../../src/cli/context.js';
import { createReport } from '../../src/cli/output/report.js';
import { createSpinner } from '../../src/cli/output/spinner.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'], now: 1_700_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

const TEXT = 'waiting for http://127.0.0.1';

function onScreen({ isTTY = true, columns = 80, env = {} as Record<string, string>, flags = {} } = {}) {
  let written = '';
  const stream = {
    isTTY,
    columns,
    write: (text: string) => {
      written += text;
    },
  };
  const ctx = { argv: [], env, stderr: stream, stdout: stream } as unknown as Context;
  const report = createReport(ctx);
  Object.assign(report, flags);
  const spinner = createSpinner({ ctx, report });
  return {
    ctx,
    report,
    spinner,
    /** Returns what was written since the last call. */
    news: () => {
      const news = written;
      written = '';
      return news;
    },
  };
}

test('within 300 ms nothing is drawn, and nothing has to be erased', () => {
  const { spinner, news } = onScreen();
  spinner.start(TEXT);
  vi.advanceTimersByTime(299);
  spinner.stop();
  vi.advanceTimersByTime(1000);
  expect(news()).toBe('');
});

test('after 300 ms the spinner turns, after 2 s it shows the elapsed time, and stop erases it', () => {
  const { spinner, news } = onScreen();
  spinner.start(TEXT);
  vi.advanceTimersByTime(300);
  expect(news()).toBe(`\r- ${TEXT}\x1b[K`);
  vi.advanceTimersByTime(200);
  expect(news()).toBe(`\r\\ ${TEXT}\x1b[K\r| ${TEXT}\x1b[K`);
  vi.advanceTimersByTime(1500);
  expect(news().endsWith(` ${TEXT} 2s\x1b[K`)).toBe(true);
  spinner.stop();
  expect(news()).toBe('\r\x1b[K');
  vi.advanceTimersByTime(1000);
  expect(news()).toBe('');
});

test('what is written erases the line of any of several spinners', () => {
  const { ctx, report, spinner, news } = onScreen();
  spinner.start(TEXT);
  vi.advanceTimersByTime(300);
  createSpinner({ ctx, report }).start(TEXT);
  news();
  report.note('done');
  expect(news()).toBe('\r\x1b[Kgraphcred: done\n');
});

test('waits that follow each other at once count as one wait', () => {
  const { spinner, news } = onScreen();
  for (let n = 0; n < 3; n++) {
    spinner.start(TEXT);
    vi.advanceTimersByTime(120);
    expect(news().includes(TEXT)).toBe(n === 2);
    spinner.stop();
  }
  // A question was shown meanwhile, so this time was not spent waiting for the server.
  vi.advanceTimersByTime(5000);
  news();
  spinner.start(TEXT);
  vi.advanceTimersByTime(299);
  expect(news()).toBe('');
});

test('the spinner is erased before other output, and drawn again after it', () => {
  const { report, spinner, news } = onScreen();
  report.verbose = true;
  spinner.start(TEXT);
  vi.advanceTimersByTime(300);
  news();
  report.detail('one');
  expect(news()).toBe('\r\x1b[Kgraphcred: one\n');
  vi.advanceTimersByTime(100);
  expect(news()).toContain(TEXT);
  report.result('two');
  expect(news()).toBe('\r\x1b[Ktwo\n');
});

test('the line is never so long that it wraps', () => {
  const { spinner, news } = onScreen({ columns: 12 });
  spinner.start(TEXT);
  vi.advanceTimersByTime(300);
  expect(news()).toBe('\r- waiting f\x1b[K');
});

test.each([
  ['stderr is no terminal', { isTTY: false }],
  ['-q', { flags: { quiet: true } }],
  ['-o json', { flags: { format: 'json' } }],
  ['CI', { env: { CI: 'true' } }],
  ['TERM=dumb', { env: { TERM: 'dumb' } }],
])('nothing is drawn with %s', (_, situation) => {
  const { spinner, news } = onScreen(situation);
  spinner.start(TEXT);
  vi.advanceTimersByTime(60_000);
  spinner.stop();
  expect(news()).toBe('');
});
