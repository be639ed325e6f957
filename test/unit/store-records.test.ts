// The top files of src/store at their edges: records, named files that are read for a time, the sweep, the journal, and what opens a store.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { readBounded } from '../../src/store/bounded-read.js';
import { openJournal } from '../../src/store/journal.js';
import { tryLock } from '../../src/store/lock/lock.js';
import { noneStore } from '../../src/store/none.js';
import { openStore } from '../../src/store/open.js';
import {
  entryPath,
  hashOf,
  listEntries,
  readEntry,
  recordPath,
  removeEntry,
  stageEntry,
} from '../../src/store/records.js';
import { removeIfSame } from '../../src/store/remove-if.js';
import { readServerCache, updateServerCache } from '../../src/store/server-cache.js';
import type { StoreOptions, StoreRecord } from '../../src/store/store.js';
import { sweep } from '../../src/store/sweep.js';
import { temporaryHome } from '../helpers/cli.js';
import { failureOf, turnOptions } from '../helpers/redis-store.js';

let dir: string;
beforeEach(() => {
  dir = temporaryHome();
});
afterEach(() => vi.restoreAllMocks());

const RECORD: StoreRecord = {
  v: 1,
  kind: 'token',
  key: 'demo',
  store: 'file',
  createdAtUnix: 1_700_000_000,
  expiresAtUnix: 1_700_003_600,
  info: { graph: 'demo', port: 9000, user: null },
};

describe('a record', () => {
  const file = (store: StoreRecord['store'] = 'file') =>
    recordPath(dir, { kind: 'token', key: 'demo', store });
  const read = (change: object) => {
    const store = 'store' in change && change.store === 'keychain' ? 'keychain' : 'file';
    fs.writeFileSync(file(store), JSON.stringify({ ...RECORD, sealed: 'x', ...change }), { mode: 0o600 });
    const warnings: string[] = [];
    const entry = readEntry(dir, store, 'demo', (text) => warnings.push(text));
    const listed: string[] = [];
    expect(listEntries(dir, (text) => listed.push(text))).toHaveLength(entry ? 1 : 0);
    expect(listed).toEqual(warnings);
    return { entry, warnings };
  };

  it.each<object>([
    {},
    { createdAtUnix: 0 },
    { createdAtUnix: 253_402_300_799 },
    { expiresAtUnix: 0 },
    { store: 'keychain' },
    { info: {} },
  ])('with %j is used, with all that it says', (change) => {
    expect(read(change)).toEqual({ entry: { record: { ...RECORD, ...change }, sealed: 'x' }, warnings: [] });
  });

  it.each<object>([
    { createdAtUnix: -1 },
    { createdAtUnix: 253_402_300_800 },
    { createdAtUnix: '1700000000' },
    { createdAtUnix: null },
    { expiresAtUnix: -1 },
    { expiresAtUnix: 253_402_300_800 },
    { expiresAtUnix: null },
    { v: 0 },
    { v: '1' },
    { kind: 'key' },
    { key: 7 },
    { store: 'redis' },
    { info: null },
    { info: [] },
    { info: 'text' },
    { info: { graph: {} } },
    { info: { graph: true } },
    { sealed: 7 },
    { sealed: null },
  ])('with %j is passed over with a warning', (change) => {
    expect(read(change)).toEqual({
      entry: undefined,
      warnings: [`${file()} is passed over: it is not a record of graphcred`],
    });
  });

  it('of a newer graphcred, or no JSON, is passed over for that reason', () => {
    expect(read({ v: 2, kind: 'key' }).warnings).toEqual([
      expect.stringContaining('a newer graphcred wrote it'),
    ]);
    fs.writeFileSync(file(), 'null');
    const warnings: string[] = [];
    readEntry(dir, 'file', 'demo', (text) => warnings.push(text));
    fs.chmodSync(file(), 0o666);
    readEntry(dir, 'file', 'demo', (text) => warnings.push(text));
    expect(warnings).toEqual([
      expect.stringContaining('not a record of graphcred'),
      `${file()} is passed over: other users can change it; to use it: chmod 600 ${file()}`,
    ]);
  });

  it.each(['token', 'secret', 'password'] as const)(
    'that is a %s is found by its key, listed and removed',
    (kind) => {
      const record = { ...RECORD, kind };
      stageEntry(dir, { record: { ...record, more: 1 } as StoreRecord, sealed: 'x' }).commit();
      fs.writeFileSync(path.join(dir, `server-${hashOf('demo')}.json`), '{}', { mode: 0o600 });
      const warn = () => expect.unreachable();
      expect(readEntry(dir, 'file', 'demo', warn)).toEqual({ record, sealed: 'x' });
      expect(listEntries(dir, warn)).toEqual([{ record, sealed: 'x' }]);
      removeEntry(dir, record);
      removeEntry(dir, record);
      expect(readEntry(dir, 'file', 'demo', warn)).toBeUndefined();
    },
  );

  it('whose file is named as another kind is ignored', () => {
    stageEntry(dir, { record: RECORD }).commit();
    fs.renameSync(file(), recordPath(dir, { kind: 'secret', key: 'demo', store: 'file' }));
    expect(readEntry(dir, 'file', 'demo', () => {})).toBeUndefined();
    expect(listEntries(dir, () => {})).toEqual([]);
  });

  it('has the same file name in every version, since it is found by that alone', () => {
    expect(hashOf('demo')).toBe('04e5fefc144664157caba7a9ac7e');
  });

  it('is not missing when its folder cannot be read', () => {
    const list = (code: string) => {
      vi.spyOn(fs, 'readdirSync').mockImplementationOnce(() => {
        throw Object.assign(new Error(code), { code });
      });
      return listEntries(dir, expect.unreachable);
    };
    for (const code of ['ENOENT', 'ENOTDIR']) expect(list(code)).toEqual([]);
    expect(() => list('EACCES')).toThrow(`${dir} cannot be read: permission denied`);
    expect(() => list('EIO')).toThrow(`${dir} cannot be read: EIO`);
  });

  // holds: C5.9
  it('of a newer graphcred is not replaced', () => {
    fs.writeFileSync(file(), JSON.stringify({ ...RECORD, v: 2 }), { mode: 0o600 });
    expect(() => stageEntry(dir, { record: RECORD, sealed: 'x' })).toThrow(
      `${file()} is not replaced: a newer graphcred wrote it`,
    );
    expect(fs.readdirSync(dir)).toHaveLength(1);
  });
});

