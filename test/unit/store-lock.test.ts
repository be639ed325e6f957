import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { acquireLock, tryLock } from '../../src/store/lock.js';
import { sweep } from '../../src/store/sweep.js';

let dir: string;
let file: string;
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-lock-'));
  file = path.join(dir, 'token-x.lock');
});
afterEach(() => {
  vi.restoreAllMocks();
  fs.rmSync(dir, { recursive: true, force: true });
});

/** Changes the mark of the lock's owner, and the lock's age. */
function forge(change: (content: string) => string, ageMs = 0): void {
  fs.writeFileSync(file, change(fs.readFileSync(file, 'utf8')));
  const then = new Date(Date.now() - ageMs);
  fs.utimesSync(file, then, then);
}

const links: [string, () => void][] = [
  ['with hard links', () => {}],
  [
    'on a file system without hard links',
    () => {
      vi.spyOn(fs, 'linkSync').mockImplementation(() => {
        throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
      });
    },
  ],
];

describe.each(links)('a lock %s', (_how, prepare) => {
  beforeEach(prepare);

  it('is had by one at a time', async () => {
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
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('is made for this user alone, and leaves nothing behind', () => {
    const lock = tryLock(file);
    expect(tryLock(file)).toBeUndefined();
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(fs.readdirSync(dir)).toEqual(['token-x.lock']);
    lock?.release();
    lock?.release();
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('is taken over from the dead again and again, and cleared away at the end', () => {
    for (let i = 0; i < 5; i++) {
      expect(tryLock(file)).toBeDefined();
      for (const name of fs.readdirSync(dir)) {
        const link = path.join(dir, name);
        fs.writeFileSync(link, fs.readFileSync(link, 'utf8').replace(/\/\d+\/\d*$/m, '/4194999/1'));
      }
    }
    expect(fs.readdirSync(dir)).toHaveLength(5);
    const lock = tryLock(file);
    expect(tryLock(file)).toBeUndefined();
    lock?.release();
    expect(fs.readdirSync(dir)).toEqual([]);
  });
});

describe('a lock', () => {
  it('is not believed to be had when another process took it over and gave it back just before', () => {
    tryLock(file);
    forge((content) => content.replace(/\/\d+\/\d*$/m, '/4194999/1'));
    const link = fs.linkSync;
    vi.spyOn(fs, 'linkSync').mockImplementationOnce((...args) => {
      const other = tryLock(file);
      expect(other).toBeDefined();
      other?.release();
      link(...args);
    });
    expect(tryLock(file)).toBeUndefined();
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('gives up after the time it was allowed, and says what to do', async () => {
    tryLock(file);
    await expect(acquireLock(file, { waitMs: 60 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      hint: expect.stringContaining(file),
    });
    expect(fs.readdirSync(dir)).toEqual(['token-x.lock']);
  });

  it('is waited for no longer once there is an answer without it', async () => {
    const holder = tryLock(file);
    let asked = 0;
    const answered = () => ++asked === 3;
    expect(await acquireLock(file, { waitMs: 60_000, answered })).toBeUndefined();
    expect(fs.readdirSync(dir)).toEqual(['token-x.lock']);
    holder?.release();
    expect(await acquireLock(file, { waitMs: 60_000, answered: () => true })).toBeDefined();
  });

  it('stops waiting when told to', async () => {
    tryLock(file);
    const stop = new AbortController();
    const waiting = acquireLock(file, { waitMs: 10_000, signal: stop.signal });
    stop.abort(new Error('Ctrl-C'));
    await expect(waiting).rejects.toThrow('Ctrl-C');
    expect(fs.readdirSync(dir)).toEqual(['token-x.lock']);
  });

  it.skipIf(process.platform !== 'linux')(
    'is not left to another process that got the dead owner’s number',
    () => {
      tryLock(file);
      forge((content) => content.replace(/\/(\d+)\/\d+$/m, '/$1/1'));
      expect(tryLock(file)).toBeDefined();
    },
  );

  it('of another machine is respected while it is young, and taken over when it is old', () => {
    tryLock(file);
    forge((content) => content.replace(/ .*\//, ' elsewhere:boot:1/1/'), 60_000);
    expect(tryLock(file)).toBeUndefined();
    forge((content) => content, 10 * 60_000);
    expect(tryLock(file)).toBeDefined();
  });

  it('is not given back by an owner whom another machine has taken for dead', () => {
    const first = tryLock(file);
    forge((content) => content.replace(/ .*\//, ' elsewhere:boot:1/1/'), 10 * 60_000);
    const second = tryLock(file);
    first?.release();
    expect(tryLock(file)).toBeUndefined();
    second?.release();
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('whose file is empty is waited for a moment, then taken over', () => {
    fs.writeFileSync(file, '');
    expect(tryLock(file)).toBeUndefined();
    forge(() => '', 10_000);
    expect(tryLock(file)).toBeDefined();
  });

  it('does not stay young for ever when the clock is set back', () => {
    const threeHoursAhead = -3 * 3_600_000;
    fs.writeFileSync(file, '');
    forge(() => '', threeHoursAhead);
    expect(tryLock(file)).toBeDefined();
    fs.rmSync(file);
    tryLock(file);
    forge((content) => content.replace(/ .*\//, ' elsewhere:boot:1/1/'), threeHoursAhead);
    expect(tryLock(file)).toBeDefined();
  });

  it('that cannot be written for want of room leaves nothing behind', () => {
    vi.spyOn(fs, 'writeFileSync').mockImplementationOnce((target) => {
      fs.closeSync(fs.openSync(target as string, 'wx'));
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    });
    expect(() => tryLock(file)).toThrow('the disk is full');
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('cannot be had where nothing can be written', async () => {
    const inTheWay = path.join(dir, 'file');
    fs.writeFileSync(inTheWay, '');
    await expect(acquireLock(path.join(inTheWay, 'x.lock'), { waitMs: 60 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('cannot write to'),
    });
  });
});

describe('sweeping', () => {
  const hours = (n: number) => new Date(Date.now() - n * 3600_000);
  const put = (name: string, age: Date) => {
    fs.writeFileSync(path.join(dir, name), 'x');
    fs.utimesSync(path.join(dir, name), age, age);
  };

  it('clears away what is old and nobody’s, and nothing else', () => {
    const living = process.pid;
    put(`token-1.json.${living}.abc.tmp`, hours(1));
    put(`token-2.json.${living}.abc.tmp`, hours(0));
    // No process can have that number.
    put('token-3.json.4194999.abc.tmp', hours(0));
    put('config.json.4194999.tmp', hours(0));
    put('config.tmp', hours(9000));
    put(`token-4.json.${living}.abc.tmp`, hours(-3));
    put('token-4.refused', hours(-3));
    put('token-1.refused', hours(2));
    put('token-2.refused', hours(0));
    put('token-1.json', hours(9000));
    put('token-3.lock', hours(2));
    put('token-4.lock.abc-def', hours(2));
    put('token-5.lock.abc-def', hours(0));
    put('somebody-else', hours(9000));
    tryLock(file);
    fs.utimesSync(file, hours(2), hours(2));
    sweep({ stateDir: dir, configDir: path.join(dir, 'missing') });
    expect(fs.readdirSync(dir).sort()).toEqual([
      'config.tmp',
      'somebody-else',
      'token-1.json',
      `token-2.json.${living}.abc.tmp`,
      'token-2.refused',
      'token-5.lock.abc-def',
      'token-x.lock',
    ]);
  });

  it('does nothing where there is no folder', () => {
    sweep({ stateDir: path.join(dir, 'missing'), configDir: path.join(dir, 'missing') });
    expect(fs.readdirSync(dir)).toEqual([]);
  });
});
