import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { tryLock } from '../../src/files/lock.js';
import { fileStore, readGeneratedKey } from '../../src/store/file.js';
import { listEntries, writeEntry } from '../../src/store/records.js';
import type { StoreOptions, StoreRecord } from '../../src/store/store.js';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { failureOf } from '../helpers/redis-store.js';
import { NO_KEYCHAIN, RECORD, secretRecord, storeOptions } from '../helpers/store-options.js';

let home: string;
let stateDir: string;
let configDir: string;
let warnings: string[];
beforeEach(() => {
  home = temporaryHome();
  stateDir = path.join(home, 'state');
  configDir = path.join(home, 'config');
  warnings = [];
});
afterEach(() => vi.restoreAllMocks());

const optionsFor = (more: Partial<StoreOptions> = {}): StoreOptions => ({
  ...storeOptions(home, (text) => warnings.push(text)),
  ...more,
});
const open = (more: Partial<StoreOptions> = {}) => fileStore(optionsFor(more));

const VALUE = new Sensitive('the value');
const KEY = Buffer.alloc(32, 7).toString('base64');
const given = (text = KEY) => ({ storeKey: async () => new Sensitive(text) });

async function readBack(more: Partial<StoreOptions> = {}): Promise<string | undefined> {
  const store = open(more);
  const [record] = await store.list(RECORD.key);
  return record && (await store.get(record))?.reveal();
}

function recordFile(): string {
  return path.join(stateDir, defined(fs.readdirSync(stateDir)[0]));
}

function changeRecord(change: (record: Record<string, unknown>) => void): void {
  const record = JSON.parse(fs.readFileSync(recordFile(), 'utf8'));
  change(record);
  fs.writeFileSync(recordFile(), JSON.stringify(record));
}

describe('the file store', () => {
  // holds: C5.6
  it('touches no record of the keychain for the same entry', async () => {
    const inKeychain = { ...RECORD, store: 'keychain' } as const;
    writeEntry(stateDir, { record: inKeychain });
    const store = open({ keychain: NO_KEYCHAIN });
    await store.put(RECORD, VALUE);
    expect(await readBack()).toBe('the value');
    expect(await store.delete(RECORD.key)).toBe(true);
    expect(listEntries(stateDir, () => expect.unreachable())).toEqual([{ record: inKeychain }]);
    expect(warnings).toEqual([]);
  });

  it.each<[string, (record: Record<string, unknown>) => void]>([
    ['a longer life', (record) => (record.expiresAtUnix = 2_000_000_000)],
    ['another server', (record) => (record.info = { ...RECORD.info, gsqlUrl: 'http://other' })],
    [
      'another value',
      (record) =>
        (record.sealed = Buffer.from(String(record.sealed), 'base64').fill(1, 28).toString('base64')),
    ],
    ['half a value', (record) => (record.sealed = 'AAAA')],
  ])('does not return the value for a record that was changed to have %s', async (_what, change) => {
    await open().put(RECORD, VALUE);
    changeRecord(change);
    expect(await readBack()).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('it was encrypted with another key')]);
  });

  it('does not depend on the order of a record’s fields', async () => {
    await open().put(RECORD, VALUE);
    changeRecord((record) => {
      const { kind, info } = record;
      delete record.kind;
      Object.assign(record, { kind, info: Object.fromEntries(Object.entries(info as object).reverse()) });
    });
    expect(await readBack()).toBe('the value');
  });

  it('encrypts a value differently each time', async () => {
    const sealed = new Set<unknown>();
    for (let i = 0; i < 3; i++) {
      await open().put(RECORD, VALUE);
      sealed.add(JSON.parse(fs.readFileSync(recordFile(), 'utf8')).sealed);
    }
    expect(sealed.size).toBe(3);
  });

  it('reads the value that is stored now for a record', async () => {
    const store = open();
    await store.put(RECORD, VALUE);
    const [listed] = await store.list();
    expect((await store.get(defined(listed)))?.reveal()).toBe('the value');
    await store.put({ ...RECORD, createdAtUnix: 1_700_000_001 }, new Sensitive('a newer value'));
    expect((await store.get(defined(listed)))?.reveal()).toBe('a newer value');
  });

  it('keeps the old entry if the disk is full', async () => {
    await open().put(RECORD, VALUE);
    vi.spyOn(fs, 'fsyncSync').mockImplementation(() => {
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    });
    await expect(open().put({ ...RECORD, createdAtUnix: 2 }, new Sensitive('newer'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `cannot write to ${stateDir}: the disk is full`,
    });
    vi.restoreAllMocks();
    expect(fs.readdirSync(stateDir)).toHaveLength(1);
    expect(await readBack()).toBe('the value');
  });

  it.skipIf(process.getuid?.() !== 0)('ignores records and folders of another user (as root)', async () => {
    await open().put(RECORD, VALUE);
    fs.chownSync(recordFile(), 1234, 1234);
    expect(await readBack()).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('it belongs to another user')]);
    fs.chownSync(recordFile(), process.getuid?.() ?? 0, 0);
    fs.chownSync(stateDir, 1234, 1234);
    await expect(open().put(RECORD, VALUE)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `${stateDir} belongs to another user`,
    });
  });
});

