// What the store keychain asks of the session bus, of its helper process and of the native module, against imitations of
// all three. The real keychain of Linux is in test/e2e/store-keychain-situations.test.ts.
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { type HelperCall, performNatively, runKeychainHelper } from '../../src/store/keychain/helper.js';
import { keychainStore, keychainVault } from '../../src/store/keychain/store.js';
import { writeEntry } from '../../src/store/records.js';
import type { KeychainOptions } from '../../src/store/store.js';
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
import { secretRecord, tokenRecord } from '../helpers/store-options.js';

/** Imitates the native module: its entries, the errors that it throws next, and the error of loading it. */
const native = vi.hoisted(() => ({
  calls: [] as string[],
  entries: new Map<string, string>(),
  errors: [] as Error[],
  loading: undefined as Error | undefined,
}));
vi.mock('keytar', () => {
  const called = async <T>(call: string, value: () => T): Promise<T> => {
    native.calls.push(call);
    const error = native.errors.shift();
    if (error) throw error;
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
  native.errors.length = 0;
  native.entries.clear();
  native.loading = undefined;
  onTestFinished(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
});

const GET: HelperCall = { op: 'get', account: 'demo' };
const SET: HelperCall = { op: 'set', account: 'demo', value: 'new' };
const DELETE: HelperCall = { op: 'delete', account: 'demo' };

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
    childEnvironment: () => ({ PATH: process.env.PATH, DIR: dir, ...at(path.join(dir, 'bus')) }),
    mayPrompt: false,
    keychainHelper: { command: 'sh', args: ['-c', script] },
    ...more,
  };
}
const bus = (script: Script) => startFakeBus(path.join(dir, 'bus'), script);
/** The answers of a service that has no such item. */
const NO_ITEM: Script = { found: { parts: [0, 0] } };
/** The answers of a service that gives no session without encryption. */
const UNREAD: Script = {
  found: { parts: [12, '/item/1', 0] },
  session: { error: 'org.freedesktop.DBus.Error.NotSupported' },
};
const vaultFor = (script = '', more: Partial<KeychainOptions> = {}) =>
  keychainVault({ keychain: optionsFor(script, more), warn: (message) => notices.push(message) });

describe.skipIf(process.platform === 'win32')('the keychain of Linux', () => {
  const error = (name: string): Script => ({
    alias: () => ({ error: `org.freedesktop.DBus.Error.${name}` }),
  });

  it('that did not answer is not asked again', async () => {
    const seen = await bus(error('NoReply'));
    const vault = vaultFor();
    for (let time = 0; time < 2; time++)
      expect(await failureOf(vault.perform(GET))).toMatchObject({
        message: 'the OS keychain does not answer',
      });
    expect(seen.aliasCalls).toBe(1);
  });

  it.each([
    ['has no service', error('ServiceUnknown'), 'no Secret Service runs on the session bus'],
    ['has no keyring', { alias: () => alias('/') }, 'the OS keychain has no default keyring yet'],
  ])('that %s is asked each time', async (_what, script, message) => {
    const seen = await bus(script);
    const vault = vaultFor();
    expect((await failureOf(vault.perform(GET)))?.message).toContain(message);
    const before = seen.aliasCalls;
    expect((await failureOf(vault.check()))?.message).toContain(message);
    expect(seen.aliasCalls).toBeGreaterThan(before);
  });

  it('is searched by the service and the account, and by a helper for what the bus does not find', async () => {
    const seen = await bus({ ...normal(UNLOCKED), ...NO_ITEM });
    expect(await vaultFor(helper({})).perform(GET)).toBeUndefined();
    for (const text of ['service\0', 'graphcred\0', 'account\0', 'demo\0']) expect(seen.text).toContain(text);
    expect(asked()).toEqual([GET]);
  });

  it('is asked by a helper to write, to delete, and for what the bus does not give', async () => {
    await bus({ ...normal(UNLOCKED), ...UNREAD });
    const vault = vaultFor(helper({ answer: 'the value' }, { answer: true }, { answer: false }));
    expect(await vault.perform(GET)).toBe('the value');
    expect(await vault.perform(SET)).toBe(true);
    expect(await vault.perform(DELETE)).toBe(false);
    expect(asked()).toEqual([GET, SET, DELETE]);
  });

  it('that is unlocked is checked without opening an entry, and without the native module is an error', async () => {
    await bus(normal(UNLOCKED));
    await vaultFor().check();
    expect([...native.calls, ...asked()]).toEqual([]);
    native.loading = new Error('libsecret-1.so.0: cannot open shared object file');
    expect(await failureOf(vaultFor().check())).toMatchObject({
      message: 'the library that opens the OS keychain cannot be loaded',
    });
  });
});

