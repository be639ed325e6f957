import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireLock, tryLock } from '../../src/store/lock.js';

describe('lock', () => {
  it('is had by one at a time', async () => {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-lock-')), 'x.lock');
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const lock = await acquireLock(file, { waitMs: 10_000 });
        most = Math.max(most, ++inside);
        await new Promise(setImmediate);
        inside--;
        lock.release();
      }),
    );
    expect(most).toBe(1);
    const lock = tryLock(file);
    expect(tryLock(file)).toBeUndefined();
    lock?.release();
    expect(fs.readdirSync(path.dirname(file))).toEqual([]);
  });
});
