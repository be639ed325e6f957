// The store file at its edges: which entries are its own, where it takes its turn, and what is said of a key that cannot be used.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { loadKey, loadNamedKey, makeKey } from '../../src/store/file/key.js';
import { fileStore, seal, unseal } from '../../src/store/file/store.js';
import { entryPath, recordPath, stageEntry } from '../../src/store/records.js';
import type { StoreOptions, StoreRecord } from '../../src/store/store.js';
import { temporaryHome } from '../helpers/cli.js';
import { failureOf, turnOptions } from '../helpers/redis-store.js';
import { storeOptions } from '../helpers/store-options.js';

let dir: string;
let warnings: string[];
beforeEach(() => {
  dir = temporaryHome();
  warnings = [];
});
afterEach(() => vi.restoreAllMocks());

const KEY = Buffer.alloc(32, 7).toString('base64');
const RECORD: StoreRecord = { v: 1, kind: 'token', key: 'demo', store: 'file', createdAtUnix: 1, info: {} };
const optionsFor = (more: Partial<StoreOptions> = {}): StoreOptions => ({
  ...storeOptions(dir, (text) => warnings.push(text)),
  ...more,
});
const open = (more: Partial<StoreOptions> = {}) => fileStore(optionsFor(more));
const stateDir = () => path.join(dir, 'state');