describe.skipIf(process.platform === 'win32')('a locked keychain', () => {
  const PROMPT = { mayPrompt: true };
  /** A keyring that is locked at first, and later in the given state. */
  const lockedAtFirst = (later: typeof LOCKED): Script => {
    const states = [LOCKED];
    return {
      ...NO_ITEM,
      alias: () => alias(COLLECTION),
      get locked() {
        return states.shift() ?? later;
      },
    };
  };

  it('is not opened without a person, whatever is asked', async () => {
    await bus(normal(LOCKED));
    const vault = vaultFor(helper({ answer: 'wrong' }));
    for (const use of [vault.perform(GET), vault.perform(SET), vault.perform(DELETE), vault.check()])
      expect(await failureOf(use)).toMatchObject({ code: 'STORE_LOCKED' });
    expect(asked()).toEqual([]);
  });

  it('is unlocked by a prompt that the helper shows', async () => {
    await bus(normal(LOCKED));
    expect(await vaultFor(helper({ answer: 'the value' }), PROMPT).perform(GET)).toBe('the value');
    expect(notices).toEqual(["the OS keychain is locked: answer the desktop's prompt (waiting up to 60 s)"]);
  });

  it('whose prompt was dismissed stays locked, and is not an empty one', async () => {
    await bus(lockedAtFirst(LOCKED));
    const vault = vaultFor(helper({}, { answer: false }), PROMPT);
    expect(await failureOf(vault.perform(GET))).toMatchObject({ code: 'STORE_LOCKED' });
    expect(await failureOf(vault.perform(DELETE))).toMatchObject({ code: 'STORE_LOCKED' });
  });

  it('that is open after the prompt and has no such entry gives none', async () => {
    await bus(lockedAtFirst(UNLOCKED));
    expect(await vaultFor(helper({}), PROMPT).perform(GET)).toBeUndefined();
  });
});

