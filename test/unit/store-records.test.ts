import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
import type { Run } from '../../src/run/run.js';
import { learn, recall } from '../../src/run/server.js';
import { recentRefusal, writeRefusal } from '../../src/store/lock.js';
import {
  entryPath,
  hashOf,
  listEntries,
  readEntry,
  recordPath,
  type Unread,
  writeEntry,
} from '../../src/store/records.js';
import type { StoreRecord } from '../../src/store/store.js';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { passwordRecord, RECORD, secretRecord } from '../helpers/store-options.js';

// The top files of src/store: records, named files that are read for a time, and what opens a store.

let dir: string;
beforeEach(() => {
  dir = temporaryHome();
});
afterEach(() => vi.restoreAllMocks());

const told = ({ file, why, mend }: Unread) => `${file} is ignored: ${why}; ${mend}`;

describe('a record', () => {
  const file = (store: StoreRecord['store'] = 'file') =>
    recordPath(dir, { kind: 'token', key: 'demo', store });
  const read = (change: object) => {
    const store = 'store' in change && change.store === 'keychain' ? 'keychain' : 'file';
    fs.writeFileSync(file(store), JSON.stringify({ ...RECORD, sealed: 'x', ...change }), { mode: 0o600 });
    const warnings: string[] = [];
    const entry = readEntry(dir, { kind: 'token', store, key: 'demo' }, (one) => warnings.push(told(one)));
    const listed: string[] = [];
    expect(listEntries(dir, (one) => listed.push(told(one)))).toHaveLength(entry ? 1 : 0);
    expect(listed).toEqual(warnings);
    return { entry, warnings };
  };

  it.each<object>([{}, { createdAtUnix: 253_402_300_799 }, { expiresAtUnix: 0 }, { store: 'keychain' }])(
    'with %j is used, with all that it says',
    (change) => {
      expect(read(change)).toEqual({
        entry: { record: { ...RECORD, ...change }, sealed: 'x' },
        warnings: [],
      });
    },
  );

  it.each<object>([
    { createdAtUnix: -1 },
    { createdAtUnix: 253_402_300_800 },
    { createdAtUnix: '1700000000' },
    { expiresAtUnix: null },
    { v: 0 },
    { kind: 'key' },
    { key: 7 },
    { store: 'redis' },
    { info: null },
    { info: { ...RECORD.info, graph: {} } },
    { info: { ...RECORD.info, lifetime: '3600' } },
    { sealed: 7 },
  ])('with %j is ignored with a warning', (change) => {
    expect(read(change)).toEqual({
      entry: undefined,
      warnings: [`${file()} is ignored: it is not a graphcred record; delete it: rm ${file()}`],
    });
  });

  it('of a newer graphcred, or no JSON, is ignored for that reason', () => {
    expect(read({ v: 2, kind: 'key' }).warnings).toEqual([
      expect.stringContaining('a newer graphcred wrote it'),
    ]);
    fs.writeFileSync(file(), 'null');
    const warnings: string[] = [];
    readEntry(dir, RECORD, (one) => warnings.push(told(one)));
    fs.chmodSync(file(), 0o666);
    readEntry(dir, RECORD, (one) => warnings.push(told(one)));
    expect(warnings).toEqual([
      expect.stringContaining('not a graphcred record'),
      `${file()} is ignored: other users can write it; to use that file: chmod go-w ${file()}`,
    ]);
  });

  const login = { ...passwordRecord(), kind: 'login' } as const;
  const ofEachKind: readonly StoreRecord[] = [
    RECORD,
    secretRecord(),
    passwordRecord(),
    { ...login, info: { ...login.info, issuer: 'https://idp.example', clientId: 'graphcred' } },
  ];

  it.each(ofEachKind)('of a $kind without what its kind needs is ignored as damaged', (record) => {
    const without = Object.keys(record.info).map((name) => ({ info: { ...record.info, [name]: undefined } }));
    // A token has an end, and nothing else has one.
    const end = { expiresAtUnix: record.kind === 'token' ? undefined : 2 };
    const damaged = [end, ...without];
    const at = recordPath(dir, record);
    const warnings: string[] = [];
    for (const change of damaged) {
      fs.writeFileSync(at, JSON.stringify({ ...record, ...change }), { mode: 0o600 });
      expect(readEntry(dir, record, (one) => warnings.push(told(one)))).toBeUndefined();
    }
    const warning = `${at} is ignored: it is not a graphcred record; delete it: rm ${at}`;
    expect(warnings).toEqual(damaged.map(() => warning));
  });
  it.each(ofEachKind)('that is a $kind is found by its key and listed', (record) => {
    const entry = { record: { ...record, more: 1 }, sealed: 'x' };
    writeEntry(dir, entry);
    fs.writeFileSync(path.join(dir, `server-${hashOf('demo')}.json`), '{}', { mode: 0o600 });
    const warn = () => expect.unreachable();
    expect(readEntry(dir, record, warn)).toEqual({ record, sealed: 'x' });
    expect(listEntries(dir, warn)).toEqual([{ record, sealed: 'x' }]);
  });

  it('that a killed process has not finished goes after ten seconds', () => {
    const unfinished = `${file()}.1.abcdefgh.tmp`;
    fs.writeFileSync(unfinished, '{}');
    listEntries(dir);
    expect(fs.readdirSync(dir)).toEqual([path.basename(unfinished)]);
    fs.utimesSync(unfinished, Date.now() / 1000 - 11, Date.now() / 1000 - 11);
    listEntries(dir);
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('whose file is named as another kind is ignored', () => {
    writeEntry(dir, { record: RECORD });
    fs.renameSync(file(), recordPath(dir, { kind: 'secret', key: 'demo', store: 'file' }));
    expect(readEntry(dir, RECORD)).toBeUndefined();
    expect(listEntries(dir)).toEqual([]);
  });

  it('has the same file name in every version, since it is found by that alone', () => {
    expect(hashOf('demo')).toBe('695b6c57ca757277b806e9705533dcee');
  });

  it('is not missing when its folder cannot be read', () => {
    const list = (code: string) => {
      vi.spyOn(fs, 'readdirSync').mockImplementationOnce(() => {
        throw Object.assign(new Error(code), { code });
      });
      return listEntries(dir, () => expect.unreachable());
    };
    for (const code of ['ENOENT', 'ENOTDIR']) expect(list(code)).toEqual([]);
    expect(() => list('EACCES')).toThrow(`${dir} cannot be read: permission denied`);
    expect(() => list('EIO')).toThrow(`${dir} cannot be read: EIO`);
    vi.spyOn(fs, 'accessSync').mockImplementationOnce(() => {
      throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
    });
    expect(() => listEntries(dir, () => expect.unreachable())).toThrow(
      `${dir} cannot be read: permission denied`,
    );
  });

  // holds: C5.9
  it('of a newer graphcred is not replaced', () => {
    fs.writeFileSync(file(), JSON.stringify({ ...RECORD, v: 2 }), { mode: 0o600 });
    expect(() => writeEntry(dir, { record: RECORD, sealed: 'x' })).toThrow(
      `${file()} is not replaced: a newer graphcred wrote it`,
    );
    expect(fs.readdirSync(dir)).toHaveLength(1);
  });
});

describe('the name of an entry', () => {
  it('is different for keys that look alike', () => {
    const keys = new Set<string>();
    for (let i = 0; i < 20_000; i++) {
      keys.add(`http://127.0.0.1:9000 http://127.0.0.1:14240 demo user${i} 2592000`);
      keys.add(`http://127.0.0.1:${i} demo`);
      keys.add(String.fromCharCode(i));
      keys.add('x'.repeat(i % 500));
    }
    expect(new Set([...keys].map(hashOf)).size).toBe(keys.size);
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
    const before = Date.now() - 1;
    expect(recentRefusal(file, before, Date.now())).toBeUndefined();
    writeRefusal(file, refusal, Date.now());
    const { code, message, hint, serverCode, serverText, status } = refusal;
    expect(recentRefusal(file, before, Date.now())).toBeInstanceOf(GraphException);
    expect(recentRefusal(file, before, Date.now())).toMatchObject({
      code,
      message,
      hint,
      serverCode,
      serverText,
      status,
    });
    expect(recentRefusal(file, Date.now() + 1, Date.now() + 2)).toBeUndefined();
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });

  it('that cannot be written has no effect', () => {
    fs.writeFileSync(path.join(dir, 'file'), '');
    const file = entryPath(path.join(dir, 'file'), 'token', 'demo', 'refused');
    writeRefusal(file, refusal, Date.now());
    expect(recentRefusal(file, 0, Date.now())).toBeUndefined();
  });
});

describe('the cache about servers', () => {
  const url = 'http://127.0.0.1:14240';
  const NOW = 1_700_000_000;

  function runAt(stateDir: string, nowUnix = NOW, gsqlUrl = url): Run {
    const ports = { now: () => nowUnix * 1000 };
    return { stores: { stateDir, remember: true }, target: { gsqlUrl }, ports } as unknown as Run;
  }

  it('keeps what was learned of each server for a day', () => {
    const state = path.join(dir, 'state');
    const run = runAt(state);
    const other = runAt(state, NOW, 'http://other:14240');
    expect(recall(run, 'version')).toBe(undefined);
    learn(run, 'version', '3.9');
    learn(run, 'lifetimeUnit', 'ms');
    learn(other, 'lifetimeUnit', 's');
    learn(runAt(state, NOW + 40_000), 'version', '3.10.1');
    expect([recall(run, 'version'), recall(run, 'lifetimeUnit')]).toEqual(['3.10.1', 'ms']);
    expect([recall(other, 'version'), recall(other, 'lifetimeUnit')]).toEqual([undefined, 's']);
    const nextDay = runAt(state, NOW + 86_400);
    expect([recall(nextDay, 'version'), recall(nextDay, 'lifetimeUnit')]).toEqual(['3.10.1', undefined]);
    learn(run, 'version', undefined);
    expect(recall(run, 'version')).toBe(undefined);
    for (const name of fs.readdirSync(state)) {
      expect(name).toMatch(/^server-[0-9a-f]{32}\.json$/);
      expect(fs.statSync(path.join(state, name)).mode & 0o777).toBe(0o600);
    }
    expect(listEntries(state, () => expect.unreachable())).toEqual([]);
  });

  it.each([
    ['', undefined],
    ['null', undefined],
    [`{"v":2,"url":"${url}","version":5}`, undefined],
    [`{"v":1,"url":"${url}","version":["3.9",${NOW}]}`, undefined],
    [`{"v":2,"url":"http://other","version":["3.9",${NOW}]}`, undefined],
    [`{"v":2,"url":"${url}","version":["3.9",${NOW}]}`, '3.9'],
  ])('with the content %j gives the version %j', (text, expected) => {
    learn(runAt(dir), 'version', '4.1.2');
    const file = path.join(dir, defined(fs.readdirSync(dir)[0]));
    fs.writeFileSync(file, text);
    expect(recall(runAt(dir), 'version')).toBe(expected);
    for (const mode of [0o620, 0o602]) {
      fs.chmodSync(file, mode);
      expect(recall(runAt(dir), 'version')).toBe(undefined);
    }
  });

  it('is not written if the folder is read-only', () => {
    const file = path.join(dir, 'file');
    fs.writeFileSync(file, '');
    learn(runAt(file), 'lifetimeUnit', 's');
    expect(recall(runAt(file), 'lifetimeUnit')).toBe(undefined);
  });
});