describe('the store file', () => {
  it('has no entry of the keychain, and none without a value', async () => {
    stageEntry(stateDir(), { record: { ...RECORD, store: 'keychain' }, sealed: 'x' }).commit();
    stageEntry(stateDir(), { record: { ...RECORD, key: 'empty' } }).commit();
    const store = open();
    expect(await store.find('demo')).toBeUndefined();
    expect(await store.find('empty')).toBeUndefined();
    expect(await store.remove('demo')).toBe(false);
    expect(await store.remove('empty')).toBe(false);
    expect((await store.list()).map(({ key }) => key)).toEqual(['empty']);
    expect(await store.read({ ...RECORD, store: 'keychain' })).toBeUndefined();
    expect(await store.read({ ...RECORD, key: 'empty' })).toBeUndefined();
    expect(fs.readdirSync(stateDir())).toHaveLength(2);
    expect(warnings).toEqual([]);
  });

  it('says in a list and in a search which file is not read, and why', async () => {
    fs.mkdirSync(stateDir(), { mode: 0o700 });
    const file = recordPath(stateDir(), { kind: 'token', key: 'demo', store: 'file' });
    fs.writeFileSync(file, '{}', { mode: 0o600 });
    for (const look of [() => open().list(), () => open().find('demo')]) {
      await look();
      expect(warnings.splice(0)).toEqual([`${file} is passed over: it is not a record of graphcred`]);
    }
  });

  it('reads a value for a record from elsewhere, and says when the key is missing', async () => {
    await open({ storeKey: new Sensitive(KEY) }).write({ ...RECORD, store: 'redis' }, new Sensitive('välue'));
    expect((await open({ storeKey: new Sensitive(KEY) }).read(RECORD))?.reveal()).toBe('välue');
    expect(await open().read(RECORD)).toBeUndefined();
    expect(warnings).toEqual([
      'Ignoring a stored token: it was encrypted with another key, or was changed since.',
    ]);
    expect(fs.existsSync(path.join(dir, 'config'))).toBe(false);
  });

  it('takes its turns in the folder of its entries, and looks for the token of another process', async () => {
    const turn = await open().takeTurn('demo', turnOptions(1000, true));
    expect(fs.existsSync(entryPath(stateDir(), 'token', 'demo', 'lock'))).toBe(true);
    const waiting = open().takeTurn('demo', turnOptions(20_000, true));
    await turn?.write(RECORD, new Sensitive('minted'));
    expect(await waiting).toBeUndefined();
    await turn?.release();
    expect((await open().read(RECORD))?.reveal()).toBe('minted');
    const asked = turnOptions(1000, false);
    const refused = await open().takeTurn('demo', asked);
    await refused?.refuse(new GraphException('AUTH_FAILED', 'no'));
    await refused?.release();
    expect(await failureOf(open().takeTurn('demo', asked))).toMatchObject({ code: 'AUTH_FAILED' });
  });

  it('removes an entry only if its value is still the same', async () => {
    const store = open();
    await store.write(RECORD, new Sensitive('new'));
    expect(await store.removeIf(RECORD, new Sensitive('old'))).toBe(false);
    expect(await store.removeIf(RECORD, undefined)).toBe(false);
    expect(await store.removeIf(RECORD, new Sensitive('new'))).toBe(true);
    expect(fs.readdirSync(stateDir())).toEqual([]);
    await open({ storeKey: new Sensitive(KEY) }).write(RECORD, new Sensitive('not readable here'));
    expect(await store.removeIf(RECORD, undefined)).toBe(true);
    expect(fs.readdirSync(stateDir())).toEqual([]);
  });

  it('sweeps its folders after it wrote, and not the value that is new', async () => {
    fs.mkdirSync(stateDir(), { mode: 0o700 });
    fs.writeFileSync(path.join(stateDir(), 'token-1.json.4194999.abc.tmp'), '');
    await open().write(RECORD, new Sensitive('x'));
    expect(fs.readdirSync(stateDir())).toHaveLength(1);
  });

  it('loads a key that comes through a pipe once, for reading and writing', async () => {
    const storeKeyFile = path.join(dir, 'pipe');
    execFileSync('mkfifo', ['-m', '600', storeKeyFile]);
    const fd = fs.openSync(storeKeyFile, fs.constants.O_RDWR);
    fs.writeSync(fd, KEY);
    const store = open({ storeKeyFile });
    const checking = store.check();
    await new Promise((resolve) => setTimeout(resolve, 40));
    fs.closeSync(fd);
    await checking;
    await store.write(RECORD, new Sensitive('x'));
    expect((await store.read(RECORD))?.reveal()).toBe('x');
  });

  it('encrypts in one format for all versions', () => {
    const key = Buffer.alloc(32, 7);
    const sealed = seal(key, RECORD, new Sensitive('välue'));
    expect(Buffer.from(sealed, 'base64')).toHaveLength(12 + 16 + 6);
    expect(unseal(key, RECORD, sealed)?.reveal()).toBe('välue');
    expect(
      unseal(key, RECORD, 'jbJNjWazAEqk4l4/6nonpFh/0GrJPYrH+eHWiwPfl5Mf1xruUALGki1K7IhTBpI3')?.reveal(),
    ).toBe('from another version');
    const info = { user: 'anna', life: 60, graph: 'g', base: null };
    const several = { ...RECORD, expiresAtUnix: 9, info };
    const theirs = 'AwMDAwMDAwMDAwMD6gR3u0Rejby52OycfTVusEqYg3A/XjswGyxjOoIyk2ie';
    expect(unseal(key, several, theirs)?.reveal()).toBe('of several fields');
    for (const length of [0, 27, 28])
      expect(unseal(key, RECORD, Buffer.alloc(length).toString('base64'))).toBeUndefined();
    const empty = seal(key, RECORD, new Sensitive(''));
    expect(unseal(key, RECORD, empty)?.reveal()).toBe('');
  });
});

