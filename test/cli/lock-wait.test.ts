import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { tryLock } from '../../src/files/lock.js';
import { entryPath, listEntries, recordPath } from '../../src/store/records.js';
import { bench } from '../helpers/cli.js';

test('a call waits for another process that mints 5 s longer than that may take, by its --timeout', async () => {
  const { run, home } = await bench({ serverVersion: '3.10.1' });
  expect((await run('token get')).status).toBe(0);
  const stateDir = path.join(home, '.local/state/graphcred');
  const key = listEntries(stateDir, () => {})[0]?.record.key ?? expect.fail('no token is stored');
  fs.rmSync(recordPath(stateDir, { kind: 'token', key, store: 'file' }));
  const holder = tryLock(entryPath(stateDir, 'token', key, 'lock'));
  expect(holder).toBeDefined();
  onTestFinished(() => {
    vi.restoreAllMocks();
    holder?.release();
  });
  // Each look at the clock is four seconds after the one before.
  let seconds = process.uptime();
  vi.spyOn(process, 'uptime').mockImplementation(() => (seconds += 4));
  const { status, stderr } = await run('token get --timeout 10');
  expect(stderr).toContain('busy with this entry; waited 15 s');
  expect(status).not.toBe(0);
});
