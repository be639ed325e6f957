import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Invocation } from '../../src/cli/command.js';
import { portsOf } from '../../src/cli/session.js';
import type { Level, Settings } from '../../src/config/keys.js';
import type { GraphException } from '../../src/core/errors.js';
import type { Stores } from '../../src/run/stores.js';
import { endOfMessage, valuesOf } from '../../src/store/keychain/dbus.js';
import { askKeychain, busPaths } from '../../src/store/keychain/secret-service.js';
import { defined } from '../helpers/defined.js';
import { listenOnFreePort } from '../helpers/ports.js';
import {
  alias,
  at,
  COLLECTION,
  encode,
  LOCKED,
  listenOn,
  normal,
  type Reply,
  type Script,
  startFakeBus,
  UNLOCKED,
} from '../helpers/session-bus.js';
import { shortenTimers } from '../helpers/shorter-timers.js';
import { storesIn } from '../helpers/store-options.js';

describe('the session bus', () => {
  it.each([
    [{}, []],
    [{ XDG_RUNTIME_DIR: '/run/user/7' }, ['/run/user/7/bus']],
    [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/a/b', XDG_RUNTIME_DIR: '/r' }, ['/a/b']],
    [{ DBUS_SESSION_BUS_ADDRESS: 'unix:guid=0123,path=/a/b' }, ['/a/b']],
    [{ DBUS_SESSION_BUS_ADDRESS: 'unix:abstract=/tmp/dbus-x,guid=1' }, ['\0/tmp/dbus-x']],
    [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/with%20space%3b/%c3%a4' }, ['/with space;/ä']],
    [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/a=b' }, ['/a=b']],
    [{ DBUS_SESSION_BUS_ADDRESS: 'tcp:host=h,port=1;unix:path=/a;unix:abstract=b' }, ['/a', '\0b']],
    [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/a,abstract=b' }, ['/a']],
    [{ DBUS_SESSION_BUS_ADDRESS: ';;unix:;unix:path;unix:path=%zz' }, []],
    [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=;unix:path=/a' }, ['/a']],
  ])('is found with %j at %j', (env, expected) => {
    expect(busPaths(env)).toEqual(expected);
  });
});

const stateOf = async (env: Record<string, string>) => (await askKeychain(env)).state;

let dir: string;
let servers: net.Server[];
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-probe-'));
  servers = [];
});
afterEach(() => {
  fs.rmSync(dir, { recursive: true, force: true });
});

const listen = async (...args: Parameters<typeof listenOn>) => void servers.push(await listenOn(...args));
/** Starts a bus that follows the script. */
async function fakeBus(...args: Parameters<typeof startFakeBus>) {
  const bus = await startFakeBus(...args);
  servers.push(bus.server);
  return bus;
}

const open = (): Promise<number> =>
  new Promise((resolve, reject) =>
    defined(servers[0]).getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );

describe('a message of the session bus', () => {
  const head = (bodyLength: number, order = 0x6c) => {
    const message = Buffer.from([order, 2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    message.writeUInt32LE(bodyLength, 4);
    return message;
  };

  it('may have a megabyte and not one byte more, and no other byte order', () => {
    const most = (1 << 20) - 16;
    expect(endOfMessage(head(most))).toBe(0);
    expect(() => endOfMessage(head(most + 1))).toThrow('not a D-Bus message');
    expect(endOfMessage(head(0))).toBe(16);
    expect(() => endOfMessage(head(0, 0x42))).toThrow('not a D-Bus message');
  });

  it('gives no value that is longer than it', () => {
    const body = (length: number) =>
      Buffer.concat([head(8), Buffer.from([length, 0, 0, 0]), Buffer.from('abc\0')]);
    expect(valuesOf(body(3), ['o'])).toEqual(['abc']);
    expect(() => valuesOf(body(4), ['o'])).toThrow('not a D-Bus message');
    expect(() => valuesOf(body(5), ['ay'])).toThrow('not a D-Bus message');
  });
});

describe('the probe', () => {
  it.each([
    ['unlocked', UNLOCKED, {}],
    ['locked', LOCKED, { slowly: true }],
  ])('says %s, also if it is answered byte by byte', async (expected, locked, manner) => {
    const socket = path.join(dir, 'bus');
    const seen = await fakeBus(socket, normal(locked), manner);
    expect(await stateOf(at(socket))).toBe(expected);
    expect(seen.text).toContain(COLLECTION);
    // The Secret Service knows other keyrings by other names, such as `login` and `session`.
    expect(seen.text).toContain('\u0007\0\0\0default\0');
    await expect.poll(open).toBe(0);
  });

  it.each<[string, string, Script]>([
    [
      'nobody offers the service',
      'no-service',
      { alias: () => ({ error: 'org.freedesktop.DBus.Error.ServiceUnknown' }) },
    ],
    [
      'the bus gives up waiting for the service',
      'silent',
      { alias: () => ({ error: 'org.freedesktop.DBus.Error.NoReply' }) },
    ],
    ['there is no default keyring', 'no-default-collection', { alias: () => alias('/') }],
    [
      'the bus gives up waiting for the keyring',
      'silent',
      { alias: () => alias(COLLECTION), locked: { error: 'org.freedesktop.DBus.Error.TimedOut' } },
    ],
    [
      'the default keyring went away',
      'no-default-collection',
      { alias: () => alias(COLLECTION), locked: { error: 'org.freedesktop.DBus.Error.UnknownMethod' } },
    ],
    [
      'the answer is not a boolean',
      'no-default-collection',
      { alias: () => alias(COLLECTION), locked: alias('yes') },
    ],
    ['it is another kind of server', 'no-bus', { auth: 'HTTP/1.1 400 Bad Request\r\n\r\n' }],
  ])('when %s says %s', async (_what, expected, script) => {
    const socket = path.join(dir, 'bus');
    await fakeBus(socket, script);
    expect(await stateOf(at(socket))).toBe(expected);
  });

  it('asks once more if the answer is that there is no default keyring', async () => {
    const socket = path.join(dir, 'bus');
    const mistaken: Script = { ...normal(UNLOCKED), alias: (call) => alias(call === 1 ? '/' : COLLECTION) };
    const seen = await fakeBus(socket, mistaken);
    expect(await stateOf(at(socket))).toBe('unlocked');
    expect(seen.aliasCalls).toBe(2);
  });

  // holds: C5.8
  it('has five seconds for all answers together', async () => {
    const uptime = vi.spyOn(process, 'uptime').mockReturnValue(100);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
      uptime.mockRestore();
    });
    const socket = path.join(dir, 'bus');
    const waits = new Promise<void>((resolve) => {
      void listen(socket, (client) => client.once('data', () => client.write('OK 1\r\n', () => resolve())));
    });
    await expect.poll(() => fs.existsSync(socket)).toBe(true);
    let state: string | undefined;
    const probing = stateOf(at(socket)).then((found) => {
      state = found;
    });
    await waits;
    vi.advanceTimersByTime(4999);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(state).toBeUndefined();
    vi.advanceTimersByTime(1);
    await probing;
    expect(state).toBe('silent');
  });

  it('ends with its time on a bus that sends signals without a pause', async () => {
    onTestFinished(shortenTimers(20));
    const socket = path.join(dir, 'bus');
    const signal = encode(undefined, { sig: 's', body: ':1.7' });
    await listen(socket, (client) => {
      const flood = () => client.write(signal, () => setImmediate(flood));
      client.once('data', () => client.write('OK 1\r\n', flood));
    });
    expect(await stateOf(at(socket))).toBe('silent');
    await expect.poll(open).toBe(0);
  });

  it('reads an answer that has arrived before it applies the time limit', async () => {
    const socket = path.join(dir, 'bus');
    // This imitates a machine that is so busy that the process does not run when the bus, which is in the same process here, has answered.
    const stand = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    await fakeBus(socket, {
      alias: () => alias(COLLECTION),
      get locked() {
        setImmediate(stand);
        return UNLOCKED;
      },
    });
    onTestFinished(shortenTimers(12.5));
    expect(await stateOf(at(socket))).toBe('unlocked');
  });

  it('tries the addresses in order, and uses the first that works', async () => {
    const socket = path.join(dir, 'a bus; with % in its näme');
    await fakeBus(socket, normal(LOCKED));
    const name = [...Buffer.from(socket)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
    const addresses = `unix:path=${dir}/missing;tcp:host=localhost,port=1;unix:path=${name},guid=00;unix:path=/x`;
    expect(await stateOf({ DBUS_SESSION_BUS_ADDRESS: addresses })).toBe('locked');
  });

  // holds: C5.7
  it('asks no bus of another user, not even as root', async () => {
    const socket = path.join(dir, 'bus');
    await fakeBus(socket, normal(UNLOCKED));
    expect(await stateOf(at(socket))).toBe('unlocked');
    if (process.geteuid?.() === 0) fs.chownSync(socket, 54_321, 54_321);
    else vi.spyOn(process, 'geteuid').mockReturnValue(54_321);
    expect(await stateOf(at(socket))).toBe('foreign-bus');
    expect(await stateOf({ XDG_RUNTIME_DIR: dir })).toBe('foreign-bus');
    vi.restoreAllMocks();
  });

  it('reports that there is no bus if nothing listens', async () => {
    expect(await stateOf({})).toBe('no-bus');
    expect(await stateOf(at(path.join(dir, 'missing')))).toBe('no-bus');
    fs.writeFileSync(path.join(dir, 'plain'), '');
    expect(await stateOf(at(path.join(dir, 'plain')))).toBe('no-bus');
  });

  it('reads a path of digits as a path and not as a port', async () => {
    let connections = 0;
    const server = net.createServer((client) => {
      connections++;
      client.destroy();
    });
    const port = await listenOnFreePort(server);
    expect(await stateOf(at(String(port)))).toBe('no-bus');
    expect(connections).toBe(0);
  });

  it('ends, whatever the bus sends', async () => {
    const socket = path.join(dir, 'bus');
    let garbage = Buffer.alloc(0);
    await listen(socket, (client) => {
      client.once('data', () => client.end(Buffer.concat([Buffer.from('OK 1\r\n'), garbage])));
    });
    const start = fc.constantFrom(
      [],
      [0x6c],
      [0x42],
      [0x6c, 2, 1, 1],
      [0x42, 3, 1, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 9],
    );
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ maxLength: 200, size: 'max' }), async (head, tail) => {
        garbage = Buffer.from([...head, ...tail]);
        const state = await stateOf(at(socket));
        expect(['no-bus', 'no-service', 'no-default-collection']).toContain(state);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a value over the bus', () => {
  const ITEM = '/org/freedesktop/secrets/collection/login/7';
  const wanted = {
    service: 'graphcred',
    account: 'token of user:anna for any graph, 60s, at http://h:14240',
  };
  const value = 'tökén \u{1f511} of \n two lines';
  // These two values start a variant that holds a string: its signature, then the string.
  const variant = (0x73 << 8) | 1;
  const session: Reply = { parts: [variant, '', '/session/1'] };
  const paths = (...items: string[]) => {
    const length = items.reduce((sum, item) => Math.ceil(sum / 4) * 4 + 4 + item.length + 1, 0);
    return [length, ...items];
  };
  const found: Reply = { parts: [...paths(ITEM), ...paths()] };
  const secret: Reply = { parts: ['/session/1', Buffer.alloc(0), Buffer.from(value), 'text/plain'] };
  const whole: Script = { ...normal(UNLOCKED), session, found, secret };
  const ask = async (script: Script) => {
    const seen = await fakeBus(path.join(dir, 'bus'), script);
    return { answer: await askKeychain(at(path.join(dir, 'bus')), wanted), seen };
  };

  it('arrives with the state', async () => {
    const { answer, seen } = await ask(whole);
    expect(answer).toEqual({ state: 'unlocked', value });
    expect(seen.text).toContain(wanted.account);
    expect(seen.text).toContain('plain');
    await expect.poll(open).toBe(0);
  });

  it('is not read from a locked keychain', async () => {
    expect((await ask({ ...whole, locked: LOCKED })).answer).toEqual({ state: 'locked' });
  });

  it.each<[string, Partial<Script>]>([
    ['the item has gone', { secret: { error: 'org.freedesktop.Secret.Error.NoSuchObject' } }],
    ['the session has to be encrypted', { session: { error: 'org.freedesktop.DBus.Error.NotSupported' } }],
    ['searching fails', { found: { error: 'org.freedesktop.DBus.Error.Failed' } }],
    ['the answer makes no sense', { secret: { parts: [] } }],
  ])('is left to the native module if %s', async (_what, part) => {
    expect((await ask({ ...whole, ...part })).answer).toEqual({ state: 'unlocked' });
  });

  it('is none if there is no such item', async () => {
    const found: Reply = { parts: [...paths(), ...paths()] };
    expect((await ask({ ...whole, found })).answer).toEqual({ state: 'unlocked' });
  });

  it.each<[string, Partial<Script>]>([
    ['from the beginning', { found: { parts: [...paths(), ...paths(ITEM)] } }],
    ['by the time it is read', { secret: { error: 'org.freedesktop.Secret.Error.IsLocked' } }],
  ])('is not read from an item that is locked %s, whatever the default keyring is', async (_when, part) => {
    expect((await ask({ ...whole, ...part })).answer).toEqual({ state: 'locked' });
  });

  it.each(['session', 'found', 'secret', 'locked', 'alias'] as const)(
    'is not waited for if %s is not answered',
    async (part) => {
      const { [part]: _, ...rest } = whole;
      await fakeBus(path.join(dir, 'bus'), rest);
      onTestFinished(shortenTimers(20));
      const answer = await askKeychain(at(path.join(dir, 'bus')), wanted);
      expect(answer).toEqual({ state: 'silent' });
    },
  );
});

describe('a locked keychain that a command needs', () => {
  const TERMINAL = { isTTY: true };
  const needed = (stores: Stores) => stores.chosen({ needed: true });
  interface Terminals {
    readonly stdin: { readonly isTTY: boolean };
    readonly stderr: { readonly isTTY: boolean };
  }
  const BOTH: Terminals = { stdin: TERMINAL, stderr: TERMINAL };
  const opened = async (
    env: Record<string, string>,
    { terminals = BOTH, choose = needed, setAt = undefined as Level | undefined } = {},
  ) => {
    const socket = path.join(dir, 'bus');
    await fakeBus(socket, normal(LOCKED));
    const seen = path.join(dir, 'seen');
    const keychainHelper = { command: 'sh', args: ['-c', `env > '${seen}'`] };
    const warnings: string[] = [];
    const report = { warn: (text: string) => warnings.push(text) };
    const more = { DISPLAY: ':7', PATH: process.env.PATH, GRAPHCRED_PASSWORD: 'canary' };
    const ctx = {
      platform: 'linux',
      ...terminals,
      keychainHelper,
      env: { ...more, ...at(socket), ...env },
    };
    const ports = portsOf(
      { ctx, report, spec: {} } as unknown as Invocation,
      { all: { noInput: [] } } as unknown as Settings,
    );
    const stores = storesIn({ stateDir: dir, configDir: dir }, ports, setAt);
    const store = await choose(stores);
    const { code } = (await store.check().catch((error: GraphException) => error)) as GraphException;
    return { code, warnings, helper: fs.existsSync(seen) ? fs.readFileSync(seen, 'utf8') : undefined };
  };

  it('is unlocked by the desktop, and the helper process for that gets no credential', async () => {
    const { code, warnings, helper } = await opened({});
    expect(code).toBe('STORE_UNAVAILABLE');
    expect(warnings.join()).toContain("answer the desktop's prompt");
    expect(helper).toContain('DISPLAY=:7');
    expect(helper).not.toContain('canary');
  });

  it.each<[string, Record<string, string>, Terminals]>([
    ['in a CI job', { CI: 'true' }, BOTH],
    ['without a display', { DISPLAY: '' }, BOTH],
    ['when nobody can type an answer', {}, { ...BOTH, stdin: { isTTY: false } }],
    ['when nobody sees the notice', {}, { ...BOTH, stderr: { isTTY: false } }],
  ])('is STORE_LOCKED %s, and nothing is asked', async (_where, env, terminals) => {
    const { code, warnings, helper } = await opened(env, { terminals, setAt: 'flag' });
    expect({ code, warnings, helper }).toEqual({ code: 'STORE_LOCKED', warnings: [], helper: undefined });
  });

  it.each([
    ['stays locked if nobody has chosen the keychain', undefined, 'STORE_LOCKED'],
    ['is unlocked if the profile names it', 'profile', 'STORE_UNAVAILABLE'],
  ] as const)('for a command that can do without it %s', async (_what, setAt, code) => {
    const seen = await opened({}, { choose: (stores) => stores.chosen(), setAt });
    expect(seen.code).toBe(code);
    expect(seen.warnings.join().includes("answer the desktop's prompt")).toBe(setAt !== undefined);
  });
});
