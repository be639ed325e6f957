import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Sensitive } from '../../src/core/sensitive.js';
import { Deadline } from '../../src/core/time.js';
import { acquireLock, tryLock } from '../../src/files/lock.js';
import { givenKey, readGeneratedKey } from '../../src/store/file.js';
import { askHelper, performNatively } from '../../src/store/keychain/helper.js';
import { keychainStore } from '../../src/store/keychain/store.js';
import { openStore } from '../../src/store/open.js';
import { writeEntry } from '../../src/store/records.js';
import { parseRedisUrl } from '../../src/store/redis/url.js';
import type { KeychainOptions, StoreOptions, StoreRecord } from '../../src/store/store.js';
import { temporaryHome } from '../helpers/cli.js';
import { defined } from '../helpers/defined.js';
import { startHostileRedis } from '../helpers/hostile-redis.js';
import { openRedis } from '../helpers/redis-store.js';
import { alias, at, COLLECTION, LOCKED, type Script, startFakeBus } from '../helpers/session-bus.js';
import { shortenTimers } from '../helpers/shorter-timers.js';
import { NO_KEYCHAIN, storeOptions, tokenRecord } from '../helpers/store-options.js';
import { listErrors } from '../helpers/told.js';

/** Imitates the native module of the keychain: the error of its next call, or of loading it. */
const keytar = vi.hoisted(() => ({ error: undefined as unknown, loading: undefined as unknown }));
vi.mock('keytar', () => ({
  get default() {
    if (keytar.loading) throw keytar.loading;
    return { getPassword: () => Promise.reject(keytar.error) };
  },
}));

let dir: string;
beforeEach(() => {
  dir = temporaryHome();
});
afterEach(() => {
  vi.restoreAllMocks();
  keytar.loading = undefined;
});

type Cases = readonly (readonly [title: string, call: () => unknown])[];

/** Compares every error, whole, with the list in `file`. */
async function compare(file: string, cases: Cases): Promise<void> {
  const text = (await listErrors(cases)).replaceAll(dir, '/home/user').replace(/127\.0\.0\.1:\d+/g, 'server');
  await expect(text).toMatchFileSnapshot(file);
}

const warned: string[] = [];
const warn = (message: string) => void warned.push(message);
const keychain = (more: Partial<KeychainOptions> = {}): KeychainOptions => ({ ...NO_KEYCHAIN, ...more });
const options = (more: Partial<StoreOptions> = {}): StoreOptions => ({ ...storeOptions(dir, warn), ...more });

test('every error of the store redis says what happened, and what to do next', async () => {
  const refusing = (text: string) => async () => {
    const { url: at } = await startHostileRedis(([name]) => (name === 'hello' ? '*0\r\n' : `-${text}\r\n`));
    await openRedis(at).store.check();
  };
  const answering = (answer: string | Buffer, sentinelMaster?: string) => async () => {
    const { url: at } = await startHostileRedis(([name]) => (name === 'hello' ? '*0\r\n' : answer));
    await openRedis(at, { sentinelMaster }).store.check();
  };
  const failing = (code: string) => async () => {
    const error = Object.assign(new Error('hidden'), {
      code,
      syscall: code === 'ECONNREFUSED' ? 'connect' : undefined,
    });
    const socket = vi
      .spyOn(net, 'createConnection')
      .mockImplementation(() => new net.Socket().destroy(error));
    await openRedis('redis://127.0.0.1:1')
      .store.check()
      .finally(() => socket.mockRestore());
  };
  const redis = {
    ...defined(parseRedisUrl('redis://db')),
    deadline: new Deadline(1),
    now: Date.now,
  };
  await compare('store-errors-redis.txt', [
    ['no address', () => openStore('redis', options())],
    ['no store key', () => openStore('redis', options({ redis: async () => redis }))],
    ...[
      'NOAUTH who',
      'WRONGPASS no',
      'NOPERM no',
      'ERR ACL failure in script: hidden',
      'OOM full',
      'ERR unknown command',
      'MOVED 1 hidden:1',
      'ERR hidden',
      'hidden',
    ].map((text) => [`a server that says ${text}`, refusing(text)] as const),
    ...[
      'ECONNREFUSED',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'ERR_SSL_WRONG_VERSION_NUMBER',
    ].map((code) => [`a connection that fails with ${code}`, failing(code)] as const),
    ['a Sentinel that knows no such master', answering('*-1\r\n', 'tokens')],
    ['another protocol', answering('SSH-2.0\r\n')],
  ]);
});

