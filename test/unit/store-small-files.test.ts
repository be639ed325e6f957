import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GraphException } from '../../src/core/errors.js';
import { readFacts, rememberFacts } from '../../src/store/facts.js';
import { entryPath, hashOf, listEntries, readEntry } from '../../src/store/records.js';
import { readRefusal, writeRefusal } from '../../src/store/refusal.js';

let dir: string;
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-small-'));
});
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));

describe('the name of an entry', () => {
  it('tells its kind, and fits any file system', () => {
    const key = `https://graph.example.com ${'/'.repeat(300)} 漢字`;
    expect(path.basename(entryPath(dir, 'token', key, 'json'))).toMatch(/^token-[0-9a-f]{28}\.json$/);
    expect(path.basename(entryPath(dir, 'secret', key, 'lock'))).toMatch(/^secret-[0-9a-f]{28}\.lock$/);
  });

  it('is never shared by keys that look alike', () => {
    const keys = new Set<string>();
    for (let i = 0; i < 20_000; i++) {
      keys.add(`http://127.0.0.1:9000 http://127.0.0.1:14240 demo user${i} 2592000`);
      keys.add(`http://127.0.0.1:${i} demo`);
      keys.add(String.fromCharCode(i));
      keys.add('x'.repeat(i % 500));
    }
    expect(new Set([...keys].map(hashOf)).size).toBe(keys.size);
    // Each half is a good name by itself.
    expect(new Set([...keys].map((key) => hashOf(key).slice(0, 14))).size).toBe(keys.size);
    expect(new Set([...keys].map((key) => hashOf(key).slice(14))).size).toBe(keys.size);
  });
});

describe('records', () => {
  it('are read without a crash, whatever the file holds', () => {
    const file = entryPath(dir, 'token', 'demo', 'json');
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
        const entry = readEntry(dir, 'demo', warn);
        if (entry) expect(entry.record).toMatchObject({ v: 1, kind: 'token', key: 'demo' });
        expect(listEntries(dir, warn)).toHaveLength(entry ? 1 : 0);
        expect(fs.readFileSync(file, 'utf8')).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a refusal', () => {
  const refusal = new GraphException('AUTH_FAILED', 'the server does not accept this password', {
    hint: 'check the password',
    serverCode: 'REST-1001',
    serverText: 'no',
    status: 401,
  });

  it('reaches those who were waiting when it was met, and only those', () => {
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

  it('from before the clock was set back is none', () => {
    const file = entryPath(dir, 'token', 'demo', 'refused');
    const now = Date.now();
    writeRefusal(file, refusal, now + 3 * 3_600_000);
    expect(readRefusal(file, now, now + 5_000)).toBeUndefined();
  });

  it.each(['', '{}', 'null', '{"at":99999999999999}'])('that reads %j is none', (text) => {
    const file = entryPath(dir, 'token', 'demo', 'refused');
    fs.writeFileSync(file, text, { mode: 0o600 });
    expect(readRefusal(file, 0, Date.now())).toBeUndefined();
  });

  it('that cannot be written down does no harm', () => {
    fs.writeFileSync(path.join(dir, 'file'), '');
    const file = entryPath(path.join(dir, 'file'), 'token', 'demo', 'refused');
    writeRefusal(file, refusal, Date.now());
    expect(readRefusal(file, 0, Date.now())).toBeUndefined();
  });
});

describe('facts about a server', () => {
  const url = 'http://127.0.0.1:14240';

  it('are added to, for each server by itself', () => {
    const state = path.join(dir, 'state');
    expect(readFacts(state, url)).toEqual({});
    rememberFacts(state, url, { version: '3.10.1', versionAtUnix: 1_700_000_000 });
    rememberFacts(state, url, { lifetimeUnit: 'ms' });
    rememberFacts(state, 'http://other:14240', { lifetimeUnit: 's' });
    expect(readFacts(state, url)).toEqual({
      version: '3.10.1',
      versionAtUnix: 1_700_000_000,
      lifetimeUnit: 'ms',
    });
    expect(readFacts(state, 'http://other:14240')).toEqual({ lifetimeUnit: 's' });
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
    [`{"v":1,"url":"${url}","version":"3.9","lifetimeUnit":"s"}`, { lifetimeUnit: 's' }],
  ])('read from %j are %j', (text, expected) => {
    rememberFacts(dir, url, {});
    const file = path.join(dir, fs.readdirSync(dir)[0]!);
    fs.writeFileSync(file, text);
    expect(readFacts(dir, url)).toEqual(expected);
    fs.chmodSync(file, 0o666);
    expect(readFacts(dir, url)).toEqual({});
  });

  it('are forgotten where nothing can be written', () => {
    fs.writeFileSync(path.join(dir, 'file'), '');
    rememberFacts(path.join(dir, 'file'), url, { lifetimeUnit: 's' });
    expect(readFacts(path.join(dir, 'file'), url)).toEqual({});
  });
});
