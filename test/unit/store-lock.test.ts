import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
import { Sensitive } from '../../src/core/sensitive.js';
import {
  acquireLock,
  hostId,
  isAlive,
  processId,
  tryLock,
  withLockIfWritable,
} from '../../src/files/lock.js';
import { acquireMachineLock, readRefusal, writeRefusal } from '../../src/store/lock.js';
import { entryPath } from '../../src/store/records.js';
import type { Store, StoreRecord } from '../../src/store/store.js';
import { sweep } from '../../src/store/sweep.js';
import { temporaryHome } from '../helpers/cli.js';
import { failureOf } from '../helpers/redis-store.js';

let dir: string;
let file: string;
beforeEach(() => {
  dir = temporaryHome();
  file = path.join(dir, 'token-x.lock');
});
afterEach(() => vi.restoreAllMocks());

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

  const planted: [string, (plant: string) => void, RegExp][] = [
    ['a FIFO', (plant) => execFileSync('mkfifo', [plant]), /not a plain file/],
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
});

describe('the sweep', () => {
  const hours = (n: number) => new Date(Date.now() - n * 3600_000);
  const put = (name: string, age: Date) => {
    fs.writeFileSync(path.join(dir, name), 'x');
    fs.utimesSync(path.join(dir, name), age, age);
  };

  it('removes only old files that belong to no running process', () => {
    put('token-1.json.77.abc.tmp', hours(1));
    put('token-2.json.77.abc.tmp', hours(0));
    put('config.json.77.tmp', hours(1));
    put('config.tmp', hours(9000));
    put('token-4.json.77.abc.tmp', hours(-3));
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
      'token-2.json.77.abc.tmp',
      'token-2.refused',
      'token-5.lock.abc-def',
      'token-x.lock',
    ]);
  });
});

const failing = (code: string) => Object.assign(new Error(code), { code });