describe('a file that the user named', () => {
  const LIMITS = { maxBytes: 100, timeoutMs: 5000 };

  it('is read with its mode', async () => {
    const file = path.join(dir, 'file');
    fs.writeFileSync(file, 'text');
    fs.chmodSync(file, 0o640);
    const { text, mode } = await readBounded(file, LIMITS);
    expect({ text, mode: mode & 0o777 }).toEqual({ text: 'text', mode: 0o640 });
    fs.writeFileSync(file, '');
    expect((await readBounded(file, LIMITS)).text).toBe('');
  });

  it.each(['/dev/null', '.'])('that is %s is refused, since it is no file', async (file) => {
    await expect(readBounded(file, LIMITS)).rejects.toThrow('it is neither a file nor a pipe');
  });

  describe.skipIf(process.platform === 'win32')('and is a pipe', () => {
    const pipe = () => {
      const file = path.join(dir, 'pipe');
      execFileSync('mkfifo', ['-m', '600', file]);
      return file;
    };
    const writer = (file: string) => {
      const fd = fs.openSync(file, fs.constants.O_RDWR);
      let open = true;
      const close = () => {
        if (open) fs.closeSync(fd);
        open = false;
      };
      onTestFinished(close);
      return { write: (text: string) => fs.writeSync(fd, text), close };
    };

    it('is read to its end, however late the parts of it come', async () => {
      const file = pipe();
      const reading = readBounded(file, LIMITS);
      await new Promise((resolve) => setTimeout(resolve, 30));
      const { write, close } = writer(file);
      write('first ');
      await new Promise((resolve) => setTimeout(resolve, 30));
      write('second');
      close();
      expect((await reading).text).toBe('first second');
    });

    it.each([
      ['nobody writes to', () => {}],
      ['a writer keeps open', (file: string) => void writer(file).write('a')],
    ])('that %s is given up when the time is over, and not before', async (_what, prepare) => {
      const file = pipe();
      prepare(file);
      const begun = performance.now();
      await expect(readBounded(file, { maxBytes: 100, timeoutMs: 150 })).rejects.toThrow(
        'its writer did not finish within 0 s',
      );
      expect(performance.now() - begun).toBeGreaterThan(140);
      expect(performance.now() - begun).toBeLessThan(3000);
    });

    it('that gives too much is not read to its end', async () => {
      const file = pipe();
      writer(file).write('x'.repeat(101));
      await expect(readBounded(file, LIMITS)).rejects.toThrow('it is larger than 100 bytes');
    });
  });

  it('and cannot be read is an error of its own', async () => {
    await expect(readBounded(path.join(dir, 'missing'), LIMITS)).rejects.toMatchObject({ code: 'ENOENT' });
    const file = path.join(dir, 'file');
    fs.writeFileSync(file, 'text');
    vi.spyOn(fs, 'readSync').mockImplementation(() => {
      throw Object.assign(new Error('broken'), { code: 'EIO' });
    });
    await expect(readBounded(file, LIMITS)).rejects.toMatchObject({ code: 'EIO' });
  });
});

