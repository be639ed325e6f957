import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
import { ensurePrivateFolder, readChecked, stageFile, temporaryName } from '../../src/files/private-files.js';
import { openJournal } from '../../src/store/journal.js';
import { readRefusal, writeRefusal } from '../../src/store/lock/shared-error.js';
import {
  entryPath,
  hashOf,
  listEntries,
  readEntry,
  recordPath,
  stageEntry,
} from '../../src/store/records.js';
import { readServerCache, updateServerCache } from '../../src/store/server-cache.js';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';

let dir: string;
beforeEach(() => {
  dir = temporaryHome();
});
afterEach(() => vi.restoreAllMocks());

describe('the name of an entry', () => {
  it('contains its kind, and is valid on any file system', () => {
    const key = `https://graph.example.com ${'/'.repeat(300)} 漢字`;
    expect(path.basename(recordPath(dir, { kind: 'token', key, store: 'file' }))).toMatch(
      /^token-[0-9a-f]{28}\.json$/,
    );
    expect(path.basename(entryPath(dir, 'secret', key, 'lock'))).toMatch(/^secret-[0-9a-f]{28}\.lock$/);
  });

  it('is different for keys that look alike', () => {
    const keys = new Set<string>();
    for (let i = 0; i < 20_000; i++) {
      keys.add(`http://127.0.0.1:9000 http://127.0.0.1:14240 demo user${i} 2592000`);
      keys.add(`http://127.0.0.1:${i} demo`);
      keys.add(String.fromCharCode(i));
      keys.add('x'.repeat(i % 500));
    }
    expect(new Set([...keys].map(hashOf)).size).toBe(keys.size);
    // Each half alone has no collisions either.
    expect(new Set([...keys].map((key) => hashOf(key).slice(0, 14))).size).toBe(keys.size);
    expect(new Set([...keys].map((key) => hashOf(key).slice(14))).size).toBe(keys.size);
  });
});

describe('records', () => {
  it('are read without a crash, whatever the file contains', () => {
    const file = recordPath(dir, { kind: 'token', key: 'demo', store: 'file' });
    const field = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>(1, 2, 'token', 'file', 'demo', {}));
    const names = ['v', 'kind', 'key', 'store', 'createdAtUnix', 'expiresAtUnix', 'info', 'sealed'] as const;
    const record = fc.record(Object.fromEntries(names.map((name) => [name, field])), { requiredKeys: [] });
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      record.map((fields) => JSON.stringify(fields)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        fs.writeFileSync(file, text, { mode: 0o600 });
        const warnings: string[] = [];
        const warn = (message: string) => warnings.push(message);
        const entry = readEntry(dir, 'file', 'demo', warn);
        if (entry) expect(entry.record).toMatchObject({ v: 1, kind: 'token', key: 'demo' });
        expect(listEntries(dir, warn)).toHaveLength(entry ? 1 : 0);
        expect(fs.readFileSync(file, 'utf8')).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it('larger than 1 MB are ignored without being read', () => {
    const file = recordPath(dir, { kind: 'token', key: 'demo', store: 'file' });
    fs.writeFileSync(file, '', { mode: 0o600 });
    fs.truncateSync(file, 100e9);
    const warnings: string[] = [];
    expect(readEntry(dir, 'file', 'demo', (message) => warnings.push(message))).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('larger than 1000000 bytes')]);
  });
});

describe('a refusal', () => {
  const refusal = new GraphException('AUTH_FAILED', 'the server does not accept this password', {
    hint: 'check the password',
    serverCode: 'REST-1001',
    serverText: 'no',
    status: 401,
  });

  it('is given to processes that were waiting at the time, and to no others', () => {
    const file = entryPath(dir, 'token', 'demo', 'refused');
    const before = Date.now();
    expect(readRefusal(file, before, Date.now())).toBeUndefined();
    writeRefusal(file, refusal, Date.now());
    const { code, message, hint, serverCode, serverText, status } = refusal;
    expect(readRefusal(file, before, Date.now())).toBeInstanceOf(GraphException);
    expect(readRefusal(file, before, Date.now())).toMatchObject({
      code,
      message,
      hint,
      serverCode,
      serverText,
      status,
    });
    expect(readRefusal(file, Date.now() + 1, Date.now() + 2)).toBeUndefined();
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });

  it('from before the clock was set back is ignored', () => {
    const file = entryPath(dir, 'token', 'demo', 'refused');
    const now = Date.now();
    writeRefusal(file, refusal, now + 3 * 3_600_000);
    expect(readRefusal(file, now, now + 5_000)).toBeUndefined();
  });

  it.each(['', '{}', 'null', '{"at":99999999999999}'])('with the content %j is ignored', (text) => {
    const file = entryPath(dir, 'token', 'demo', 'refused');
    fs.writeFileSync(file, text, { mode: 0o600 });
    expect(readRefusal(file, 0, Date.now())).toBeUndefined();
  });

  it('that cannot be written has no effect', () => {
    fs.writeFileSync(path.join(dir, 'file'), '');
    const file = entryPath(path.join(dir, 'file'), 'token', 'demo', 'refused');
    writeRefusal(file, refusal, Date.now());
    expect(readRefusal(file, 0, Date.now())).toBeUndefined();
  });
});

