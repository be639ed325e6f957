// The process that asks the keychain, and what becomes of the keychain's own errors, against imitations of both. The
// real keychain of Linux is in test/e2e/store-keychain-situations.test.ts.
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { GraphException } from '../../src/core/errors.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { runKeychainChild } from '../../src/store/keychain/helper-child.js';
import { askChild } from '../../src/store/keychain/helper-parent.js';
import { type Operation, performNatively } from '../../src/store/keychain/native.js';
import { keychainStore } from '../../src/store/keychain/store.js';
import type { KeychainOptions, StoreRecord } from '../../src/store/store.js';

/** Imitates the OS keychain: its entries, and the error that it throws next. */
const keychain = vi.hoisted(() => ({ entries: new Map<string, string>(), errors: [] as Error[] }));
vi.mock('keytar', () => {
  const answer = async <T>(value: () => T) => {
    const error = keychain.errors.shift();
    if (error) throw error;
    return value();
  };
  return {
    default: {
      getPassword: (_: string, account: string) => answer(() => keychain.entries.get(account) ?? null),
      setPassword: (_: string, account: string, value: string) =>
        answer(() => void keychain.entries.set(account, value)),
      deletePassword: (_: string, account: string) => answer(() => keychain.entries.delete(account)),
    },
  };
});

let dir: string;
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-helper-'));
  keychain.entries.clear();
  keychain.errors.length = 0;
});
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));

const GET: Operation = { op: 'get', account: 'demo' };
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: GraphException) => error,
  );

describe.skipIf(process.platform === 'win32')('the helper process of the keychain', () => {
  const options = (script: string): KeychainOptions => ({
    platform: 'linux',
    env: { PATH: process.env.PATH, DIR: dir },
    mayPrompt: false,
    child: { command: 'sh', args: ['-c', script] },
    notify: () => {},
  });
  const ask = (script: string, { ms = 10_000, prompting = false } = {}) =>
    askChild(GET, options(script), { ms, prompting });
  /** The helper writes its process id to a file, so that the test can check whether it still runs. */
  const NOTED = 'echo $$ > "$DIR/pid.new"; mv "$DIR/pid.new" "$DIR/pid"; echo;';
  const isRunning = () => {
    try {
      return process.kill(Number(fs.readFileSync(path.join(dir, 'pid'), 'utf8')), 0);
    } catch {
      return false;
    }
  };

  it('answers with one line, which may come in pieces', async () => {
    const reply = `printf '\\n{"ok":true,'; read -r request; printf '"answer":"the value"}'; echo`;
    expect(await ask(reply)).toBe('the value');
  });

  it.each([
    ['and would prompt, which means that the keychain is locked', true, 'STORE_LOCKED'],
    ['and would not prompt', false, 'STORE_UNAVAILABLE'],
  ])('that is ready and does not answer %s, is ended with its time', async (_what, prompting, code) => {
    const failure = await failureOf(ask(`${NOTED} exec sleep 8`, { ms: 300, prompting }));
    expect(failure?.code).toBe(code);
    await expect.poll(isRunning).toBe(false);
  });

  it('that has answered and does not end by itself is ended', async () => {
    expect(await ask(`${NOTED} echo '{"ok":true,"answer":"x"}'; exec sleep 8`)).toBe('x');
    await expect.poll(isRunning).toBe(false);
  });

  it('whose own helpers still run does not keep this process waiting', async () => {
    const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
    const before = pipes();
    await ask(`sleep 30 & echo $! > "$DIR/pid"; echo; echo '{"ok":true}'; exec sleep 8`);
    try {
      await expect.poll(pipes).toBe(before);
    } finally {
      process.kill(Number(fs.readFileSync(path.join(dir, 'pid'), 'utf8')));
    }
  });

  it('that never gets ready is given up', async () => {
    expect(await failureOf(ask('exec sleep 8', { ms: 50 }))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('did not answer within'),
    });
  });

  it('gets the environment that it was given, and not that of this process', async () => {
    process.env.GRAPHCRED_CANARY = 'canary';
    try {
      await ask('env > "$DIR/env"; echo; echo \'{"ok":true}\'');
    } finally {
      delete process.env.GRAPHCRED_CANARY;
    }
    expect(fs.readFileSync(path.join(dir, 'env'), 'utf8')).not.toContain('canary');
  });
});