describe('a lock while another process acts', () => {
  it.each(['EPERM', 'EEXIST'])('that another took just then stays with it (%s)', (code) => {
    const theirs = `abc-def ${processId(hostId())}\n`;
    vi.spyOn(fs, 'linkSync').mockImplementation(() => {
      fs.writeFileSync(file, theirs, { mode: 0o600 });
      throw failing(code);
    });
    expect(tryLock(file)).toBeUndefined();
    expect(fs.readFileSync(file, 'utf8')).toBe(theirs);
    expect(fs.readdirSync(dir)).toEqual(['token-x.lock']);
  });

  it('that cannot be written where there are no hard links is an error, and leaves no file', () => {
    vi.spyOn(fs, 'linkSync').mockImplementation(() => {
      throw failing('EPERM');
    });
    const write = fs.writeFileSync;
    vi.spyOn(fs, 'writeFileSync').mockImplementation((target, ...rest) => {
      write(target, ...rest);
      if (target === file) throw failing('ENOSPC');
    });
    expect(() => tryLock(file)).toThrow('the disk is full');
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('is renewed while it is held, only if it is still there and its own', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
    try {
      const lock = tryLock(file);
      const old = new Date(Date.now() - 20_000);
      fs.utimesSync(file, old, old);
      vi.advanceTimersByTime(5_000);
      expect(Math.abs(fs.statSync(file).mtimeMs - Date.now())).toBeLessThan(1000);
      fs.writeFileSync(file, 'another elsewhere/1/1\n');
      fs.utimesSync(file, old, old);
      vi.advanceTimersByTime(5_000);
      expect(Date.now() - fs.statSync(file).mtimeMs).toBeGreaterThan(20_000);
      fs.rmSync(file);
      vi.advanceTimersByTime(5_000);
      expect(fs.existsSync(file)).toBe(false);
      lock?.release();
    } finally {
      vi.useRealTimers();
    }
  });

  it('that cannot be removed does not make its release fail', () => {
    const lock = tryLock(file);
    vi.spyOn(fs, 'rmSync').mockImplementation(() => {
      throw failing('EROFS');
    });
    lock?.release();
    expect(fs.existsSync(file)).toBe(true);
  });

  it('is released after the work, also when that fails, and the work is not repeated', async () => {
    expect(await withLockIfWritable(file, 100, async () => fs.existsSync(file))).toBe(true);
    const work = vi.fn().mockRejectedValue(new GraphException('STORE_UNAVAILABLE', 'the keychain is silent'));
    await expect(withLockIfWritable(file, 1000, work)).rejects.toThrow('the keychain is silent');
    expect(work).toHaveBeenCalledTimes(1);
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('counts as new when it is taken after a wait', async () => {
    const holder = tryLock(file);
    const waiting = acquireLock(file, 5_000);
    for (const name of fs.readdirSync(dir)) fs.utimesSync(path.join(dir, name), 0, 0);
    holder?.release();
    expect(await waiting).toBeDefined();
    expect(Date.now() - fs.statSync(file).mtimeMs).toBeLessThan(10_000);
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
      message: 'another graphcred process is busy with this entry; waited 7 s',
      hint: expect.stringContaining('run the command again'),
    });
  });

  it('that its owner is still writing is waited for, although half of its content names a dead process', () => {
    const whole = `abc-def ${processId(hostId())}`;
    fs.writeFileSync(file, whole.slice(0, -1), { mode: 0o600 });
    expect(tryLock(file)).toBeUndefined();
  });

  it('is released by its first file, without which the others count for nothing if the process ends meanwhile', () => {
    fs.writeFileSync(file, `n0 ${hostId()}/4194999/1\n`, { mode: 0o600 });
    const lock = tryLock(file);
    const removed: unknown[] = [];
    const remove = fs.rmSync;
    vi.spyOn(fs, 'rmSync').mockImplementation((name, options) => {
      removed.push(name);
      remove(name, options);
    });
    lock?.release();
    expect(removed).toEqual([file, `${file}.n0`]);
  });
});

describe('the owner of a lock', () => {
  const here = 'here';
  const minute = 60_000;

  it('is known on a machine whose name has blanks and slashes', () => {
    vi.spyOn(os, 'hostname').mockReturnValue('a/b c');
    expect(hostId()).not.toMatch(/[/ ]/);
    expect(isAlive(processId(hostId()), minute, hostId())).toBe(true);
  });

  it.each([
    ['this process', () => processId(here), 0, true],
    ['this process, however old its lock is', () => processId(here), 100 * minute, true],
    ['another process with its id', () => processId(here).replace(/\d+$/, '1'), 0, false],
    ['a process that has ended', () => `${here}/4194999/1`, 0, false],
    ['a process elsewhere just before 30 s', () => `there/${process.pid}/1`, 29_999, true],
    ['a process elsewhere after 30 s', () => `there/${process.pid}/1`, 30_000, false],
    ['a process elsewhere, 30 s in the future', () => `there/${process.pid}/1`, -30_000, false],
    [
      'a process without a start time before 10 minutes',
      () => `${here}/${process.pid}/`,
      10 * minute - 1,
      true,
    ],
    ['a process without a start time after 10 minutes', () => `${here}/${process.pid}/`, 10 * minute, false],
  ])('%s', (_who, mark, age, alive) => {
    expect(isAlive(mark(), age, here)).toBe(alive);
  });

  it('that is not named yet is waited for two seconds', () => {
    expect(isAlive(undefined, 1_999, here)).toBe(true);
    expect(isAlive(undefined, 2_000, here)).toBe(false);
  });

  it('of another user counts as alive', () => {
    vi.spyOn(process, 'kill').mockImplementation(() => {
      throw failing('EPERM');
    });
    expect(isAlive(processId(here), 0, here)).toBe(true);
  });

  it.skipIf(process.platform !== 'linux')(
    'is known by the machine, its start and the process namespace',
    () => {
      expect(hostId()).toMatch(/^[^:/ ]+:[0-9a-f-]{36}:\d+$/);
      vi.spyOn(fs, 'readlinkSync').mockImplementation(() => {
        throw failing('ENOENT');
      });
      expect(hostId()).toMatch(/^[^:/ ]+::$/);
    },
  );
});

describe('a refusal', () => {
  it('keeps its option and those remedies that this version knows', () => {
    const refused = path.join(dir, 'token-x.refused');
    const details = { hint: 'look', option: 'lifetime', remedies: ['wait', 'examine'] as const };
    writeRefusal(refused, new GraphException('AUTH_FAILED', 'no', details), 5);
    expect(readRefusal(refused, 5, 5)).toMatchObject({ option: 'lifetime', hint: 'look' });
    expect([...(readRefusal(refused, 5, 5)?.remedies ?? [])].sort()).toEqual(['examine', 'wait']);
    const changed = fs.readFileSync(refused, 'utf8').replace('"wait"', '"dance"');
    fs.writeFileSync(refused, changed);
    expect(readRefusal(refused, 5, 5)?.remedies).toEqual(['examine']);
    for (const name of ['hint', 'remedies', 'status'] as const) {
      fs.writeFileSync(refused, JSON.stringify({ ...JSON.parse(changed), [name]: {} }));
      expect(readRefusal(refused, 5, 5)).toMatchObject({ code: 'AUTH_FAILED', message: 'no' });
      expect(readRefusal(refused, 5, 5)?.[name]).not.toEqual({});
    }
    for (const change of [{ code: 'SERVER_ERROR' }, { message: 7 }, { at: 'now' }, { at: 4 }, { at: 6 }]) {
      fs.writeFileSync(refused, JSON.stringify({ ...JSON.parse(changed), ...change }));
      expect(readRefusal(refused, 5, 5)).toBeUndefined();
    }
  });
});

describe('the lock of a token on one machine', () => {
  const record: StoreRecord = { v: 1, kind: 'token', key: 'k', store: 'file', createdAtUnix: 1, info: {} };
  const lockFile = () => entryPath(dir, 'token', 'k', 'lock');
  const take = (
    more: Partial<Parameters<typeof acquireMachineLock>[2] & Pick<Store, 'find' | 'write'>> = {},
  ) => {
    const { find = async () => undefined, write = async () => {}, ...options } = more;
    const defaults = { waitMs: 2000, since: 5, now: () => 9, accepts: () => true, stateDir: dir };
    return acquireMachineLock('k', { find, write }, { ...defaults, ...options });
  };
  const free = () => {
    const lock = tryLock(lockFile());
    lock?.release();
    return lock !== undefined;
  };

  it('is the lock of the key, with which a value is written, until it is released', async () => {
    const write = vi.fn(async () => {});
    const turn = await take({ write });
    expect(free()).toBe(false);
    const value = new Sensitive('x');
    await turn?.write(record, value);
    expect(write.mock.calls).toEqual([[record, value]]);
    await turn?.release();
    expect(free()).toBe(true);
  });

  it('is not kept when a usable record or a refusal is there', async () => {
    expect(await take({ find: async () => record })).toBeUndefined();
    expect(free()).toBe(true);
    const unusable = await take({ find: async () => record, accepts: () => false });
    await unusable?.refuse(new GraphException('AUTH_FAILED', 'no'));
    await unusable?.release();
    expect(await failureOf(take())).toMatchObject({ code: 'AUTH_FAILED' });
    expect(free()).toBe(true);
  });

  it('is waited for no longer when a record or a refusal comes', async () => {
    tryLock(lockFile());
    let looks = 0;
    expect(await take({ find: async () => (++looks > 2 ? record : undefined) })).toBeUndefined();
    const waiting = failureOf(take({ waitMs: 20_000 }));
    writeRefusal(entryPath(dir, 'token', 'k', 'refused'), new GraphException('AUTH_FAILED', 'no'), 9);
    expect(await waiting).toMatchObject({ code: 'AUTH_FAILED' });
    expect(await failureOf(take({ since: 10, now: () => 10, waitMs: 30 }))).toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
  });
});

describe.skipIf(process.platform !== 'linux')('the process that owns a lock', () => {
  const statOf = (pid: number) => fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fieldsOf = (pid: number) =>
    statOf(pid)
      .slice(statOf(pid).lastIndexOf(')') + 2)
      .split(' ');
  const markOf = (pid: number) => `${hostId()}/${pid}/${fieldsOf(pid)[19]}`;
  const started = (command: string, ...args: string[]) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };

  it('that has ended counts as dead although its parent has not asked for its status yet', async () => {
    const parent = started('sh', '-c', 'sleep 0.01 & echo $!; exec sleep 30');
    const [line] = await once(parent.stdout, 'data');
    const pid = Number(String(line));
    await expect.poll(() => fieldsOf(pid)[0]).toBe('Z');
    expect(isAlive(markOf(pid), 0, hostId())).toBe(false);
  });

  it('lives when the name of its program holds blanks and parentheses', async () => {
    const program = path.join(dir, 'x) S 1 (y');
    fs.symlinkSync('/bin/sh', program);
    const child = started(program, '-c', 'echo; read -r line < /dev/tty || sleep 30; sleep 30');
    await once(child.stdout, 'data');
    const pid = child.pid as number;
    expect(statOf(pid)).toContain('(x) S 1 (y)');
    expect(isAlive(markOf(pid), 0, hostId())).toBe(true);
  });
});