describe('the sweep', () => {
  const put = (name: string, ageMinutes: number, folder = dir) => {
    const then = new Date(Date.now() - ageMinutes * 60_000);
    fs.writeFileSync(path.join(folder, name), 'x');
    fs.utimesSync(path.join(folder, name), then, then);
  };

  it('removes temporary files of the folder of the settings too, and those of a living process after ten minutes', () => {
    const configDir = temporaryHome();
    put('store.key.4194999.abc.tmp', 0, configDir);
    put(`a.${process.pid}.abc.tmp`, 9);
    put(`b.${process.pid}.abc.tmp`, 11);
    put('c.refused', 59);
    put('d.refused', 61);
    put('e.lock.abc', 59);
    put('f.lock.abc', 61);
    sweep({ stateDir: dir, configDir });
    expect(fs.readdirSync(configDir)).toEqual([]);
    expect(fs.readdirSync(dir).sort()).toEqual([`a.${process.pid}.abc.tmp`, 'c.refused', 'e.lock.abc']);
  });

  it('removes the lock of a dead owner after an hour, and not one that a living process has', () => {
    tryLock(path.join(dir, 'a.lock'));
    const owner = fs.readFileSync(path.join(dir, 'a.lock'), 'utf8');
    for (const name of ['a', 'b', 'c']) {
      put(`${name}.lock`, name === 'c' ? 30 : 61);
      const text = name === 'a' ? owner : owner.replace(/\/\d+\/\d*$/m, '/4194999/1');
      const then = fs.statSync(path.join(dir, `${name}.lock`)).mtime;
      fs.writeFileSync(path.join(dir, `${name}.lock`), text);
      fs.utimesSync(path.join(dir, `${name}.lock`), then, then);
    }
    sweep({ stateDir: dir, configDir: dir });
    expect(fs.readdirSync(dir).sort()).toEqual(['a.lock', 'c.lock']);
  });

  it('goes on after a file that it cannot remove', () => {
    put('a.4194999.abc.tmp', 0);
    put('b.4194999.abc.tmp', 0);
    vi.spyOn(fs, 'rmSync').mockImplementationOnce(() => {
      throw Object.assign(new Error('busy'), { code: 'EBUSY' });
    });
    sweep({ stateDir: dir, configDir: dir });
    expect(fs.readdirSync(dir)).toEqual([]);
  });
});

describe('the journal of a job', () => {
  it('gives the last step until it is removed, and names a lock of its own', () => {
    const journal = openJournal(dir, 'rotate', 'mine');
    expect(journal.read()).toBeUndefined();
    journal.write('create');
    journal.write('drop');
    expect(openJournal(dir, 'rotate', 'mine').read()).toBe('drop');
    expect(journal.lockFile).toBe(path.join(dir, `rotate-${hashOf('mine')}.lock`));
    journal.remove();
    journal.remove();
    expect(journal.read()).toBeUndefined();
  });

  it.each(['{"v":2,"key":"mine","step":"drop"}', '{"v":1,"key":"mine","step":7}', 'no JSON', 'null'])(
    'with the content %s is there, but its step is not known',
    (text) => {
      fs.writeFileSync(path.join(dir, `rotate-${hashOf('mine')}.json`), text, { mode: 0o600 });
      expect(openJournal(dir, 'rotate', 'mine').read()).toBe('');
    },
  );
});