describe('the key of the file store', () => {
  // holds: C5.10
  it('is generated once, for this user alone, and only when it is needed', async () => {
    expect(await open().list('demo')).toEqual([]);
    expect(fs.existsSync(configDir)).toBe(false);
    await open().put(RECORD, VALUE);
    const file = path.join(configDir, 'store.key');
    const key = fs.readFileSync(file, 'utf8');
    expect(fs.readdirSync(configDir)).toEqual(['store.key']);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    await open().put({ ...RECORD, key: 'other' }, VALUE);
    expect(fs.readFileSync(file, 'utf8')).toBe(key);
    expect(await readBack()).toBe('the value');
  });

  // holds: C5.10
  it('is the one that was given, and else the generated one', async () => {
    await open(given()).put(RECORD, VALUE);
    expect(fs.existsSync(configDir)).toBe(false);
    expect(await readBack(given(` ${KEY}\n`))).toBe('the value');
    expect(await readBack(given(KEY.replace('=', '')))).toBe('the value');
    expect(warnings).toEqual([]);
  });

  it('must be the same: with another key the entry counts as missing', async () => {
    await open(given()).put(RECORD, VALUE);
    expect(await readBack(given(Buffer.alloc(32, 8).toString('base64')))).toBeUndefined();
    expect(await readBack()).toBeUndefined();
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(
      /^Ignoring a stored .*: it was encrypted with another key; put that back \(GRAPHCRED_STORE_KEY, .*\)\.$/,
    );
    expect(fs.existsSync(configDir)).toBe(false);
  });

  it.each([
    ['too short', Buffer.alloc(31).toString('base64')],
    ['hexadecimal', Buffer.alloc(32).toString('hex')],
    ['a password', 'correct horse battery staple correct horse ba'],
  ])('is refused if it is %s, and never shown', async (_what, text) => {
    const refusal = {
      code: 'STORE_UNAVAILABLE',
      message: 'the store key is not 32 bytes in base64',
      hint: expect.stringContaining('randomBytes(32)'),
    };
    await expect(open(given(text)).put(RECORD, VALUE)).rejects.toMatchObject(refusal);
    expect(fs.existsSync(stateDir)).toBe(false);
  });
});

describe('the entries of the file store', () => {
  it('has no entry of the keychain, and no value of a record without one', async () => {
    writeEntry(stateDir, { record: { ...RECORD, store: 'keychain' }, sealed: 'x' });
    writeEntry(stateDir, { record: { ...RECORD, key: 'empty' } });
    const store = open();
    expect(await store.list('demo')).toEqual([]);
    expect(await store.delete('demo')).toBe(false);
    expect((await store.list()).map(({ key }) => key)).toEqual(['empty']);
    expect(await store.get({ ...RECORD, store: 'keychain' })).toBeUndefined();
    expect(await store.get({ ...RECORD, key: 'empty' })).toBeUndefined();
    expect(await store.delete('empty')).toBe(true);
    expect(warnings).toEqual([]);
  });

  it('encrypts in one format for all versions', async () => {
    const store = open(given());
    const written = async (text: string) => {
      await store.put(RECORD, new Sensitive(text));
      return (await store.get(RECORD))?.reveal();
    };
    const stored = async (record: StoreRecord, sealed: string) => {
      writeEntry(stateDir, { record, sealed });
      return (await store.get(record))?.reveal();
    };
    expect([await written(''), await written('välue')]).toEqual(['', 'välue']);
    const { sealed } = JSON.parse(fs.readFileSync(recordFile(), 'utf8'));
    expect(Buffer.from(sealed, 'base64')).toHaveLength(12 + 16 + 6);
    const older = 'FH+1ocaMCNPPWabf0GN1cCLIcfrzyCUNDEKt4NgPZdGtYOKFuI83ZV9O8u1Uoj2d';
    expect(await stored(RECORD, older)).toBe('from another version');
    const secret = secretRecord({ key: 'ci', info: { graph: null, alias: 'ci' } });
    const sealedSecret = 'pVzobTGsz6Hb8Z5Fx7H06JX+owMq742RYT/ogMKOnvBgl7nR/sJ9LFmwxg==';
    expect(await stored(secret, sealedSecret)).toBe('of another kind');
    for (const length of [0, 27, 28])
      expect(await stored(RECORD, Buffer.alloc(length).toString('base64'))).toBeUndefined();
  });
});

describe('the file of the key', () => {
  it('that another process made in the same moment is used', async () => {
    const file = path.join(configDir, 'store.key');
    const lock = defined(tryLock(`${file}.lock`));
    const making = open().check();
    fs.writeFileSync(file, KEY, { mode: 0o600 });
    lock.release();
    await making;
    expect(readGeneratedKey(configDir)).toEqual(Buffer.alloc(32, 7));
    expect(fs.readdirSync(configDir)).toEqual(['store.key']);
  });

  it('is not made a second time beside what the first one has encrypted', async () => {
    await open().put(RECORD, VALUE);
    fs.rmSync(path.join(configDir, 'store.key'));
    const failure = await failureOf(open().put({ ...RECORD, key: `${RECORD.key} again` }, VALUE));
    expect(failure).toMatchObject({
      message: 'the key of the stored entries is missing',
    });
    expect(readGeneratedKey(configDir)).toBeUndefined();
  });

  it('that cannot be written is an error of its folder', async () => {
    vi.spyOn(fs, 'fsyncSync').mockImplementation(() => {
      throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    });
    expect((await failureOf(open().check()))?.message).toBe(`cannot write to ${configDir}: the disk is full`);
    expect(readGeneratedKey(configDir)).toBeUndefined();
    expect(fs.readdirSync(configDir)).toEqual([]);
  });
});
