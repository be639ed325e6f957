import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
import { acquireLock, tryLock } from '../../src/store/lock/lock.js';
import { takeMachineTurn } from '../../src/store/lock/machine-turn.js';
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

/** Changes the content that names the lock's owner, and the age of the lock. */
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

  it('belongs to one process at a time', async () => {
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

  it('is readable only by this user, and leaves no file behind', () => {
    const lock = tryLock(file);
    expect(tryLock(file)).toBeUndefined();
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(fs.readdirSync(dir)).toEqual(['token-x.lock']);
    lock?.release();
    lock?.release();
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('is taken over from dead owners repeatedly, and all files are removed at the end', () => {
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
  it('is not taken if another process took it over and released it just before', () => {
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

  it('is given up after the time limit, with a message that says what to do', async () => {
    tryLock(file);
    await expect(acquireLock(file, { waitMs: 60 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      hint: expect.stringContaining(file),
    });
    expect(fs.readdirSync(dir)).toEqual(['token-x.lock']);
  });

  it('is not waited for any longer when it is no longer needed', async () => {
    const holder = tryLock(file);
    let asked = 0;
    const answered = async () => ++asked === 3;
    expect(await acquireLock(file, { waitMs: 60_000, answered })).toBeUndefined();
    expect(fs.readdirSync(dir)).toEqual(['token-x.lock']);
    holder?.release();
    expect(await acquireLock(file, { waitMs: 60_000, answered: async () => true })).toBeDefined();
  });

  it.skipIf(process.platform !== 'linux')(
    'is taken over although another process now has the dead owner’s id',
    () => {
      tryLock(file);
      forge((content) => content.replace(/\/(\d+)\/\d+$/m, '/$1/1'));
      expect(tryLock(file)).toBeDefined();
    },
  );

  it('of another machine is respected while it is young, and taken over when it is old', () => {
    tryLock(file);
    forge((content) => content.replace(/ .*\//, ' elsewhere:boot:1/1/'), 20_000);
    expect(tryLock(file)).toBeUndefined();
    forge((content) => content, 10 * 60_000);
    expect(tryLock(file)).toBeDefined();
  });

  it('of another container is respected for as long as its owner renews it, and taken over 30 s after its end', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    tryLock(file);
    // From inside a container, the owner's process id has no meaning.
    forge((content) => content.replace(/ .*\//, ' elsewhere:boot:1/1/'));
    for (let minute = 0; minute < 10; minute++) {
      vi.advanceTimersByTime(60_000);
      expect(tryLock(file)).toBeUndefined();
    }
    // The owner is killed: time passes, but its timer no longer runs.
    vi.setSystemTime(Date.now() + 20_000);
    expect(tryLock(file)).toBeUndefined();
    vi.setSystemTime(Date.now() + 11_000);
    expect(tryLock(file)).toBeDefined();
  });

  it('is not renewed after its release', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    tryLock(file)?.release();
    expect(vi.getTimerCount()).toBe(0);
  });

  const planted: [string, (plant: string) => void, RegExp][] = [
    ['a FIFO', (plant) => execFileSync('mkfifo', [plant]), /not a plain file/],
    ['a link to /dev/zero', (plant) => fs.symlinkSync('/dev/zero', plant), /symbolic link/],
    ['a folder', (plant) => fs.mkdirSync(plant), /not a plain file/],
    [
      'a file of 100 GB',
      (plant) => {
        fs.writeFileSync(plant, '', { mode: 0o600 });
        fs.truncateSync(plant, 100e9);
      },
      /larger than 4096 bytes/,
    ],
    [
      'a chain that leads back to itself',
      (plant) => {
        fs.writeFileSync(plant, 'a elsewhere:boot:1/1/\n', { mode: 0o600 });
        fs.writeFileSync(`${plant}.a`, 'a elsewhere:boot:1/1/\n', { mode: 0o600 });
      },
      /has no end/,
    ],
  ];
  it.skipIf(process.platform === 'win32').each(planted)('that is %s does not hang', (_what, plant, why) => {
    plant(file);
    expect(() => tryLock(file)).toThrow(
      expect.objectContaining({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(why),
        hint: expect.stringContaining(file),
      }),
    );
    expect(fs.readdirSync(dir).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('whose content names a path outside its folder creates no file there', () => {
    fs.writeFileSync(file, '/../../../dev/zero elsewhere:boot:1/1/\n', { mode: 0o600 });
    fs.utimesSync(file, new Date(0), new Date(0));
    expect(tryLock(file)).toBeDefined();
    expect(fs.readdirSync(dir)).toHaveLength(2);
  });

  it('is not released by an owner that another machine has counted as dead', () => {
    const first = tryLock(file);
    forge((content) => content.replace(/ .*\//, ' elsewhere:boot:1/1/'), 10 * 60_000);
    const second = tryLock(file);
    first?.release();
    expect(tryLock(file)).toBeUndefined();
    second?.release();
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('whose file is empty is waited for briefly, and then taken over', () => {
    fs.writeFileSync(file, '');
    expect(tryLock(file)).toBeUndefined();
    forge(() => '', 10_000);
    expect(tryLock(file)).toBeDefined();
  });

  it('is taken over in time, even if the clock is set back', () => {
    const threeHoursAhead = -3 * 3_600_000;
    fs.writeFileSync(file, '');
    forge(() => '', threeHoursAhead);
    expect(tryLock(file)).toBeDefined();
    fs.rmSync(file);
    tryLock(file);
    forge((content) => content.replace(/ .*\//, ' elsewhere:boot:1/1/'), threeHoursAhead);
    expect(tryLock(file)).toBeDefined();
  });

  it('that cannot be written because the disk is full leaves no file behind', () => {
    vi.spyOn(fs, 'writeFileSync').mockImplementationOnce((target) => {
      fs.closeSync(fs.openSync(target as string, 'wx'));
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    });
    expect(() => tryLock(file)).toThrow('the disk is full');
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('cannot be taken if the folder is read-only', async () => {
    const inTheWay = path.join(dir, 'file');
    fs.writeFileSync(inTheWay, '');
    await expect(acquireLock(path.join(inTheWay, 'x.lock'), { waitMs: 60 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('cannot write to'),
    });
  });
});

describe('the sweep', () => {
  const hours = (n: number) => new Date(Date.now() - n * 3600_000);
  const put = (name: string, age: Date) => {
    fs.writeFileSync(path.join(dir, name), 'x');
    fs.utimesSync(path.join(dir, name), age, age);
  };

  it('removes only old files that belong to no running process', () => {
    const living = process.pid;
    put(`token-1.json.${living}.abc.tmp`, hours(1));
    put(`token-2.json.${living}.abc.tmp`, hours(0));
    // No process can have this id.
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

  it('does nothing if there is no folder', () => {
    sweep({ stateDir: path.join(dir, 'missing'), configDir: path.join(dir, 'missing') });
    expect(fs.readdirSync(dir)).toEqual([]);
  });
});

describe('a turn', () => {
  const record = { v: 1, kind: 'token', key: 'k', store: 'file', createdAtUnix: 1, info: {} } as const;
  const options = { waitMs: 1000, since: 5, now: () => 9, accepts: () => true };
  const empty: { find: () => Promise<typeof record | undefined> } = { find: async () => undefined };
  const take = (lookIn = empty) =>
    takeMachineTurn('k', async () => {}, { ...options, stateDir: dir, lookIn });

  it('is not taken if the token is already stored', async () => {
    expect(await take({ find: async () => record })).toBeUndefined();
    const turn = await take();
    expect(turn).toBeDefined();
    await turn?.release();
  });

  it('ends with the error that another process met after this one began, and not with an older one', async () => {
    const first = await take();
    await first?.refuse(new GraphException('AUTH_FAILED', 'no'));
    await first?.release();
    await expect(take()).rejects.toMatchObject({ code: 'AUTH_FAILED' });
    const later = await takeMachineTurn('k', async () => {}, {
      ...options,
      since: 10,
      now: () => 11,
      stateDir: dir,
      lookIn: empty,
    });
    expect(later).toBeDefined();
    await later?.release();
  });
});
