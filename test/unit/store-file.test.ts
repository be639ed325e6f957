import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { fileStore } from '../../src/store/file/store.js';
import { endOfMessage } from '../../src/store/keychain/dbus.js';
import { keychainStore } from '../../src/store/keychain/store.js';
import { listEntries, stageEntry } from '../../src/store/records.js';
import type { StoreOptions, StoreRecord } from '../../src/store/store.js';
import { defined } from '../helpers/defined.js';
import { buildDriver, run } from '../helpers/driver.js';
import { NO_KEYCHAIN } from '../helpers/store-options.js';

let home: string;
let stateDir: string;
let configDir: string;
let warnings: string[];
beforeEach(() => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-file-'));
  stateDir = path.join(home, 'state');
  configDir = path.join(home, 'config');
  warnings = [];
});
afterEach(() => {
  vi.restoreAllMocks();
  fs.rmSync(home, { recursive: true, force: true });
});

function open(more: Partial<StoreOptions> = {}) {
  const keychain: StoreOptions['keychain'] = {
    platform: process.platform,
    env: {},
    mayPrompt: false,
    child: { command: process.execPath, args: ['-e', '0'] },
    notify: () => {},
  };
  return fileStore({ stateDir, configDir, keychain, warn: (text) => warnings.push(text), ...more });
}

const RECORD: StoreRecord = {
  v: 1,
  kind: 'token',
  key: 'demo',
  store: 'file',
  createdAtUnix: 1_700_000_000,
  expiresAtUnix: 1_700_003_600,
  info: { graph: 'demo', port: 9000 },
};
const VALUE = new Sensitive('the value');
const KEY = Buffer.alloc(32, 7).toString('base64');

async function readBack(more: Partial<StoreOptions> = {}): Promise<string | undefined> {
  const store = open(more);
  const record = await store.find(RECORD.key);
  return record && (await store.read(record))?.reveal();
}

function recordFile(): string {
  return path.join(stateDir, defined(fs.readdirSync(stateDir)[0]));
}

function changeRecord(change: (record: Record<string, unknown>) => void): void {
  const record = JSON.parse(fs.readFileSync(recordFile(), 'utf8'));
  change(record);
  fs.writeFileSync(recordFile(), JSON.stringify(record));
}

it.each(['', 'two\nlines', 'nul\0'])('the keychain stores no %j', async (text) => {
  const store = keychainStore({ stateDir, configDir, keychain: NO_KEYCHAIN, warn: () => {} });
  await expect(store.write(RECORD, new Sensitive(text))).rejects.toThrow('cannot keep an empty value');
});

