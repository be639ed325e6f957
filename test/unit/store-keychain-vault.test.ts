// What the store keychain asks of the session bus, of the native module and of its helper process, against imitations of all three.
import fs from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { endOfMessage } from '../../src/store/keychain/dbus.js';
import { performNatively } from '../../src/store/keychain/native.js';
import { keychainStore } from '../../src/store/keychain/store.js';
import { keychainVault } from '../../src/store/keychain/vault.js';
import { recordPath, stageEntry } from '../../src/store/records.js';
import type { KeychainOptions, StoreRecord } from '../../src/store/store.js';
import { temporaryHome } from '../helpers/cli.js';
import { failureOf, turnOptions } from '../helpers/redis-store.js';
import {
  alias,
  at,
  COLLECTION,
  LOCKED,
  normal,
  type Script,
  startFakeBus,
  UNLOCKED,
} from '../helpers/session-bus.js';
import { shortenTimers } from '../helpers/shorter-timers.js';

const native = vi.hoisted(() => ({
  calls: [] as string[],
  entries: new Map<string, string>(),
  answers: true,
  loading: undefined as Error | undefined,
}));
vi.mock('keytar', () => {
  const called = async <T>(call: string, value: () => T): Promise<T> => {
    native.calls.push(call);
    if (!native.answers) await new Promise(() => {});
    return value();
  };
  const keytar = {
    getPassword: (service: string, account: string) =>
      called(`get ${service}/${account}`, () => native.entries.get(account) ?? null),
    setPassword: (service: string, account: string, value: string) =>
      called(`set ${service}/${account}`, () => void native.entries.set(account, value)),
    deletePassword: (service: string, account: string) =>
      called(`delete ${service}/${account}`, () => native.entries.delete(account)),
  };
  return {
    get default() {
      if (native.loading) throw native.loading;
      return keytar;
    },
  };
});

