import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { createFile, readChecked, removeFile, stageFile } from '../../src/files/private-files.js';
import { readBounded } from '../../src/store/bounded-read.js';
import { tryLock } from '../../src/store/lock/lock.js';
import { hostId, isAlive } from '../../src/store/lock/process-owner.js';
import { entryPath } from '../../src/store/records.js';
import { removeIfSame } from '../../src/store/remove-if.js';
import type { StoreRecord } from '../../src/store/store.js';
import { sweep } from '../../src/store/sweep.js';
import { temporaryHome } from '../helpers/cli.js';

let dir: string;
beforeEach(() => {
  dir = temporaryHome();
});
afterEach(() => vi.restoreAllMocks());

describe.skipIf(process.platform !== 'linux')('the owner of a lock', () => {
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

describe('sweeping', () => {
  const put = (name: string, ageHours: number) => {
    const then = new Date(Date.now() - ageHours * 3_600_000);
    fs.writeFileSync(path.join(dir, name), 'x');
    fs.utimesSync(path.join(dir, name), then, then);
  };

  it('leaves the fresh temporary file of a process that belongs to another user', () => {
    put('token-1.json.77.abc.tmp', 0);
    vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    });
    sweep({ stateDir: dir, configDir: dir });
    expect(fs.readdirSync(dir)).toEqual(['token-1.json.77.abc.tmp']);
  });

  it('covers the folder of the key too', () => {
    const configDir = path.join(dir, 'config');
    fs.mkdirSync(configDir);
    fs.writeFileSync(path.join(configDir, 'store.key.4194999.abc.tmp'), 'x');
    sweep({ stateDir: path.join(dir, 'state'), configDir });
    expect(fs.readdirSync(configDir)).toEqual([]);
  });

  it('leaves an old link of a lock that is still there, since the link may name its owner', () => {
    put('token-1.lock', 0);
    put('token-1.lock.abc-def', 2);
    sweep({ stateDir: dir, configDir: dir });
    expect(fs.readdirSync(dir)).toHaveLength(2);
  });
});

describe('a small file', () => {
  it('as large as is allowed is read whole, and one byte more is too much', async () => {
    const file = path.join(dir, 'file');
    const text = 'x'.repeat(100_000);
    createFile(file, text);
    expect(readChecked(file, 100_000)).toMatchObject({ text });
    expect(readChecked(file, 99_999)).toEqual({ refused: 'it is larger than 99999 bytes' });
    expect((await readBounded(file, { maxBytes: 100_000, timeoutMs: 1000 })).text).toBe(text);
    await expect(readBounded(file, { maxBytes: 99_999, timeoutMs: 1000 })).rejects.toThrow('99999 bytes');
  });

  it('leaves no open file behind, however it was read', async () => {
    const file = path.join(dir, 'file');
    createFile(file, 'text');
    const closed = vi.spyOn(fs, 'closeSync');
    readChecked(file);
    readChecked(file, 1);
    await readBounded(file, { maxBytes: 4, timeoutMs: 1000 });
    await readBounded(file, { maxBytes: 1, timeoutMs: 1000 }).catch(() => {});
    expect(closed).toHaveBeenCalledTimes(4);
  });

  it('that cannot take its place leaves no temporary file', () => {
    const staged = stageFile(path.join(dir, 'folder'), 'text');
    fs.mkdirSync(path.join(dir, 'folder', 'full'), { recursive: true });
    expect(() => staged.commit()).toThrow('cannot write to');
    expect(fs.readdirSync(dir)).toEqual(['folder']);
  });

  it('that cannot be removed is an error', () => {
    fs.mkdirSync(path.join(dir, 'folder'));
    expect(() => removeFile(path.join(dir, 'folder'))).toThrow('cannot write to');
  });
});

describe('removing an entry if it is still the same', () => {
  const record: StoreRecord = { v: 1, kind: 'token', key: 'k', store: 'file', createdAtUnix: 1, info: {} };
  const store = (found: StoreRecord) => {
    let removed = 0;
    return {
      removed: () => removed,
      find: async () => found,
      read: async () => new Sensitive('value'),
      remove: async () => ++removed > 0,
    };
  };

  it('spares an entry of another kind, and frees the lock either way', async () => {
    const other = store({ ...record, kind: 'secret' });
    expect(await removeIfSame(other, dir, record, new Sensitive('value'))).toBe(false);
    expect(other.removed()).toBe(0);
    const same = store(record);
    expect(await removeIfSame(same, dir, record, new Sensitive('value'))).toBe(true);
    expect(same.removed()).toBe(1);
    const lock = tryLock(entryPath(dir, 'token', 'k', 'lock'));
    expect(lock).toBeDefined();
    lock?.release();
  });
});