test('every error of the store file and of its locks says what happened, and what to do next', async () => {
  const generated = (mode: number) => async () => {
    fs.mkdirSync(path.join(dir, 'config'), { recursive: true });
    fs.writeFileSync(path.join(dir, 'config', 'store.key'), 'x');
    fs.chmodSync(path.join(dir, 'config', 'store.key'), mode);
    readGeneratedKey(path.join(dir, 'config'));
  };
  const lock = path.join(dir, 'state', 'entry.lock');
  await compare('store-errors-file.txt', [
    ['a given key that is none', () => givenKey({ storeKey: async () => new Sensitive('hidden') })],
    ['a generated key that is no key', generated(0o600)],
    ['a generated key that all can change', generated(0o622)],
    [
      'a lock that another process has',
      async () => {
        const held = tryLock(lock);
        try {
          await acquireLock(lock, 1);
        } finally {
          held?.release();
        }
      },
    ],
  ]);
});

test.skipIf(process.platform === 'win32')(
  'every error of the store keychain says what happened, and what to do next',
  async () => {
    const read = tokenRecord({ store: 'keychain' });
    writeEntry(options().stateDir, { record: read });
    const onBus = (script: Script | undefined) => async () => {
      const where = path.join(dir, `bus-${Math.random()}`);
      if (script) await startFakeBus(where, script);
      await keychainStore(options({ keychain: keychain({ childEnvironment: () => at(where) }) })).get(read);
    };
    const helper =
      (script: string, prompting = false) =>
      async () => {
        const restoreTimers = shortenTimers(prompting ? 240 : 20, 5000);
        const child = { command: 'sh', args: ['-c', script] };
        const childEnvironment = () => ({ PATH: process.env.PATH });
        const options = keychain({ childEnvironment, keychainHelper: child });
        await askHelper({ op: 'get', account: 'demo' }, options, prompting).finally(restoreTimers);
      };
    const failing = (error: unknown, loading?: unknown) => () => {
      Object.assign(keytar, { error, loading });
      return performNatively({ op: 'get', account: 'demo' });
    };
    await compare('store-errors-keychain.txt', [
      ['an empty value', () => keychainStore(options()).put(read as StoreRecord, new Sensitive(''))],
      ['no bus', onBus(undefined)],
      ['no service', onBus({ alias: () => ({ error: 'org.freedesktop.DBus.Error.ServiceUnknown' }) })],
      ['no keyring', onBus({ alias: () => alias('/') })],
      [
        'a service that does not answer',
        onBus({ alias: () => ({ error: 'org.freedesktop.DBus.Error.NoReply' }) }),
      ],
      ['a locked keyring', onBus({ alias: () => alias(COLLECTION), locked: LOCKED })],
      [
        'a helper that does not start',
        () =>
          askHelper(
            { op: 'get', account: 'demo' },
            keychain({ keychainHelper: { command: path.join(dir, 'none'), args: [] } }),
            false,
          ),
      ],
      ['a helper that ends', helper('exit 3')],
      ['a helper that is killed', helper('kill -9 $$')],
      ['a helper that does not answer', helper('echo; exec sleep 8')],
      ['a prompt that nobody answers', helper('echo; exec sleep 8', true)],
      [
        'a helper with an error of its own',
        helper(
          `echo; read -r request; echo '{"error":{"code":"STORE_LOCKED","message":"it is locked","fix":["open it"]}}'`,
        ),
      ],
      ['a keychain that is locked', failing(new Error('Cannot get secret of a locked collection'))],
      ['a prompt that was dismissed', failing(new Error('The prompt was dismissed'))],
      ['macOS without a person', failing(new Error('-25308'))],
      ['a keychain that refuses', failing(new Error(`it\n broke ${'x'.repeat(300)}`))],
      ['a text in place of an error', failing('broken')],
      [
        'no native module',
        failing(undefined, Object.assign(new Error('x'), { code: 'ERR_MODULE_NOT_FOUND' })),
      ],
      ['no library for it', failing(undefined, new Error('libsecret-1.so.0: cannot open'))],
    ]);
  },
);
