import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  cannotWrite,
  ensurePrivateFolder,
  readBounded,
  readChecked,
  removeFile,
  removeQuietly,
  replaceFile,
  temporaryName,
  writePrivateFile,
} from '../../src/files/private-files.js';
import { temporaryHome } from '../helpers/cli.js';

let dir: string;
beforeEach(() => {
  dir = temporaryHome();
});
afterEach(() => vi.restoreAllMocks());

const systemError = (code: string) => Object.assign(new Error(code), { code });
const modeOf = (file: string) => fs.statSync(file).mode & 0o777;
const CHECK_PATH = 'check the path, and the owner and mode of its folder';

describe('a folder', () => {
  // holds: C5.9
  test.each([0, 0o177, 0o777])(
    'is made for this user alone, and so are the folders above it that were missing, with umask %i',
    (mask) => {
      const old = process.umask(mask);
      onTestFinished(() => void process.umask(old));
      ensurePrivateFolder(path.join(dir, 'a', 'b'));
      expect([modeOf(path.join(dir, 'a')), modeOf(path.join(dir, 'a', 'b'))]).toEqual([0o700, 0o700]);
      replaceFile(path.join(dir, 'c', 'd', 'file'), '');
      expect([modeOf(path.join(dir, 'c')), modeOf(path.join(dir, 'c', 'd'))]).toEqual([0o700, 0o700]);
      expect(modeOf(path.join(dir, 'c', 'd', 'file'))).toBe(0o600);
    },
  );

  test('of another user is refused with the way out', () => {
    vi.spyOn(process, 'geteuid').mockReturnValue(54_321);
    expect(() => ensurePrivateFolder(dir)).toThrow(
      expect.objectContaining({
        code: 'STORE_UNAVAILABLE',
        message: `${dir} belongs to another user`,
        hint: 'run graphcred as the user whose home folder this is',
      }),
    );
  });

  test.runIf(process.platform === 'linux')('below /proc is refused at once', () => {
    expect(() => ensurePrivateFolder('/proc/no/such/folder')).toThrow(
      'cannot write to /proc/no/such/folder: there is no such folder',
    );
  });

  test('that is private already keeps its mode, another becomes private, and on a system without users it is not looked at', () => {
    const changed = vi.spyOn(fs, 'chmodSync');
    fs.chmodSync(dir, 0o500);
    ensurePrivateFolder(dir);
    expect(modeOf(dir)).toBe(0o500);
    for (const mode of [0o710, 0o701, 0o777]) {
      fs.chmodSync(dir, mode);
      ensurePrivateFolder(dir);
      expect(modeOf(dir)).toBe(0o700);
    }
    fs.chmodSync(dir, 0o755);
    const before = changed.mock.calls.length;
    vi.spyOn(process, 'geteuid').mockReturnValue(undefined as unknown as number);
    ensurePrivateFolder(dir);
    expect(changed.mock.calls.length).toBe(before);
  });
});

test.each([
  ['ENOSPC', 'the disk is full', 'free some space on that disk'],
  ['EROFS', 'the file system is read-only', 'make that disk writable'],
  ['EIO', 'EIO', CHECK_PATH],
  [undefined, 'unknown error', CHECK_PATH],
])('the error %s of the system is told as "%s"', (code, reason, hint) => {
  const error = code === undefined ? new Error('?') : systemError(code);
  expect(cannotWrite('/state', error)).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: `cannot write to /state: ${reason}`,
    hint,
  });
});

describe('renaming over a file', () => {
  /** Lets the first renames fail, and returns how often it was tried. */
  function failing(code: string, times: number): () => number {
    vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out');
    let tried = 0;
    const rename = fs.renameSync;
    vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
      if (tried++ < times) throw systemError(code);
      rename(from, to);
    });
    return () => tried;
  }
  const on = (platform: string) => vi.spyOn(process, 'platform', 'get').mockReturnValue(platform as 'linux');

  const rename = () => writePrivateFile(path.join(dir, 'to'), 'new');

  test('on Windows waits while it is in use', () => {
    on('win32');
    const tried = failing('EPERM', 9);
    rename();
    expect(tried()).toBe(10);
    expect(fs.readFileSync(path.join(dir, 'to'), 'utf8')).toBe('new');
    expect(vi.mocked(Atomics.wait)).toHaveBeenCalledTimes(9);
    expect(vi.mocked(Atomics.wait).mock.calls[0]?.[3]).toBe(20);
  });

  test('on Windows is given up after ten times', () => {
    on('win32');
    const tried = failing('EPERM', 99);
    expect(rename).toThrow(`cannot write to ${dir}: permission denied`);
    expect(tried()).toBe(10);
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  test('on other systems is tried once', () => {
    on('linux');
    const tried = failing('EACCES', 1);
    expect(rename).toThrow('permission denied');
    expect(tried()).toBe(1);
  });
});