describe.skipIf(process.platform === 'win32')('the keychain of macOS', () => {
  const MAC = { platform: 'darwin' } as const;

  it('is always asked by a helper, also for the check, and is told of no prompt without a person', async () => {
    const vault = vaultFor(helper({}, 'wait'), MAC);
    await vault.check();
    onTestFinished(shortenTimers(25, 5000));
    expect(await failureOf(vault.perform(GET))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(asked()[0]).toEqual({ op: 'get', account: 'graphcred' });
    expect(notices).toEqual([]);
  });

  it('has as long as a prompt may take where a person can answer one, and is then locked', async () => {
    onTestFinished(shortenTimers(1200, 5000));
    const vault = vaultFor(helper('wait'), { ...MAC, mayPrompt: true });
    expect(await failureOf(vault.perform(GET))).toMatchObject({ code: 'STORE_LOCKED' });
  });
});

// On Windows a helper performs every operation.
const WINDOWS = { platform: 'win32' } as const;

describe.skipIf(process.platform === 'win32')('the helper process', () => {
  const ask = (script: string) => vaultFor(script, WINDOWS).perform(GET);
  /** The helper writes its process id to a file, so that the test can check whether it still runs. */
  const NOTED = 'echo $$ > "$DIR/pid.new"; mv "$DIR/pid.new" "$DIR/pid"; echo;';
  const pid = () => Number(fs.readFileSync(path.join(dir, 'pid'), 'utf8'));
  const isRunning = () => {
    try {
      return process.kill(pid(), 0);
    } catch {
      return false;
    }
  };

  it('answers with one line, which may come in pieces', async () => {
    expect(await ask(`printf '\\n{'; read -r request; sleep 0.1; printf '"answer":"the value"}'; echo`)).toBe(
      'the value',
    );
  });

  it('may take longer to start than the keychain to answer', async () => {
    onTestFinished(shortenTimers(10, 5000));
    expect(await ask('sleep 0.7; echo; read -r request; echo \'{"answer":"late"}\'')).toBe('late');
  });

  it('that is ready and does not answer is ended with its time', async () => {
    onTestFinished(shortenTimers(20, 5000));
    expect(await failureOf(ask(`${NOTED} exec sleep 8`))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect.poll(isRunning).toBe(false);
  });

  it('that has answered and does not end by itself is ended', async () => {
    expect(await ask(`${NOTED} echo '{"answer":"x"}'; exec sleep 8`)).toBe('x');
    await expect.poll(isRunning).toBe(false);
  });

  it('whose own helpers still run does not keep this process waiting', async () => {
    const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
    const before = pipes();
    await ask(`sleep 30 & echo $! > "$DIR/pid"; echo; echo '{}'; exec sleep 8`);
    try {
      await expect.poll(pipes).toBe(before);
    } finally {
      process.kill(pid());
    }
  });

  it('gets the environment that it was given, and not that of this process', async () => {
    process.env.GRAPHCRED_CANARY = 'canary';
    try {
      await ask('env > "$DIR/env"; echo; echo "{}"');
    } finally {
      delete process.env.GRAPHCRED_CANARY;
    }
    expect(fs.readFileSync(path.join(dir, 'env'), 'utf8')).not.toContain('canary');
  });
});

describe('inside the helper process', () => {
  it('a request gets its answer after the line that says it is ready, and an error keeps its code', async () => {
    native.entries.set('demo', 'the value');
    for (const answer of [{ answer: 'the value' }, { error: { code: 'STORE_LOCKED' } }]) {
      const request = `${JSON.stringify(GET)}\n`;
      const [input, output] = [new PassThrough(), new PassThrough()];
      const done = runKeychainHelper(input, output);
      // A pipe may pass a long request on in parts.
      input.write(request.slice(0, 9));
      input.write(request.slice(9));
      await done;
      const [ready, reply = ''] = (await text(output.end())).split('\n');
      expect(ready).toBe('');
      expect(JSON.parse(reply)).toMatchObject(answer);
      native.errors.push(new Error('interaction is not allowed'));
    }
  });

  it('the end of its parent ends it, even while it waits', async () => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    const input = new PassThrough();
    void runKeychainHelper(input, new PassThrough());
    input.end();
    await once(input, 'end');
    expect(kill).toHaveBeenCalledWith(process.pid, 'SIGKILL');
  });

  it('an entry is read before it is deleted, since only reading shows the prompt of a locked keychain', async () => {
    native.entries.set('demo', 'old');
    expect(await performNatively(DELETE)).toBe(true);
    expect(native.calls).toEqual(['get graphcred/demo', 'delete graphcred/demo']);
  });

  it('there is no value where the native module gives null, and an entry is stored under its account', async () => {
    expect(await performNatively(GET)).toBeUndefined();
    expect(await performNatively(SET)).toBe(true);
    expect(native.entries).toEqual(new Map([['demo', 'new']]));
  });

  it.each(['User interaction is not allowed.', 'User canceled the operation. (-128)'])(
    'the error %j means that the keychain is locked',
    async (text) => {
      native.errors.push(new Error(text));
      expect((await failureOf(performNatively(GET)))?.code).toBe('STORE_LOCKED');
    },
  );

  it('an item that vanished meanwhile is asked for once more, and only once', async () => {
    const vanished = () => new Error('No such object path /org/freedesktop/secrets/collection/login/7');
    native.entries.set('demo', 'the value');
    native.errors.push(vanished());
    expect(await performNatively(GET)).toBe('the value');
    native.errors.push(vanished(), vanished());
    expect((await failureOf(performNatively(GET)))?.code).toBe('STORE_UNAVAILABLE');
  });

  it('an error of any other kind does not make it ask again', async () => {
    native.errors.push(new Error('out of memory'), new Error('second'));
    await failureOf(performNatively(GET));
    expect(native.errors).toHaveLength(1);
  });
});

describe.skipIf(process.platform === 'win32')('the store of the keychain', () => {
  const record = secretRecord({ store: 'keychain' });
  const FULL = { error: { code: 'STORE_UNAVAILABLE', message: 'full' } };
  const openedWith = (script: string) =>
    keychainStore({
      stateDir: path.join(dir, 'state'),
      configDir: dir,
      storeKey: async () => undefined,
      keychain: optionsFor(script, WINDOWS),
      warn: (text) => expect.unreachable(text),
    });
  const opened = (...replies: Parameters<typeof helper>) => openedWith(helper(...replies));

  it('ignores a value with a control character, and reads one with every other character', async () => {
    writeEntry(path.join(dir, 'state'), { record });
    for (const control of ['\u0000', '\n', '\u001f', '\u007f', '\u009f']) {
      fs.rmSync(path.join(dir, 'asked'), { force: true });
      expect(await opened({ answer: `a${control}b` }).get(record)).toBeUndefined();
    }
    fs.rmSync(path.join(dir, 'asked'));
    const store = opened({ answer: ' ~\u00a0é' }, { answer: '' });
    expect((await store.get(record))?.reveal()).toBe(' ~\u00a0é');
    expect(await store.get(record)).toBeUndefined();
  });

  it('gives no value of a record that was changed to name other servers than its key', async () => {
    const made = secretRecord({
      store: 'keychain',
      key: 'secret of ada, at http://127.0.0.1:14240 rest http://127.0.0.1:9000',
    });
    const store = opened({ answer: 'value' }, { answer: 'value' });
    for (const changed of [{}, { gsqlUrl: 'http://evil.example' }, { restUrl: 'http://evil.example' }]) {
      const record = { ...made, info: { ...made.info, ...changed } };
      writeEntry(path.join(dir, 'state'), { record });
      expect((await store.get(record))?.reveal()).toBe(
        'gsqlUrl' in changed || 'restUrl' in changed ? undefined : 'value',
      );
    }
  });

  it('asks nothing for an entry of another store, and to remove what has no record', async () => {
    expect(await opened().get({ ...record, store: 'file' })).toBeUndefined();
    expect(await opened().delete('demo')).toBe(false);
    expect(asked()).toEqual([]);
  });

  it('writes a record that names this store', async () => {
    const store = opened({ answer: true });
    await store.put({ ...record, store: 'file' }, new Sensitive('value'));
    expect(await store.list('demo')).toEqual([record]);
  });

  it('marks a record while its value goes into the keychain, and while it goes out', async () => {
    const store = openedWith(
      `echo; read -r request; cat "$DIR"/state/*.json >> "$DIR/asked"; echo '{"answer":true}'`,
    );
    await store.put(record, new Sensitive('value'));
    expect(await store.list('demo')).toEqual([record]);
    await store.delete('demo');
    expect(asked()).toMatchObject([{ info: { unfinished: 'write' } }, { info: { unfinished: 'delete' } }]);
  });

  it('leaves no record of a value that the keychain did not take', async () => {
    const store = opened(FULL);
    expect((await failureOf(store.put(record, new Sensitive('value'))))?.message).toBe('full');
    expect(fs.readdirSync(path.join(dir, 'state'))).toEqual([]);
  });

  it('keeps the record of a value that the keychain did not delete', async () => {
    const store = opened({ answer: true }, FULL);
    await store.put(record, new Sensitive('value'));
    expect((await failureOf(store.delete('demo')))?.message).toBe('full');
    expect(await store.list('demo')).toEqual([record]);
  });

  it('is stored in a turn, and a process that waits for it needs neither the lock nor the keychain', async () => {
    const open = () => opened({ answer: true });
    const store = open();
    const turn = await store.lock('demo', turnOptions(20_000, true));
    const waiting = Array.from({ length: 200 }, () => open().lock('demo', turnOptions(20_000, true)));
    await store.put(tokenRecord({ store: 'keychain' }), new Sensitive('value'), turn);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([undefined]));
    await turn?.release();
    expect(asked()).toEqual([{ op: 'set', account: 'demo', value: 'value' }]);
  });

  it('refuses a value that is longer than an entry of Windows', async () => {
    expect(await failureOf(opened().put(record, new Sensitive('ü'.repeat(1281))))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      hint: 'to use files instead: GRAPHCRED_STORE=file, or for good',
    });
    expect(asked()).toEqual([]);
  });
});