describe('the server cache', () => {
  const url = 'http://127.0.0.1:14240';

  it('is updated for each server separately', () => {
    const state = path.join(dir, 'state');
    expect(readServerCache(state, url)).toEqual({});
    updateServerCache(state, url, { version: '3.10.1', versionAtUnix: 1_700_000_000 });
    updateServerCache(state, url, { lifetimeUnit: 'ms', lifetimeUnitAtUnix: 1_700_000_001 });
    updateServerCache(state, 'http://other:14240', { lifetimeUnit: 's', lifetimeUnitAtUnix: 1_700_000_002 });
    expect(readServerCache(state, url)).toEqual({
      version: '3.10.1',
      versionAtUnix: 1_700_000_000,
      lifetimeUnit: 'ms',
      lifetimeUnitAtUnix: 1_700_000_001,
    });
    expect(readServerCache(state, 'http://other:14240')).toEqual({
      lifetimeUnit: 's',
      lifetimeUnitAtUnix: 1_700_000_002,
    });
    for (const name of fs.readdirSync(state)) {
      expect(name).toMatch(/^server-[0-9a-f]{28}\.json$/);
      expect(fs.statSync(path.join(state, name)).mode & 0o777).toBe(0o600);
    }
    expect(listEntries(state, () => expect.unreachable())).toEqual([]);
  });

  it.each([
    ['', {}],
    ['null', {}],
    ['[]', {}],
    ['{"v":2}', {}],
    [`{"v":1,"url":"http://other"}`, {}],
    [`{"v":1,"url":"${url}","version":3,"lifetimeUnit":"h"}`, {}],
    [`{"v":1,"url":"${url}","lifetimeUnit":"ms"}`, {}],
    [`{"v":2,"url":"${url}","version":"3.9","versionAtUnix":17}`, {}],
    ...['9.9', '5.0', '3.', '3.10.123456', '3.1000', 'v4.1', '4.1.2-rc', '4.1.2.3'].map(
      (version): [string, object] => [`{"v":1,"url":"${url}","version":"${version}","versionAtUnix":17}`, {}],
    ),
    ...['3', '4.2', '3.10.12345', '4.999.0'].map((version): [string, object] => [
      `{"v":1,"url":"${url}","version":"${version}","versionAtUnix":17}`,
      { version, versionAtUnix: 17 },
    ]),
    ...['1e999', '"soon"', 'null'].map((at): [string, object] => [
      `{"v":1,"url":"${url}","version":"3.9","versionAtUnix":${at},"lifetimeUnit":"s","lifetimeUnitAtUnix":${at}}`,
      {},
    ]),
    ['{"v":1,"url":"http://other","version":"3.9","versionAtUnix":17}', {}],
    [
      `{"v":1,"url":"${url}","version":"3.9","lifetimeUnit":"s","lifetimeUnitAtUnix":17}`,
      { lifetimeUnit: 's', lifetimeUnitAtUnix: 17 },
    ],
  ])('with the content %j is read as %j', (text, expected) => {
    updateServerCache(dir, url, {});
    const file = path.join(dir, defined(fs.readdirSync(dir)[0]));
    fs.writeFileSync(file, text);
    expect(readServerCache(dir, url)).toEqual(expected);
    for (const mode of [0o620, 0o602]) {
      fs.chmodSync(file, mode);
      expect(readServerCache(dir, url)).toEqual({});
    }
  });

  it('is not written if the folder is read-only', () => {
    fs.writeFileSync(path.join(dir, 'file'), '');
    updateServerCache(path.join(dir, 'file'), url, { lifetimeUnit: 's' });
    expect(readServerCache(path.join(dir, 'file'), url)).toEqual({});
  });
});