describe('a new file', () => {
  test('is on the disk, closed and private when the call returns', () => {
    const old = process.umask(0);
    onTestFinished(() => void process.umask(old));
    const synced = vi.spyOn(fs, 'fsyncSync');
    const closed = vi.spyOn(fs, 'closeSync');
    const file = path.join(dir, 'file');
    writePrivateFile(file, 'text');
    expect([synced.mock.calls.length, closed.mock.calls.length, modeOf(file)]).toEqual([1, 1, 0o600]);
  });

  test('does not take the place of one that is there', () => {
    const file = path.join(dir, 'file');
    vi.spyOn(Math, 'random').mockReturnValue(0.1);
    fs.writeFileSync(temporaryName(file), 'first');
    expect(() => writePrivateFile(file, 'second')).toThrow('is a file, not a folder');
  });

  test('is removed and closed when the disk is full', () => {
    vi.spyOn(fs, 'fsyncSync').mockImplementation(() => {
      throw systemError('ENOSPC');
    });
    const closed = vi.spyOn(fs, 'closeSync');
    expect(() => writePrivateFile(path.join(dir, 'file'), 'text')).toThrow('the disk is full');
    expect(fs.readdirSync(dir)).toEqual([]);
    expect(closed).toHaveBeenCalledTimes(1);
  });
});

describe('replacing a file', () => {
  test('that cannot be written says why and what to check', () => {
    vi.spyOn(fs, 'renameSync').mockImplementation(() => {
      throw systemError('EACCES');
    });
    const file = path.join(dir, 'config.json');
    expect(() => replaceFile(file, '{}')).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: `cannot write to ${file}: permission denied`,
        hint: CHECK_PATH,
      }),
    );
    expect(fs.readdirSync(dir)).toEqual([]);
  });
});

describe('removing a file', () => {
  test('that is gone is no error, and a folder in its place is one', () => {
    const file = path.join(dir, 'file');
    fs.writeFileSync(file, '');
    removeFile(file);
    removeFile(file);
    removeQuietly(file);
    expect(fs.readdirSync(dir)).toEqual([]);
    fs.mkdirSync(file);
    expect(() => removeFile(file)).toThrow(`cannot write to ${dir}: `);
  });
});

describe('reading a file that is trusted', () => {
  test('gives its text', () => {
    const file = path.join(dir, 'file');
    writePrivateFile(file, 'grün');
    expect(readChecked(file)).toEqual({ text: 'grün' });
  });

  test('gives nothing where there is none, even if its folder is a file', () => {
    writePrivateFile(path.join(dir, 'file'), '');
    expect(readChecked(path.join(dir, 'none'))).toBeUndefined();
    expect(readChecked(path.join(dir, 'file', 'below'))).toBeUndefined();
  });

  test('refuses a folder and a FIFO, and does not wait for one', ({ skip }) => {
    const fifo = path.join(dir, 'fifo');
    if (process.platform === 'win32') skip('Windows has no FIFO in a folder');
    execFileSync('mkfifo', ['-m', '600', fifo]);
    for (const file of [dir, fifo])
      expect(readChecked(file)).toEqual({
        why: 'it is not a regular file',
        mend: `look at it: ls -l ${file}`,
      });
  });

  test('has a limit of a million bytes, and on a system without users it looks at no mode', () => {
    const file = path.join(dir, 'file');
    writePrivateFile(file, 'x'.repeat(1_000_000));
    expect(readChecked(file)).toHaveProperty('text');
    fs.appendFileSync(file, 'x');
    expect(readChecked(file)).toMatchObject({ why: 'it is larger than 1000000 bytes' });
    fs.truncateSync(file, 1);
    fs.chmodSync(file, 0o666);
    vi.spyOn(process, 'geteuid').mockReturnValue(undefined as unknown as number);
    expect(readChecked(file)).toMatchObject({ text: 'x' });
  });
});

test('a temporary name is beside the file, and holds the number of the process', () => {
  const name = temporaryName(path.join(dir, 'file'));
  expect(path.dirname(name)).toBe(dir);
  expect(path.basename(name)).toMatch(new RegExp(`^file\\.${process.pid}\\.[a-z0-9]{6,8}\\.tmp$`));
});

describe('files whose content is trusted', () => {
  const write = (mode: number) => {
    const file = path.join(dir, 'small');
    fs.rmSync(file, { force: true });
    fs.writeFileSync(file, 'text');
    fs.chmodSync(file, mode);
    return file;
  };

  test.each([
    ['600', true],
    ['644', true],
    ['640', true],
    ['620', false],
    ['602', false],
  ])('with mode %s is read: %s', (mode, read) => {
    expect(readChecked(write(Number.parseInt(mode, 8)))).toEqual(
      read
        ? expect.objectContaining({ text: 'text' })
        : expect.objectContaining({ why: 'other users can write it' }),
    );
  });

  test('must belong to this user or root, must not be links, and have a size limit', () => {
    const file = write(0o600);
    fs.symlinkSync(file, path.join(dir, 'link'));
    expect(readChecked(path.join(dir, 'link'))).toMatchObject({ why: 'it is a symbolic link' });
    fs.truncateSync(file, 1_000_001);
    expect(readChecked(file)).toMatchObject({ why: 'it is larger than 1000000 bytes' });
    vi.spyOn(fs, 'fstatSync').mockReturnValue(Object.assign(fs.statSync(file), { uid: 54_321 }));
    expect(readChecked(file)).toMatchObject({ why: 'it belongs to another user' });
  });
});

describe('a small file', () => {
  test('leaves no open file behind, however it was read', async () => {
    const file = path.join(dir, 'file');
    writePrivateFile(file, 'text');
    const closed = vi.spyOn(fs, 'closeSync');
    readChecked(file);
    readChecked(dir);
    await readBounded(file, { maxBytes: 4, timeoutMs: 1000 });
    await readBounded(file, { maxBytes: 1, timeoutMs: 1000 }).catch(() => {});
    expect(closed).toHaveBeenCalledTimes(4);
  });
});
