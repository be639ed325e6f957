// The store keychain in this process against a real gnome-keyring, which knows better than an imitation of the session bus what a message means. Prompts,
// broken buses and killed processes are in test/e2e/store-keychain-situations.test.ts.
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { fileStore } from '../../src/store/file/store.js';
import { keychainStore } from '../../src/store/keychain/store.js';
import { stageEntry } from '../../src/store/records.js';
import type { StoreOptions, StoreRecord } from '../../src/store/store.js';
import { temporaryHome } from '../helpers/cli.js';
import { type Keyring, keyringSkipReason, startKeyring } from '../helpers/keyring.js';
import { failureOf } from '../helpers/redis-store.js';

/** Does what the keychain's helper process does, and writes down that it was started. */
const HELPER = `
require('node:fs').appendFileSync(process.env.HOME + '/helped', 'x');
process.stdout.write('\\n');
process.stdin.once('data', async (line) => {
  const { op, account, value } = JSON.parse(line);
  const keytar = require(${JSON.stringify(require.resolve('keytar'))});
  const answer =
    op === 'set' ? !(await keytar.setPassword('graphcred', account, value)) : await keytar.deletePassword('graphcred', account);
  process.stdout.write(JSON.stringify({ answer }) + '\\n');
});`;

const RECORD: StoreRecord = {
  v: 1,
  kind: 'token',
  key: 'token of anna for any graph, 60s, at http://h:14240',
  store: 'keychain',
  createdAtUnix: 1_700_000_000,
  info: {},
};

describe.skipIf(keyringSkipReason() !== undefined)('a real keychain', () => {
  let keyring: Keyring;
  beforeAll(async () => {
    keyring = await startKeyring();
  });
  afterAll(() => keyring.stop());

  const options = (warnings: string[], more: Partial<StoreOptions['keychain']> = {}): StoreOptions => {
    const home = temporaryHome();
    return {
      stateDir: path.join(home, 'state'),
      configDir: path.join(home, 'config'),
      warn: (text) => warnings.push(text),
      keychain: {
        platform: 'linux',
        env: keyring.env,
        mayPrompt: true,
        child: { command: process.execPath, args: ['-e', HELPER] },
        notify: (text) => warnings.push(text),
        ...more,
      },
    };
  };
  const helped = () => fs.existsSync(path.join(keyring.home, 'helped'));

  it('gives over the session bus what the native module stored, and nothing for another account', async () => {
    const warnings: string[] = [];
    const store = keychainStore(options(warnings));
    await store.check();
    await store.write(RECORD, new Sensitive('tökén \u{1f511}'));
    const other = { ...RECORD, key: 'another' };
    await store.write(other, new Sensitive('of another'));
    expect((await store.read(RECORD))?.reveal()).toBe('tökén \u{1f511}');
    expect((await store.read(other))?.reveal()).toBe('of another');
    expect(await store.read({ ...RECORD, key: 'missing' })).toBeUndefined();
    expect(await store.remove(RECORD.key)).toBe(true);
    expect(await store.read(RECORD)).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  it('that is locked gives, takes and removes nothing, and the file store leaves its record alone', async () => {
    const warnings: string[] = [];
    const opened = options(warnings, { mayPrompt: false });
    const store = keychainStore(opened);
    stageEntry(opened.stateDir, { record: RECORD }).commit();
    fs.rmSync(path.join(keyring.home, 'helped'), { force: true });
    await keyring.lock();
    for (const use of [
      () => store.check(),
      () => store.read(RECORD),
      () => store.write(RECORD, new Sensitive('new')),
      () => store.remove(RECORD.key),
    ])
      expect(await failureOf(use())).toMatchObject({ code: 'STORE_LOCKED', setting: 'store' });
    expect(await store.list()).toEqual([RECORD]);
    await fileStore(opened).write(RECORD, new Sensitive('new'));
    expect(await fileStore(opened).remove(RECORD.key)).toBe(true);
    expect(await store.list()).toEqual([RECORD]);
    expect(warnings).toEqual([]);
    expect(helped()).toBe(false);
  });
});