describe('inside the helper process', () => {
  it('a request gets its answer after the line that says it is ready, and an error keeps its code', async () => {
    keychain.entries.set('demo', 'the value');
    for (const answer of [
      { ok: true, answer: 'the value' },
      {
        ok: false,
        code: 'STORE_LOCKED',
        message: 'the OS keychain is locked',
        hint: expect.stringContaining('unlock it in your desktop session'),
      },
    ]) {
      const request = `${JSON.stringify(GET)}\n`;
      const [input, output] = [new PassThrough(), new PassThrough()];
      const done = runKeychainChild(input, output);
      // A pipe may pass a long request on in parts.
      input.write(request.slice(0, 9));
      input.write(request.slice(9));
      await done;
      const [ready, reply] = output.read().toString().split('\n');
      expect(ready).toBe('');
      expect(JSON.parse(reply)).toMatchObject(answer);
      keychain.errors.push(new Error('interaction is not allowed'));
    }
  });

  it('a request that it does not understand is an error, and the keychain is not asked', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const done = runKeychainChild(input, output);
    input.write('nonsense\n');
    await done;
    const message = 'the keychain helper got a request it does not understand';
    expect(JSON.parse(output.read().toString())).toEqual({ ok: false, code: 'INTERNAL', message });
  });

  it('the end of its parent ends it, even while it waits', async () => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    const input = new PassThrough();
    void runKeychainChild(input, new PassThrough());
    input.end();
    await once(input, 'end');
    expect(kill).toHaveBeenCalledWith(process.pid, 'SIGKILL');
    kill.mockRestore();
  });
});

describe('an error of the keychain', () => {
  it.each([
    'Cannot get secret of a locked collection',
    'User interaction is not allowed.',
    'The prompt was dismissed',
    'Unknown error -25308',
    'User canceled the operation. (-128)',
  ])('%j means that it is locked', async (text) => {
    keychain.errors.push(new Error(text));
    expect((await failureOf(performNatively(GET)))?.code).toBe('STORE_LOCKED');
  });

  it('that an item vanished meanwhile makes it ask once more, and only once', async () => {
    const vanished = () => new Error('No such object path /org/freedesktop/secrets/collection/login/7');
    keychain.entries.set('demo', 'the value');
    keychain.errors.push(vanished());
    expect(await performNatively(GET)).toBe('the value');
    keychain.errors.push(vanished(), vanished());
    expect((await failureOf(performNatively(GET)))?.code).toBe('STORE_UNAVAILABLE');
  });

  it('of any other kind does not make it ask again', async () => {
    keychain.errors.push(new Error('out of memory'), new Error('second'));
    await failureOf(performNatively(GET));
    expect(keychain.errors).toHaveLength(1);
  });
});

// Where each operation runs in a helper process, as on Windows: there it is a script that writes its request down.
describe.skipIf(process.platform === 'win32')('the store of the keychain', () => {
  const RECORD: StoreRecord = {
    v: 1,
    kind: 'secret',
    key: 'demo',
    store: 'keychain',
    createdAtUnix: 1_700_000_000,
    info: {},
  };
  const HEAR = 'echo; read -r request; printf "%s\\n" "$request" >> "$DIR/requests";';
  const FAIL = `${HEAR} echo '{"ok":false,"code":"STORE_UNAVAILABLE","message":"full"}'`;
  const opened = (script: string) =>
    keychainStore({
      stateDir: path.join(dir, 'state'),
      configDir: path.join(dir, 'config'),
      keychain: {
        platform: 'win32',
        env: { PATH: process.env.PATH, DIR: dir },
        mayPrompt: false,
        child: { command: 'sh', args: ['-c', script] },
        notify: () => {},
      },
      warn: () => {},
    });
  const requests = () =>
    fs
      .readFileSync(path.join(dir, 'requests'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { op: string; account: string; value?: string });

  it('leaves no record of a value that the keychain did not take', async () => {
    const store = opened(FAIL);
    expect((await failureOf(store.write(RECORD, new Sensitive('value'))))?.message).toBe('full');
    expect(await store.find('demo')).toBeUndefined();
    expect(fs.readdirSync(path.join(dir, 'state'))).toEqual([]);
  });

  it('keeps the record of a value that the keychain did not delete', async () => {
    await opened(`${HEAR} echo '{"ok":true}'`).write(RECORD, new Sensitive('value'));
    const store = opened(FAIL);
    expect((await failureOf(store.remove('demo')))?.message).toBe('full');
    expect(await store.find('demo')).toMatchObject({ key: 'demo' });
  });

  it('asks the keychain one thing at a time, also after a failure', async () => {
    const busy = 'mkdir "$DIR/busy" 2>/dev/null || touch "$DIR/overlap"; sleep 0.05; rmdir "$DIR/busy"';
    const store = opened(`${HEAR} ${busy}; echo '{"ok":false,"code":"STORE_UNAVAILABLE","message":"full"}'`);
    const reads = await Promise.all([1, 2, 3].map(() => failureOf(store.read(RECORD))));
    expect(reads.map((failure) => failure?.message)).toEqual(['full', 'full', 'full']);
    expect(requests()).toHaveLength(3);
    expect(fs.existsSync(path.join(dir, 'overlap'))).toBe(false);
  });
});