let dir: string;
beforeEach(() => {
  dir = temporaryHome();
  native.calls.length = 0;
  native.entries.clear();
  native.answers = true;
  native.loading = undefined;
  onTestFinished(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
});

/** A helper process that writes its requests down and gives these answers, one at each start; `wait` is no answer. */
const helper = (...replies: (object | 'wait')[]) => {
  const script = replies.map((reply, index) => {
    const answer = reply === 'wait' ? 'exec sleep 8' : `printf '%s\\n' '${JSON.stringify(reply)}'`;
    return `${index}) ${answer};;`;
  });
  return [
    'echo; read -r request; n=0; [ -f "$DIR/asked" ] && n=$(wc -l < "$DIR/asked");',
    'printf "%s\\n" "$request" >> "$DIR/asked";',
    `case $((n)) in ${script.join(' ')} esac`,
  ].join(' ');
};
const asked = () =>
  fs.existsSync(path.join(dir, 'asked'))
    ? fs
        .readFileSync(path.join(dir, 'asked'), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as object)
    : [];

const notices: string[] = [];
function optionsFor(script: string, more: Partial<KeychainOptions> = {}): KeychainOptions {
  notices.length = 0;
  return {
    platform: 'linux',
    env: { PATH: process.env.PATH, DIR: dir, ...at(path.join(dir, 'bus')) },
    mayPrompt: false,
    child: { command: 'sh', args: ['-c', script] },
    notify: (message) => notices.push(message),
    ...more,
  };
}
const bus = (script: Script) => startFakeBus(path.join(dir, 'bus'), script);
/** The answers of a service that gives no value over the bus. */
const NO_ITEM: Script = {
  session: { parts: [(0x73 << 8) | 1, '', '/session/1'] },
  found: { parts: [0, 0] },
};
const vaultFor = (script = '', more: Partial<KeychainOptions> = {}) =>
  keychainVault(optionsFor(script, more));

describe.skipIf(process.platform === 'win32')('the keychain of Linux', () => {
  const error = (name: string): Script => ({
    alias: () => ({ error: `org.freedesktop.DBus.Error.${name}` }),
  });

  it('that did not answer is not asked again', async () => {
    const seen = await bus(error('NoReply'));
    const vault = vaultFor();
    for (let time = 0; time < 2; time++)
      expect(await failureOf(vault.get('demo'))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: 'the OS keychain does not answer',
        hint: expect.stringContaining('--store file'),
        setting: 'store',
      });
    expect(seen.aliasCalls).toBe(1);
  });

  it.each([
    ['has no service', error('ServiceUnknown'), 'no Secret Service runs on the session bus'],
    ['has no keyring', { alias: () => alias('/') }, 'the OS keychain has no default keyring yet'],
  ])('that %s is asked each time', async (_what, script, message) => {
    const seen = await bus(script);
    const vault = vaultFor();
    expect((await failureOf(vault.get('demo')))?.message).toContain(message);
    const before = seen.aliasCalls;
    expect((await failureOf(vault.check()))?.message).toContain(message);
    expect(seen.aliasCalls).toBeGreaterThan(before);
    expect(native.calls).toEqual([]);
  });

  it('without a bus is an error that says so', async () => {
    expect((await failureOf(vaultFor().get('demo')))?.message).toBe(
      'there is no OS keychain: no session bus is running',
    );
  });

  it('is searched by the service and the account, and the native module is asked when that gives no value', async () => {
    const seen = await bus({ ...normal(UNLOCKED), ...NO_ITEM });
    native.entries.set('demo', 'the value');
    expect(await vaultFor().get('demo')).toBe('the value');
    for (const text of ['service\0', 'graphcred\0', 'account\0', 'demo\0']) expect(seen.text).toContain(text);
    expect(native.calls).toEqual(['get graphcred/demo']);
  });

  it('that is unlocked is checked without opening an entry, and without the native module is an error', async () => {
    await bus(normal(UNLOCKED));
    await vaultFor().check();
    expect(native.calls).toEqual([]);
    expect(asked()).toEqual([]);
    native.loading = Object.assign(new Error('missing'), { code: 'ERR_MODULE_NOT_FOUND' });
    expect(await failureOf(vaultFor().check())).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'the package keytar, which opens the OS keychain, is not installed',
      hint: expect.stringContaining('--include=optional'),
      setting: 'store',
    });
    native.loading = new Error('libsecret-1.so.0: cannot open shared object file');
    expect(await failureOf(vaultFor().check())).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'the library that opens the OS keychain cannot be loaded',
      hint: expect.stringContaining('libsecret-1-0'),
      setting: 'store',
    });
  });

  it('deletes in this process, stores in a helper, and says whether there was an entry', async () => {
    await bus(normal(UNLOCKED));
    native.entries.set('demo', 'old');
    const vault = vaultFor(helper({ ok: true, answer: true }));
    expect(await vault.delete('demo')).toBe(true);
    expect(await vault.delete('demo')).toBe(false);
    await vault.set('demo', 'new');
    expect(native.calls).toEqual(['delete graphcred/demo', 'delete graphcred/demo']);
    expect(asked()).toEqual([{ op: 'set', account: 'demo', value: 'new' }]);
  });

  it('that stops answering during a call ends this process, since nothing else can', async () => {
    await bus(normal(UNLOCKED));
    native.answers = false;
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    onTestFinished(shortenTimers(100, 5000));
    void vaultFor('').delete('demo');
    await expect.poll(() => kill.mock.calls).toEqual([[process.pid, 'SIGKILL']]);
    expect(notices).toEqual(['the OS keychain stopped answering during a call; gave up after 5 s']);
  });

  it('that answers in time does not', async () => {
    await bus(normal(UNLOCKED));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await vaultFor().delete('demo');
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe.skipIf(process.platform === 'win32')('a locked keychain', () => {
  const PROMPT = { mayPrompt: true };
  /** A keyring that is locked at first, and later as the given answers say; the last one stays. */
  const lockedAtFirst = (...later: (typeof LOCKED)[]): Script => {
    const states = [LOCKED, ...later];
    return {
      ...NO_ITEM,
      alias: () => alias(COLLECTION),
      get locked() {
        return states.length > 1 ? states.shift() : states[0];
      },
    };
  };

  it('is not opened without a person, whatever is asked', async () => {
    await bus(normal(LOCKED));
    const vault = vaultFor(helper({ ok: true }));
    for (const use of [vault.get('demo'), vault.set('demo', 'x'), vault.delete('demo'), vault.check()])
      expect(await failureOf(use)).toMatchObject({
        code: 'STORE_LOCKED',
        hint: expect.stringContaining('unlock it in your desktop session'),
      });
    expect(asked()).toEqual([]);
    expect(native.calls).toEqual([]);
  });

  it('is unlocked by a prompt that the helper shows, which then reads or stores', async () => {
    await bus(lockedAtFirst(LOCKED));
    const vault = vaultFor(helper({ ok: true, answer: 'the value' }, { ok: true, answer: true }), {
      mayPrompt: true,
    });
    expect(await vault.get('demo')).toBe('the value');
    await vault.set('demo', 'new');
    expect(asked()).toEqual([
      { op: 'get', account: 'demo' },
      { op: 'set', account: 'demo', value: 'new' },
    ]);
    expect(notices[0]).toBe("the OS keychain is locked: answer the desktop's prompt (waiting up to 60 s)");
  });

  it('is read before an entry of it is deleted, since only reading shows the prompt', async () => {
    await bus(lockedAtFirst(UNLOCKED));
    native.entries.set('demo', 'old');
    const vault = vaultFor(helper({ ok: true, answer: 'old' }), PROMPT);
    expect(await vault.delete('demo')).toBe(true);
    expect(asked()).toEqual([{ op: 'get', account: 'demo' }]);
    expect(native.calls).toEqual(['delete graphcred/demo']);
  });

  it('whose prompt was dismissed stays locked, and deletes nothing', async () => {
    await bus(lockedAtFirst(LOCKED));
    const vault = vaultFor(helper({ ok: true }, { ok: true }), PROMPT);
    expect(await failureOf(vault.get('demo'))).toMatchObject({ code: 'STORE_LOCKED' });
    expect(await failureOf(vault.delete('demo'))).toMatchObject({ code: 'STORE_LOCKED' });
    expect(native.calls).toEqual([]);
  });

  it('that is open after the prompt and has no such entry gives none', async () => {
    await bus(lockedAtFirst(UNLOCKED));
    expect(await vaultFor(helper({ ok: true }), PROMPT).get('demo')).toBeUndefined();
    expect(native.calls).toEqual([]);
  });
});

describe.skipIf(process.platform === 'win32')('the keychain of macOS', () => {
  const MAC = { platform: 'darwin' } as const;

  it('is always asked by a helper, also for the check, and is told of no prompt without a person', async () => {
    const vault = vaultFor(helper({ ok: true }, { ok: true, answer: 'value' }, 'wait'), MAC);
    await vault.check();
    expect(await vault.get('demo')).toBe('value');
    onTestFinished(shortenTimers(25, 5000));
    expect(await failureOf(vault.get('demo'))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(asked()[0]).toEqual({ op: 'get', account: 'graphcred' });
    expect([...native.calls, ...notices]).toEqual([]);
  });

  it('has as long as a prompt may take where a person can answer one, and is then locked', async () => {
    onTestFinished(shortenTimers(1200, 5000));
    const vault = vaultFor(helper('wait'), { ...MAC, mayPrompt: true });
    expect(await failureOf(vault.get('demo'))).toMatchObject({ code: 'STORE_LOCKED' });
  });

  it('says nothing of a prompt when it answers at once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    expect(await vaultFor(helper({ ok: true, answer: 'x' }), { ...MAC, mayPrompt: true }).get('demo')).toBe(
      'x',
    );
    expect(vi.getTimerCount()).toBe(0);
  });

  it('tells a person after two seconds that it waits for a prompt, and that may take a minute', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const vault = vaultFor('while [ ! -f "$DIR/go" ]; do sleep 0.02; done; echo; echo \'{"ok":true}\'', {
      ...MAC,
      mayPrompt: true,
    });
    const waiting = vault.get('demo');
    await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(1900);
    expect(notices).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(notices).toEqual(['waiting for the keychain: answer its prompt (up to 60 s)']);
    vi.advanceTimersByTime(50_000);
    fs.writeFileSync(path.join(dir, 'go'), '');
    expect(await waiting).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe.skipIf(process.platform === 'win32')('a helper process', () => {
  it('whose answer is no value gives none, and whose error has no hint gets one', async () => {
    const replies = [
      { ok: true, answer: true },
      { ok: false, code: 'STORE_UNAVAILABLE', message: 'full' },
    ];
    const vault = vaultFor(helper(...replies), { platform: 'win32' });
    expect(await vault.get('demo')).toBeUndefined();
    expect(await failureOf(vault.get('demo'))).toMatchObject({
      message: 'full',
      hint: expect.stringContaining('--store file'),
      setting: 'store',
    });
  });

  it('may take longer to start than the keychain to answer', async () => {
    onTestFinished(shortenTimers(10, 5000));
    const script = 'sleep 0.7; echo; read -r request; echo \'{"ok":true,"answer":"late"}\'';
    expect(await vaultFor(script, { platform: 'win32' }).get('demo')).toBe('late');
  });
});

it('a message of the session bus in another byte order is not accepted', () => {
  const head = (order: number) => Buffer.from([order, 2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
  expect(endOfMessage(head(0x6c))).toBe(16);
  expect(() => endOfMessage(head(0x42))).toThrow('not a D-Bus message');
});

describe('what the keychain holds', () => {
  const record: StoreRecord = {
    v: 1,
    kind: 'secret',
    key: 'demo',
    store: 'keychain',
    createdAtUnix: 1,
    info: {},
  };
  const reading = async (value: string, more: Partial<StoreRecord> = {}) => {
    const warnings: string[] = [];
    const keychain = optionsFor(helper({ ok: true, answer: value }), { platform: 'win32' });
    const warn = (text: string) => warnings.push(text);
    const store = keychainStore({ stateDir: dir, configDir: dir, keychain, warn });
    return { value: (await store.read({ ...record, ...more }))?.reveal(), warnings };
  };

  it.each(['\u0000', '\n', '\u001f', '\u007f', '\u009f'])('is ignored with %j in it', async (control) => {
    expect(await reading(`a${control}b`)).toEqual({
      value: undefined,
      warnings: [expect.stringMatching(/holds a secret with .* as graphcred\/demo; it is ignored/)],
    });
  });

  it('is read with every other character, and an empty value is none', async () => {
    expect(await reading(' ~\u00a0é')).toEqual({ value: ' ~\u00a0é', warnings: [] });
    fs.rmSync(path.join(dir, 'asked'));
    expect(await reading('')).toEqual({ value: undefined, warnings: [] });
  });

  it('is not asked for an entry of another store', async () => {
    expect(await reading('value', { store: 'file' })).toEqual({ value: undefined, warnings: [] });
    expect(asked()).toEqual([]);
  });

  it('is not asked to remove what has no record there', async () => {
    const keychain = optionsFor(helper({ ok: true, answer: true }), { platform: 'win32' });
    const store = keychainStore({ stateDir: dir, configDir: dir, keychain, warn: () => {} });
    expect(await store.remove('demo')).toBe(false);
    expect(asked()).toEqual([]);
  });

  it('is written with a record that names this store, and what killed processes left is swept', async () => {
    const stateDir = path.join(dir, 'state');
    fs.mkdirSync(stateDir, { mode: 0o700 });
    fs.writeFileSync(path.join(stateDir, 'token-1.json.4194999.abc.tmp'), '');
    const keychain = optionsFor(helper({ ok: true, answer: true }), { platform: 'win32' });
    const warnings: string[] = [];
    const warn = (text: string) => warnings.push(text);
    const store = keychainStore({ stateDir, configDir: dir, keychain, warn });
    await store.write({ ...record, store: 'file' }, new Sensitive('value'));
    expect(await store.find('demo')).toEqual(record);
    expect(await store.list()).toEqual([record]);
    expect(fs.readdirSync(stateDir)).toHaveLength(1);
    stageEntry(stateDir, { record: { ...record, key: 'other', store: 'file' }, sealed: 'x' }).commit();
    expect(await store.find('other')).toBeUndefined();
    expect(await store.list()).toEqual([record]);
    const file = recordPath(stateDir, { kind: 'secret', key: 'broken', store: 'keychain' });
    fs.writeFileSync(file, '{}', { mode: 0o600 });
    for (const look of [() => store.list(), () => store.find('broken')]) {
      await look();
      expect(warnings.splice(0)).toEqual([
        `${file} is passed over: it is not a record of graphcred; delete it: rm ${file}`,
      ]);
    }
  });

  it('is stored in a turn, and a process that waits for it needs neither the lock nor the keychain', async () => {
    const keychain = optionsFor(helper({ ok: true, answer: true }), { platform: 'win32' });
    const opened = () => keychainStore({ stateDir: dir, configDir: dir, keychain, warn: () => {} });
    const turn = await opened().takeTurn('demo', turnOptions(20_000, true));
    const waiting = Array.from({ length: 200 }, () => opened().takeTurn('demo', turnOptions(20_000, true)));
    await turn?.write({ ...record, kind: 'token' }, new Sensitive('value'));
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([undefined]));
    expect(asked()).toEqual([{ op: 'set', account: 'demo', value: 'value' }]);
    expect(await failureOf(opened().takeTurn('demo', turnOptions(0, false)))).toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
    await turn?.release();
    const next = await opened().takeTurn('demo', turnOptions(0, false));
    await next?.release();
    expect(next).toBeDefined();
    expect(asked()).toHaveLength(1);
  });

  it('is undefined and not null when there is none, and true when it was stored', async () => {
    expect(await performNatively({ op: 'get', account: 'demo' })).toBeUndefined();
    expect(await performNatively({ op: 'set', account: 'demo', value: 'x' })).toBe(true);
    expect(native.calls).toEqual(['get graphcred/demo', 'set graphcred/demo']);
  });

  it('is refused on Windows when it is longer than an entry there', async () => {
    const keychain = optionsFor(helper({ ok: true, answer: true }), { platform: 'win32' });
    const store = keychainStore({ stateDir: dir, configDir: dir, keychain, warn: () => {} });
    expect(await failureOf(store.write(record, new Sensitive('ü'.repeat(1281))))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      hint: 'use --store file',
    });
    expect(asked()).toEqual([]);
  });
});