it('a message of the session bus with an impossible size is not accepted', () => {
  const head = Buffer.from([0x6c, 2, 0, 1, 0, 0, 0x20, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
  expect(() => endOfMessage(head)).toThrow('not a D-Bus message');
});

describe('the file store', () => {
  // holds: C5.6
  it('touches no record of the keychain for the same entry', async () => {
    const inKeychain = { ...RECORD, store: 'keychain' } as const;
    stageEntry(stateDir, { record: inKeychain }).commit();
    const store = open({ keychain: NO_KEYCHAIN });
    await store.write(RECORD, VALUE);
    expect(await readBack()).toBe('the value');
    expect(await store.remove(RECORD.key)).toBe(true);
    expect(listEntries(stateDir, expect.unreachable)).toEqual([{ record: inKeychain }]);
    expect(warnings).toEqual([]);
  });

  it.each<[string, (record: Record<string, unknown>) => void]>([
    ['a longer life', (record) => (record.expiresAtUnix = 2_000_000_000)],
    ['no end of its life', (record) => delete record.expiresAtUnix],
    ['another server', (record) => (record.info = { graph: 'demo', port: 9001 })],
    ['another age', (record) => (record.createdAtUnix = 1)],
    [
      'another value',
      (record) =>
        (record.sealed = Buffer.from(String(record.sealed), 'base64').fill(1, 28).toString('base64')),
    ],
    ['half a value', (record) => (record.sealed = 'AAAA')],
  ])('does not return the value for a record that was changed to have %s', async (_what, change) => {
    await open().write(RECORD, VALUE);
    changeRecord(change);
    expect(await readBack()).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('or was changed since')]);
  });

  it('does not depend on the order of a record’s fields', async () => {
    await open().write(RECORD, VALUE);
    changeRecord((record) => {
      const { kind, info } = record;
      delete record.kind;
      Object.assign(record, { kind, info: { port: 9000, graph: (info as { graph: string }).graph } });
    });
    expect(await readBack()).toBe('the value');
  });

  it('encrypts a value differently each time', async () => {
    const sealed = new Set<unknown>();
    for (let i = 0; i < 3; i++) {
      await open().write(RECORD, VALUE);
      sealed.add(JSON.parse(fs.readFileSync(recordFile(), 'utf8')).sealed);
    }
    expect(sealed.size).toBe(3);
  });

  it('reads the value of the given record, also of one from a list', async () => {
    const store = open();
    await store.write(RECORD, VALUE);
    const found = defined(await store.find('demo'));
    const [listed] = await store.list();
    await store.write({ ...RECORD, createdAtUnix: 1_700_000_001 }, new Sensitive('a newer value'));
    expect((await store.read(found))?.reveal()).toBe('the value');
    expect(await store.read(defined(listed))).toBeUndefined();
    expect((await store.read(defined((await store.list())[0])))?.reveal()).toBe('a newer value');
  });

  it('does not add the value to a record', async () => {
    await open().write(RECORD, VALUE);
    expect(await open().find('demo')).toEqual(RECORD);
    expect(await open().list()).toEqual([RECORD]);
  });

  it('keeps the old entry if the disk is full', async () => {
    await open().write(RECORD, VALUE);
    vi.spyOn(fs, 'fsyncSync').mockImplementation(() => {
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    });
    await expect(open().write({ ...RECORD, createdAtUnix: 2 }, new Sensitive('newer'))).rejects.toMatchObject(
      {
        code: 'STORE_UNAVAILABLE',
        message: `cannot write to ${stateDir}: the disk is full`,
      },
    );
    vi.restoreAllMocks();
    expect(fs.readdirSync(stateDir)).toHaveLength(1);
    expect(await readBack()).toBe('the value');
  });

  it('writes the record again if another machine removed its temporary file', async () => {
    const rename = fs.renameSync;
    vi.spyOn(fs, 'renameSync').mockImplementationOnce((from, to) => {
      fs.rmSync(from);
      rename(from, to);
    });
    await open().write(RECORD, VALUE);
    expect(await readBack()).toBe('the value');
    expect(fs.readdirSync(stateDir)).toHaveLength(1);
  });

  // holds: C5.9
  it('makes its folder private if others could read it', async () => {
    fs.mkdirSync(stateDir, { mode: 0o755 });
    fs.chmodSync(stateDir, 0o755);
    await open().write(RECORD, VALUE);
    expect(fs.statSync(stateDir).mode & 0o777).toBe(0o700);
  });

  it.skipIf(process.getuid?.() !== 0)('ignores records and folders of another user (as root)', async () => {
    await open().write(RECORD, VALUE);
    fs.chownSync(recordFile(), 1234, 1234);
    expect(await readBack()).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('it belongs to another user')]);
    fs.chownSync(stateDir, 1234, 1234);
    await expect(open().write(RECORD, VALUE)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `${stateDir} belongs to another user`,
    });
  });

  it('does not block on a FIFO instead of a record', async () => {
    await open().write(RECORD, VALUE);
    const file = recordFile();
    fs.rmSync(file);
    execFileSync('mkfifo', ['-m', '600', file]);
    expect(await readBack()).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('not a plain file')]);
  });
});