describe('files whose content is trusted', () => {
  const write = (mode: number) => {
    const file = path.join(dir, 'small');
    fs.rmSync(file, { force: true });
    fs.writeFileSync(file, 'text');
    fs.chmodSync(file, mode);
    return file;
  };

  it.each([
    ['600', true],
    ['644', true],
    ['640', true],
    ['620', false],
    ['602', false],
  ])('with mode %s is read: %s', (mode, read) => {
    expect(readChecked(write(Number.parseInt(mode, 8)))).toEqual(
      read ? expect.objectContaining({ text: 'text' }) : { refused: 'other users can change it' },
    );
  });

  it('must belong to this user, must not be links, and have a size limit', () => {
    const file = write(0o600);
    fs.symlinkSync(file, path.join(dir, 'link'));
    expect(readChecked(path.join(dir, 'link'))).toEqual({ refused: 'it is a symbolic link' });
    expect(readChecked(file, 3)).toEqual({ refused: 'it is larger than 3 bytes' });
    vi.spyOn(process, 'geteuid').mockReturnValue(54_321);
    expect(readChecked(file)).toEqual({ refused: 'it belongs to another user' });
  });

  it('are created for this user alone, in a private folder, and never half-written', () => {
    const old = process.umask(0);
    onTestFinished(() => void process.umask(old));
    const state = path.join(dir, 'a', 'state');
    stageFile(path.join(state, 'x'), 'text').commit();
    expect(fs.statSync(path.join(state, 'x')).mode & 0o777).toBe(0o600);
    expect(fs.statSync(state).mode & 0o777).toBe(0o700);
    fs.chmodSync(state, 0o755);
    ensurePrivateFolder(state);
    expect(fs.statSync(state).mode & 0o777).toBe(0o700);
    vi.spyOn(fs, 'fsyncSync').mockImplementation(() => {
      throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    });
    expect(() => stageFile(path.join(state, 'x'), 'new')).toThrow('the disk is full');
    expect(fs.readdirSync(state)).toEqual(['x']);
    expect(fs.readFileSync(path.join(state, 'x'), 'utf8')).toBe('text');
  });

  it('are not written into a folder of another user', () => {
    vi.spyOn(process, 'geteuid').mockReturnValue(54_321);
    expect(() => ensurePrivateFolder(dir)).toThrow('belongs to another user');
  });

  it('have temporary names that cannot be guessed', () => {
    expect(temporaryName('/a/b')).toMatch(/^\/a\/b\.\d+\.[a-z0-9]+\.tmp$/);
    expect(temporaryName('/a/b')).not.toBe(temporaryName('/a/b'));
  });
});

it('the journal of another job is not read', () => {
  const journal = openJournal(dir, 'rotate', 'mine');
  journal.write('drop');
  const [file] = fs.readdirSync(dir).filter((name) => name.endsWith('.json')) as [string];
  const other = openJournal(dir, 'rotate', 'other');
  fs.renameSync(path.join(dir, file), other.lockFile.replace(/lock$/, 'json'));
  expect(other.read()).toBeUndefined();
});

it('a refusal because of a missing privilege is given to waiting processes too', () => {
  const file = path.join(dir, 'token-x.refused');
  writeRefusal(file, new GraphException('PERMISSION_DENIED', 'no'), 5);
  expect(readRefusal(file, 5, 5)).toMatchObject({ code: 'PERMISSION_DENIED' });
  expect(readRefusal(file, 6, 6)).toBeUndefined();
});

it('an entry with a wrong key, or copied to another name, is ignored', () => {
  const record = { v: 1, kind: 'token', key: 'a', store: 'file', createdAtUnix: 1, info: {} } as const;
  stageEntry(dir, { record, sealed: 'x' }).commit();
  fs.copyFileSync(
    recordPath(dir, { kind: 'token', key: 'a', store: 'file' }),
    recordPath(dir, { kind: 'token', key: 'b', store: 'file' }),
  );
  expect(readEntry(dir, 'file', 'a', () => {})?.record.key).toBe('a');
  expect(readEntry(dir, 'file', 'b', () => {})).toBeUndefined();
  expect(listEntries(dir, () => {})).toHaveLength(1);
  fs.writeFileSync(
    recordPath(dir, { kind: 'token', key: 'c', store: 'file' }),
    JSON.stringify({ ...record, key: 'c', v: 2 }),
    {
      mode: 0o600,
    },
  );
  const warnings: string[] = [];
  expect(readEntry(dir, 'file', 'c', (message) => warnings.push(message))).toBeUndefined();
  expect(warnings.join()).toContain('a newer graphcred wrote it');
});

describe('a staged file', () => {
  it('is removed when it cannot take the place of the old one', () => {
    const file = path.join(dir, 'entry.json');
    fs.mkdirSync(path.join(file, 'full'), { recursive: true });
    const staged = stageFile(file, 'new');
    expect(() => staged.commit()).toThrow(GraphException);
    expect(fs.readdirSync(dir)).toEqual(['entry.json']);
  });
});
