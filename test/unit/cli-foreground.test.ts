import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { watchForeground } from '../../src/cli/foreground.js';
import { temporaryHome } from '../helpers/cli.js';

/** Returns a PATH with a `cat` that waits, and the ids of the processes that ran it. */
function watched(): { folder: string; pids(): number[] } {
  const folder = temporaryHome();
  const log = path.join(folder, 'pids');
  fs.writeFileSync(log, '');
  fs.writeFileSync(path.join(folder, 'cat'), `#!/bin/sh\necho $$ >> '${log}'\nexec /bin/cat\n`, {
    mode: 0o755,
  });
  return { folder, pids: () => fs.readFileSync(log, 'utf8').split('\n').filter(Boolean).map(Number) };
}

test('a Ctrl-C that ends the process beside it was sent to all, each time, and one that does not was not', async () => {
  const { folder, pids } = watched();
  const watch = watchForeground(folder);
  onTestFinished(() => watch.stop());
  for (const nth of [1, 2]) {
    await vi.waitFor(() => expect(pids()).toHaveLength(nth));
    const wasSent = watch.wasSentToAll();
    process.kill(pids()[nth - 1] as number, 'SIGINT');
    expect(await wasSent).toBe(true);
  }
  await vi.waitFor(() => expect(pids()).toHaveLength(3));
  expect(await watch.wasSentToAll()).toBe(false);
});

test('the process beside it ends when it is no longer needed', async () => {
  const { folder, pids } = watched();
  const watch = watchForeground(folder);
  await vi.waitFor(() => expect(pids()).toHaveLength(1));
  const [pid] = pids() as [number];
  watch.stop();
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
});

test('without a program to start beside it, every Ctrl-C counts as one of the terminal', async () => {
  const watch = watchForeground(temporaryHome());
  expect(await watch.wasSentToAll()).toBe(true);
  watch.stop();
});
