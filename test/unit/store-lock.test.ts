import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
import { acquireLock, tryLock } from '../../src/files/lock.js';
import { acquireMachineLock, writeRefusal } from '../../src/store/lock.js';
import { entryPath } from '../../src/store/records.js';
import type { Store } from '../../src/store/store.js';
import { temporaryHome } from '../helpers/cli.js';
import { failureOf } from '../helpers/redis-store.js';
import { tokenRecord } from '../helpers/store-options.js';

let dir: string;
let file: string;
beforeEach(() => {
  dir = temporaryHome();
  file = path.join(dir, 'token-x.lock');
});
afterEach(() => vi.restoreAllMocks());

/** Makes the file look as if it was last written this long ago. */
function age(name: string, seconds: number): void {
  const then = new Date(Date.now() - seconds * 1000);
  fs.utimesSync(name, then, then);
}

describe('a lock', () => {
  it('belongs to one process at a time', async () => {
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const lock = await acquireLock(file, 10_000);
        most = Math.max(most, ++inside);
        await new Promise(setImmediate);
        inside--;
        lock?.release();
      }),
    );
    expect(most).toBe(1);
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('is readable only by this user, and leaves no file behind', () => {
    const lock = tryLock(file);
    expect(tryLock(file)).toBeUndefined();
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    lock?.release();
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('is released when the process exits', () => {
    tryLock(file);
    process.listeners('exit')[0]?.(0);
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('is taken over when its owner has not renewed it for five seconds, and is not released by that owner', async () => {
    const clock = vi.spyOn(process, 'uptime').mockReturnValue(100);
    const first = tryLock(file);
    let looks = 0;
    const waiting = acquireLock(file, 60_000, async () => ++looks < 0);
    const anotherLook = (before = looks) => expect.poll(() => looks).toBeGreaterThan(before + 1);
    await anotherLook();
    clock.mockReturnValue(104.9);
    await anotherLook();
    age(file, -1);
    await anotherLook();
    clock.mockReturnValue(109.8);
    await anotherLook();
    first?.release();
    expect(await waiting).toBeDefined();
  });

  it('is left to another process that was faster to take it over', async () => {
    const clock = vi.spyOn(process, 'uptime').mockReturnValue(100);
    tryLock(file);
    const rename = fs.renameSync;
    vi.spyOn(fs, 'renameSync').mockImplementationOnce((from, to) => {
      fs.unlinkSync(file);
      tryLock(file);
      age(file, 3);
      rename(from, to);
    });
    let looks = 0;
    const waiting = failureOf(acquireLock(file, 7_000, async () => ++looks < 0));
    await expect.poll(() => looks).toBeGreaterThan(1);
    clock.mockReturnValue(105.1);
    await expect.poll(() => vi.mocked(fs.renameSync).mock.calls.length).toBe(1);
    clock.mockReturnValue(107.1);
    expect(await waiting).toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(fs.readdirSync(dir)).toEqual(['token-x.lock']);
  });

  it('is renewed each second while it is held, and nothing that is there in its place', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const lock = tryLock(file);
      age(file, 20);
      vi.advanceTimersByTime(1_000);
      expect(Date.now() - fs.statSync(file).mtimeMs).toBeLessThan(5_000);
      fs.unlinkSync(file);
      fs.writeFileSync(file, 'another');
      age(file, 20);
      vi.advanceTimersByTime(1_000);
      lock?.release();
      expect(Date.now() - fs.statSync(file).mtimeMs).toBeGreaterThan(15_000);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is not waited for any longer when it is no longer needed', async () => {
    const holder = tryLock(file);
    let asked = 0;
    const isAnswered = async () => ++asked === 3;
    expect(await acquireLock(file, 60_000, isAnswered)).toBeUndefined();
    expect(fs.readdirSync(dir)).toEqual(['token-x.lock']);
    holder?.release();
    expect(await acquireLock(file, 60_000, async () => true)).toBeUndefined();
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('says how long was waited, and is asked again until then', async () => {
    tryLock(file);
    const clock = vi.spyOn(process, 'uptime').mockReturnValue(100);
    const waiting = failureOf(acquireLock(file, 7_000));
    clock.mockReturnValue(106.9);
    await new Promise((resolve) => setTimeout(resolve, 60));
    clock.mockReturnValue(107.1);
    expect(await waiting).toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: 'another graphcred process is doing the same; waited 7 s',
      hint: expect.stringContaining('run the command again'),
    });
  });

  it('whose file cannot be made is an error', () => {
    vi.spyOn(fs, 'openSync').mockImplementation(() => {
      throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    });
    expect(() => tryLock(file)).toThrow('the disk is full');
  });
});

describe('the lock of a token on one machine', () => {
  const record = tokenRecord({ key: 'k' });
  const lockFile = () => entryPath(dir, 'token', 'k', 'lock');
  const take = (more: Partial<Parameters<typeof acquireMachineLock>[1] & Pick<Store, 'list'>> = {}) => {
    const { list, ...options } = more;
    const defaults = { waitMs: 2000, since: 5, now: () => 9, accepts: () => true, stateDir: dir };
    return acquireMachineLock('k', { ...defaults, ...options }, list);
  };
  const free = () => {
    const lock = tryLock(lockFile());
    lock?.release();
    return lock !== undefined;
  };

  it('is the lock of the key until it is released', async () => {
    const turn = await take();
    expect(free()).toBe(false);
    await turn?.release();
    expect(free()).toBe(true);
  });

  it('is not kept when a usable record or a refusal is there', async () => {
    expect(await take({ list: async () => [record] })).toBeUndefined();
    expect(free()).toBe(true);
    const unusable = await take({ list: async () => [record], accepts: () => false });
    await unusable?.refuse(new GraphException('AUTH_FAILED', 'no'));
    await unusable?.release();
    expect(await failureOf(take())).toMatchObject({ code: 'AUTH_FAILED' });
    expect(free()).toBe(true);
  });

  it('is waited for no longer when a record or a refusal comes', async () => {
    tryLock(lockFile());
    let looks = 0;
    expect(await take({ list: async () => (++looks > 2 ? [record] : []) })).toBeUndefined();
    const waiting = failureOf(take({ waitMs: 20_000 }));
    writeRefusal(entryPath(dir, 'token', 'k', 'refused'), new GraphException('AUTH_FAILED', 'no'), 9);
    expect(await waiting).toMatchObject({ code: 'AUTH_FAILED' });
    expect(await failureOf(take({ since: 10, now: () => 10, waitMs: 30 }))).toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
  });
});