describe('the key of the file store', () => {
  // holds: C5.10
  it('is generated once, for this user alone, and only when it is needed', async () => {
    expect(await open().find('demo')).toBeUndefined();
    expect(fs.existsSync(configDir)).toBe(false);
    await open().write(RECORD, VALUE);
    const file = path.join(configDir, 'store.key');
    const key = fs.readFileSync(file, 'utf8');
    expect(fs.readdirSync(configDir)).toEqual(['store.key']);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    await open().write({ ...RECORD, key: 'other' }, VALUE);
    expect(fs.readFileSync(file, 'utf8')).toBe(key);
    expect(await readBack()).toBe('the value');
  });

  it('is the same for twenty processes that generate one at once', async () => {
    const driver = await buildDriver('test/helpers/store-driver.ts');
    try {
      const ends = await Promise.all(
        Array.from({ length: 20 }, (_, i) => {
          const record = { ...RECORD, key: `key ${i}` };
          const steps = [{ do: 'write', record, value: `value ${i}` }];
          const job = JSON.stringify({ store: 'file', stateDir, configDir, steps });
          return run([process.execPath, driver.file], { PATH: process.env.PATH ?? '' }, job);
        }),
      );
      expect(ends.map(({ stdout, stderr }) => stdout + stderr)).toEqual(ends.map(() => '[{"value":true}]\n'));
    } finally {
      driver.remove();
    }
    const store = open();
    for (let i = 0; i < 20; i++) {
      expect((await store.read(defined(await store.find(`key ${i}`))))?.reveal()).toBe(`value ${i}`);
    }
    expect(fs.readdirSync(configDir)).toEqual(['store.key']);
  });

  it('is generated on a file system without hard links too', async () => {
    vi.spyOn(fs, 'linkSync').mockImplementation(() => {
      throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
    });
    await open().write(RECORD, VALUE);
    expect(fs.readdirSync(configDir)).toEqual(['store.key']);
    expect(await readBack()).toBe('the value');
  });

  it('is waited for while another process writes it', async () => {
    await open({ storeKey: new Sensitive(KEY) }).write(RECORD, VALUE);
    fs.mkdirSync(configDir, { mode: 0o700 });
    const file = path.join(configDir, 'store.key');
    fs.writeFileSync(file, '', { mode: 0o600 });
    const reading = readBack();
    fs.writeFileSync(file, KEY);
    expect(await reading).toBe('the value');
  });

  // holds: C5.10
  it('is taken from the variable first, then from the named file, then from the generated one', async () => {
    const storeKeyFile = path.join(home, 'key');
    fs.writeFileSync(storeKeyFile, `${KEY}\n`, { mode: 0o600 });
    await open({ storeKey: new Sensitive(KEY), storeKeyFile: '/missing' }).write(RECORD, VALUE);
    expect(fs.existsSync(configDir)).toBe(false);
    expect(await readBack({ storeKey: new Sensitive(` ${KEY}\n`) })).toBe('the value');
    expect(await readBack({ storeKey: new Sensitive(KEY.replace('=', '')) })).toBe('the value');
    expect(await readBack({ storeKeyFile })).toBe('the value');
    expect(warnings).toEqual([]);
  });

  it('must be the same: with another key the entry counts as missing', async () => {
    await open({ storeKey: new Sensitive(KEY) }).write(RECORD, VALUE);
    const other = new Sensitive(Buffer.alloc(32, 8).toString('base64'));
    expect(await readBack({ storeKey: other })).toBeUndefined();
    expect(await readBack()).toBeUndefined();
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(
      /^Ignoring a stored .*: it was encrypted with another key, or was changed since\.$/,
    );
    expect(fs.existsSync(configDir)).toBe(false);
  });

  it.each([
    ['too short', Buffer.alloc(31).toString('base64')],
    ['too long', Buffer.alloc(33).toString('base64')],
    ['empty', ' '],
    ['hexadecimal', Buffer.alloc(32).toString('hex')],
    ['a password', 'correct horse battery staple correct horse ba'],
  ])('is refused if it is %s, and never shown', async (_what, text) => {
    const refusal = {
      code: 'STORE_UNAVAILABLE',
      message: 'the key in GRAPHCRED_STORE_KEY is not 32 bytes in base64',
      hint: expect.stringContaining('randomBytes(32)'),
    };
    await expect(open({ storeKey: new Sensitive(text) }).write(RECORD, VALUE)).rejects.toMatchObject(refusal);
    expect(fs.existsSync(stateDir)).toBe(false);
  });

  it('may be a link or belong to another user, as mounted secrets do, if nobody else can change it', async () => {
    const real = path.join(home, 'mounted');
    const storeKeyFile = path.join(home, 'link');
    fs.writeFileSync(real, KEY);
    fs.symlinkSync(real, storeKeyFile);
    for (const mode of [0o640, 0o604]) {
      fs.chmodSync(real, mode);
      warnings.length = 0;
      await open({ storeKeyFile }).write(RECORD, VALUE);
      expect(warnings).toEqual([expect.stringContaining('other users can read the key file')]);
    }
    for (const mode of [0o620, 0o602]) {
      fs.chmodSync(real, mode);
      await expect(open({ storeKeyFile }).write(RECORD, VALUE)).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining('other users can change the key file'),
      });
    }
    await expect(open({ storeKeyFile: path.join(home, 'no') }).write(RECORD, VALUE)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('ENOENT'),
    });
  });

  it.each<[string, (file: string) => void]>([
    ['its group can change it', (file) => fs.chmodSync(file, 0o620)],
    ['others can change it', (file) => fs.chmodSync(file, 0o602)],
    ['it was cut short', (file) => fs.truncateSync(file, 10)],
    ['it is empty', (file) => fs.truncateSync(file, 0)],
  ])('when generated is refused if %s', async (_what, spoil) => {
    await open().write(RECORD, VALUE);
    spoil(path.join(configDir, 'store.key'));
    await expect(readBack()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(open().write(RECORD, VALUE)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});