describe('opening a store', () => {
  const options = (more: object = {}) =>
    ({ stateDir: dir, configDir: dir, keychain: {}, warn: () => {}, ...more }) as unknown as StoreOptions;
  const redis = { addresses: [], tls: false, database: 0, timeoutMs: 1, now: Date.now };

  it.each(['keychain', 'file', 'none'] as const)('gives the store %s', async (name) => {
    expect((await openStore(name, options())).name).toBe(name);
  });

  it('of a fleet needs an address and a key, and says how to give them', async () => {
    expect(await failureOf(openStore('redis', options()))).toMatchObject({
      code: 'INPUT_REQUIRED',
      hint: expect.stringContaining('GRAPHCRED_REDIS_URL'),
    });
    expect(await failureOf(openStore('redis', options({ redis })))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      hint: expect.stringMatching(/GRAPHCRED_STORE_KEY_FILE or GRAPHCRED_STORE_KEY to 32 bytes/),
      setting: 'storeKey',
    });
    const storeKey = new Sensitive(Buffer.alloc(32).toString('base64'));
    expect((await openStore('redis', options({ redis, storeKey }))).name).toBe('redis');
  });

  it('none stores nothing, and everybody has the turn', async () => {
    await noneStore.check();
    await noneStore.write(RECORD, new Sensitive('x'));
    expect(await noneStore.find('demo')).toBeUndefined();
    expect(await noneStore.read(RECORD)).toBeUndefined();
    expect(await noneStore.remove('demo')).toBe(false);
    expect(await noneStore.removeIf(RECORD, undefined)).toBe(false);
    expect(await noneStore.list()).toEqual([]);
    for (let time = 0; time < 2; time++)
      expect(await noneStore.takeTurn('demo', turnOptions(0, true))).toBeDefined();
  });
});

describe('removing an entry if it is still the same', () => {
  const store = (value: string | undefined) => ({
    find: async (key: string) => (key === 'demo' ? RECORD : undefined),
    read: async () => (value === undefined ? undefined : new Sensitive(value)),
    remove: vi.fn(async () => true),
  });

  it.each([
    ['value', 'value', true],
    ['newer', 'value', false],
    [undefined, 'value', false],
    ['newer', undefined, false],
    [undefined, undefined, true],
  ])('with the value %s there and %s expected: %s', async (there, expected, removed) => {
    const kept = store(there);
    const value = expected === undefined ? undefined : new Sensitive(expected);
    expect(await removeIfSame(kept, dir, RECORD, value)).toBe(removed);
    expect(kept.remove.mock.calls).toEqual(removed ? [['demo']] : []);
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('does nothing when there is none', async () => {
    expect(await removeIfSame(store('x'), dir, { ...RECORD, key: 'other' }, undefined)).toBe(false);
  });

  it('waits for the lock of the entry for ten seconds', async () => {
    tryLock(entryPath(dir, 'token', 'demo', 'lock'));
    const uptime = process.uptime();
    const clock = vi.spyOn(process, 'uptime').mockReturnValue(uptime);
    const kept = store('value');
    const waiting = failureOf(removeIfSame(kept, dir, RECORD, new Sensitive('value')));
    clock.mockReturnValue(uptime + 9.9);
    await new Promise((resolve) => setTimeout(resolve, 60));
    clock.mockReturnValue(uptime + 10.1);
    expect(await waiting).toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: expect.stringContaining('waited 10 s'),
    });
    expect(kept.remove).not.toHaveBeenCalled();
  });
});

describe('the server cache', () => {
  it.each([
    ['3', true],
    ['4.2', true],
    ['3.10.1', true],
    ['3.1000', false],
    ['3.9.123456', false],
    ['5.1', false],
    ['4.1-beta', false],
    ['v4.1', false],
  ])('of the version %s is read: %s', (version, read) => {
    updateServerCache(dir, 'http://h', { version, versionAtUnix: 5 });
    expect(readServerCache(dir, 'http://h')).toEqual(read ? { version, versionAtUnix: 5 } : {});
  });

  it('takes newer facts over older ones', () => {
    updateServerCache(dir, 'http://h', { version: '3.9', versionAtUnix: 5 });
    updateServerCache(dir, 'http://h', { version: '4.1', versionAtUnix: 6 });
    expect(readServerCache(dir, 'http://h')).toEqual({ version: '4.1', versionAtUnix: 6 });
  });
});