describe('the key of the store file', () => {
  const generated = () => path.join(dir, 'config', 'store.key');

  it.each([
    ['is missing', () => {}, 'ENOENT', 'check GRAPHCRED_STORE_KEY_FILE'],
    [
      'is a folder',
      (file: string) => void fs.mkdirSync(file),
      'it is neither a file nor a pipe',
      'randomBytes',
    ],
    [
      'is too large',
      (file: string) => fs.writeFileSync(file, 'x'.repeat(4097), { mode: 0o600 }),
      'it is larger than 4096 bytes',
      'randomBytes',
    ],
    [
      'can be changed by others',
      (file: string) => {
        fs.writeFileSync(file, KEY);
        fs.chmodSync(file, 0o620);
      },
      'other users can change the key file',
      'chmod 600',
    ],
    [
      'holds no key',
      (file: string) => fs.writeFileSync(file, 'x', { mode: 0o600 }),
      'is not 32 bytes',
      'randomBytes',
    ],
  ])('in a named file that %s is an error that says what to do', async (_what, prepare, message, hint) => {
    const storeKeyFile = path.join(dir, 'key');
    prepare(storeKeyFile);
    expect(await failureOf(loadNamedKey(optionsFor({ storeKeyFile })))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
      setting: 'storeKey',
    });
  });

  it('may be as long as a file of a key is read', async () => {
    const storeKeyFile = path.join(dir, 'key');
    fs.writeFileSync(storeKeyFile, `${KEY}${' '.repeat(4096 - KEY.length)}`, { mode: 0o600 });
    expect(await loadNamedKey(optionsFor({ storeKeyFile }))).toEqual(Buffer.alloc(32, 7));
    expect(await loadNamedKey(optionsFor())).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  it('in a pipe without a writer is waited for as long as the call may take', async () => {
    const storeKeyFile = path.join(dir, 'pipe');
    execFileSync('mkfifo', ['-m', '600', storeKeyFile]);
    expect(await failureOf(loadNamedKey(optionsFor({ storeKeyFile, timeoutMs: 60 })))).toMatchObject({
      message: expect.stringContaining('its writer did not finish within 0 s'),
    });
  });

  it('that was generated is used only if it belongs to this user alone, and only made when it is needed', async () => {
    expect(await loadKey(optionsFor(), 'existing')).toBeUndefined();
    expect(fs.existsSync(generated())).toBe(false);
    const made = await loadKey(optionsFor(), 'create');
    expect(made).toHaveLength(32);
    expect(await loadKey(optionsFor(), 'existing')).toEqual(made);
    expect(await loadKey(optionsFor(), 'create')).toEqual(made);
    fs.chmodSync(generated(), 0o620);
    expect(await failureOf(loadKey(optionsFor(), 'create'))).toMatchObject({
      message: `the key file ${generated()} is not used: other users can change it`,
      hint: `chmod 600 ${generated()}`,
      setting: 'storeKey',
    });
  });

  it('that another process made in the same moment is used', async () => {
    const link = fs.linkSync;
    vi.spyOn(fs, 'linkSync').mockImplementationOnce((...args) => {
      fs.writeFileSync(generated(), KEY, { mode: 0o600 });
      link(...args);
    });
    expect(await loadKey(optionsFor(), 'create')).toEqual(Buffer.alloc(32, 7));
    expect(fs.readdirSync(path.join(dir, 'config'))).toEqual(['store.key']);
  });

  it('whose file another process has made and not filled yet is waited for, and not for ever', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      fs.mkdirSync(path.dirname(generated()), { mode: 0o700 });
      fs.writeFileSync(generated(), '', { mode: 0o600 });
      const loading = loadKey(optionsFor(), 'existing');
      await vi.advanceTimersByTimeAsync(150);
      fs.writeFileSync(generated(), KEY);
      await vi.advanceTimersByTimeAsync(10);
      expect(await loading).toEqual(Buffer.alloc(32, 7));
      fs.writeFileSync(generated(), '');
      const failing = failureOf(loadKey(optionsFor(), 'existing'));
      await vi.advanceTimersByTimeAsync(1000);
      expect((await failing)?.message).toBe(`the key file ${generated()} is not 32 bytes in base64`);
    } finally {
      vi.useRealTimers();
    }
  });

  it('that vanishes while it is made is an error', async () => {
    vi.spyOn(fs, 'linkSync').mockImplementationOnce(() => {});
    expect(await failureOf(loadKey(optionsFor(), 'create'))).toMatchObject({
      message: `the key file ${generated()} vanished while it was being made`,
      hint: 'run the command again',
    });
    expect(fs.readdirSync(path.join(dir, 'config'))).toEqual([]);
  });

  it('that cannot be written is an error of its folder', () => {
    vi.spyOn(fs, 'fsyncSync').mockImplementation(() => {
      throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    });
    expect(() => makeKey(generated())).toThrow(
      `cannot write to ${path.join(dir, 'config')}: the disk is full`,
    );
    expect(fs.readdirSync(path.join(dir, 'config'))).toEqual([]);
  });
});
