// Tests the keychain in every state that it may have on a machine: which message is printed, how soon, and that no process is left running. Each case
// runs in a process of its own, because the worst of these states keep a process from ending.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoreRecord } from '../../src/store/store.js';
import { defined } from '../helpers/defined.js';
import { buildDriver, makeHome, run } from '../helpers/driver.js';
import {
  displaySkipReason,
  KEYRING_PASSWORD,
  type Keyring,
  keyringSkipReason,
  mountSkipReason,
  processesOf,
  typeIntoPrompt,
  typingSkipReason,
  withKeyring,
} from '../helpers/keyring.js';
import type { Job, Step } from '../helpers/store-steps.js';

const RECORD: StoreRecord = {
  v: 1,
  kind: 'token',
  key: 'demo',
  store: 'keychain',
  createdAtUnix: 1_700_000_000,
  info: {},
};
const WRITE: Step = { do: 'write', record: RECORD, value: 'the value' };
const READ: Step = { do: 'read', key: 'demo' };
const REMOVE: Step = { do: 'remove', key: 'demo' };
const HINT = 'graphcred login --store file';

/** The longest that a user waits, including the start of a process on a busy machine. */
const AT_ONCE_MS = 4_000;
const SILENT_MS = 5_500;

const noKeychain = keyringSkipReason();

let driver: Awaited<ReturnType<typeof buildDriver>>;
beforeAll(async () => {
  driver = await buildDriver('test/helpers/store-driver.ts');
});
afterAll(() => driver.remove());

interface World {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
}

async function attempt(world: World, steps: Step[], more: Partial<Job> = {}, before: string[] = []) {
  const job: Job = {
    store: 'keychain',
    stateDir: path.join(world.home, 'state'),
    configDir: path.join(world.home, 'config'),
    steps,
    ...more,
  };
  const command = [...before, process.execPath, driver.file];
  const ended = await run(command, world.env, JSON.stringify(job));
  return { ...ended, results: ended.stdout === '' ? undefined : JSON.parse(ended.stdout) };
}

/** Creates a record, as it would be left from a time when the keychain could be used. */
function plantRecord(world: World): void {
  const dir = path.join(world.home, 'state');
  fs.mkdirSync(dir, { mode: 0o700 });
  // Only the store knows the name of the file, so the store writes it, with a keychain that works.
  fs.cpSync(planted, dir, { recursive: true });
}

let planted: string;
beforeAll(async () => {
  if (noKeychain !== undefined) return;
  planted = fs.mkdtempSync(path.join(process.env.TMPDIR ?? '/tmp', 'graphcred-planted-'));
  await withKeyring({}, async (keyring) => {
    const { results } = await attempt(keyring, [WRITE]);
    expect(results).toEqual([{ value: true }]);
    fs.cpSync(path.join(keyring.home, 'state'), planted, { recursive: true });
  });
});
afterAll(() => planted && fs.rmSync(planted, { recursive: true, force: true }));

const unavailable = (message: string | RegExp) => ({
  code: 'STORE_UNAVAILABLE',
  message: typeof message === 'string' ? message : expect.stringMatching(message),
  hint: expect.stringContaining(HINT),
});
const locked = {
  code: 'STORE_LOCKED',
  message: 'the OS keychain is locked',
  hint: expect.stringContaining('unlock it'),
};
/** Reading, writing and removing all fail in the same way. Operations that do not need the keychain still work. */
const ALL: Step[] = [READ, WRITE, REMOVE, { do: 'find', key: 'demo' }, { do: 'list' }];
const failing = (error: object) => [error, error, error, { value: RECORD }, { value: [RECORD] }];

describe.skipIf(noKeychain !== undefined)('the keychain', () => {
  it('is missing if there is no session bus', async () => {
    const { remove, ...world } = makeHome();
    try {
      plantRecord(world);
      const ended = await attempt(world, ALL);
      expect(ended.results).toEqual(
        failing(unavailable('there is no OS keychain: no session bus is running')),
      );
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      expect(ended.ms).toBeLessThan(AT_ONCE_MS);
    } finally {
      remove();
    }
  });

  it('is missing if the socket of the session bus is dead', async () => {
    const { remove, ...world } = makeHome();
    try {
      const socket = path.join(world.home, 'bus');
      const server = net.createServer().listen(socket);
      await once(server, 'listening');
      fs.linkSync(socket, `${socket}.left`);
      server.close();
      plantRecord(world);
      const env = { ...world.env, DBUS_SESSION_BUS_ADDRESS: `unix:path=${socket}.left` };
      const ended = await attempt({ ...world, env }, ALL);
      expect(ended.results).toEqual(
        failing(unavailable('there is no OS keychain: no session bus is running')),
      );
      expect(ended.ms).toBeLessThan(AT_ONCE_MS);
    } finally {
      remove();
    }
  });

  it('is missing if the bus has no Secret Service', async () => {
    await withKeyring({ state: 'no-service' }, async (keyring) => {
      plantRecord(keyring);
      const ended = await attempt(keyring, ALL);
      expect(ended.results).toEqual(
        failing(unavailable('there is no OS keychain: no Secret Service runs on the session bus')),
      );
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      expect(ended.ms).toBeLessThan(AT_ONCE_MS);
    });
  });

  it('is reported if it has no default keyring', async () => {
    await withKeyring({ state: 'no-collection' }, async (keyring) => {
      plantRecord(keyring);
      const ended = await attempt(keyring, ALL);
      expect(ended.results).toEqual(failing(unavailable('the OS keychain has no default keyring yet')));
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      expect(ended.ms).toBeLessThan(AT_ONCE_MS);
    });
  });

  it('is reported at once if it is locked and nobody can unlock it', async () => {
    await withKeyring({ state: 'locked' }, async (keyring) => {
      plantRecord(keyring);
      const ended = await attempt(keyring, ALL);
      expect(ended.results).toEqual(failing(locked));
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      expect(ended.ms).toBeLessThan(AT_ONCE_MS);
    });
  });

  it('stores the value if it is unlocked, under a label that a person understands', async () => {
    await withKeyring({}, async (keyring) => {
      const ended = await attempt(keyring, [WRITE, READ]);
      expect(ended.results).toEqual([{ value: true }, { value: 'the value' }]);
      expect(ended.ms).toBeLessThan(AT_ONCE_MS);
      const [item, ...others] = itemsOf(keyring);
      expect(others).toEqual([]);
      expect(labelOf(keyring, defined(item))).toContain("'graphcred/demo'");
    });
  });

  it('loses its old value when the file store replaces the entry', async () => {
    await withKeyring({}, async (keyring) => {
      await attempt(keyring, [WRITE]);
      const file = await attempt(keyring, [WRITE, READ], { store: 'file' });
      expect(file.results).toEqual([{ value: true }, { value: 'the value' }]);
      expect(itemsOf(keyring)).toEqual([]);
      // A value that was in the keychain before does not appear again.
      const keychain = await attempt(keyring, [READ, { do: 'list' }, REMOVE]);
      expect(keychain.results).toEqual([{}, { value: [] }, { value: false }]);
      // The same in the other direction: the value moves back from the file to the keychain.
      await attempt(keyring, [WRITE]);
      expect((await attempt(keyring, [READ, REMOVE], { store: 'file' })).results).toEqual([
        {},
        { value: false },
      ]);
      expect((await attempt(keyring, [READ])).results).toEqual([{ value: 'the value' }]);
    });
  });

  it('counts as empty if another program deleted the value', async () => {
    await withKeyring({}, async (keyring) => {
      plantRecord(keyring);
      const ended = await attempt(keyring, [READ, REMOVE, { do: 'find', key: 'demo' }]);
      expect(ended.results).toEqual([{}, { value: true }, {}]);
    });
  });

  // holds: C5.8
  it('is given up within five seconds if it accepts the connection and never answers', async () => {
    const { remove, ...world } = makeHome();
    const server = net.createServer(() => {}).listen(path.join(world.home, 'bus'));
    try {
      await once(server, 'listening');
      plantRecord(world);
      const env = { ...world.env, XDG_RUNTIME_DIR: world.home };
      const ended = await attempt({ ...world, env }, ALL);
      expect(ended.results).toEqual(failing(unavailable('the OS keychain does not answer')));
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      expect(ended.ms).toBeLessThan(SILENT_MS);
    } finally {
      server.close();
      remove();
    }
  });

  it('is reported if it stops answering between the check and the call, and the process ends itself', async () => {
    await withKeyring({}, async (keyring) => {
      await attempt(keyring, [WRITE]);
      // The first connection, which asks whether the keychain exists, is passed on. The second one, which libsecret opens, is accepted and never
      // answered.
      const proxy = net.createServer((client) => {
        if (++connections > 1) return;
        const bus = net.connect(path.join(keyring.home, 'run/bus'));
        client.pipe(bus).pipe(client);
        client.on('error', () => bus.destroy());
        bus.on('error', () => client.destroy());
      });
      let connections = 0;
      proxy.listen(path.join(keyring.home, 'proxy'));
      await once(proxy, 'listening');
      const env = { ...keyring.env, DBUS_SESSION_BUS_ADDRESS: `unix:path=${keyring.home}/proxy` };
      // If the value cannot be read at once, libsecret is asked too.
      const ended = await attempt({ ...keyring, env }, [REMOVE]);
      proxy.close();
      expect(connections).toBe(2);
      expect(ended).toMatchObject({
        status: null,
        signal: 'SIGKILL',
        stdout: '',
        stderr: 'the OS keychain stopped answering during a call; gave up after 5 s\n',
      });
      expect(ended.ms).toBeLessThan(5_000 + AT_ONCE_MS);
    });
  });
});

// These tests use the code for macOS and Windows on Linux: the same helper process, with the keychain of Linux.
describe.skipIf(noKeychain !== undefined)('a keychain used only by the helper process', () => {
  it.each<[NodeJS.Platform, number]>([
    ['darwin', 1],
    ['win32', 3],
  ])('stores and deletes values as on %s', async (platform, items) => {
    await withKeyring({}, async (keyring) => {
      const value = `ä" ${'x'.repeat(4_000)}`;
      const written = await attempt(keyring, [{ ...WRITE, value }, READ], { platform });
      expect(written).toMatchObject({ results: [{ value: true }, { value }], status: 0, stderr: '' });
      expect(itemsOf(keyring)).toHaveLength(items);
      const removed = await attempt(keyring, [REMOVE, REMOVE, READ], { platform });
      expect(removed.results).toEqual([{ value: true }, { value: false }, {}]);
      expect(itemsOf(keyring)).toEqual([]);
    });
  });

  it('is reported locked when the system says so', async () => {
    await withKeyring({ state: 'locked' }, async (keyring) => {
      expect((await attempt(keyring, [WRITE], { platform: 'darwin' })).results).toEqual([locked]);
    });
  });

  it.each([
    ['does not start', ['/missing/program'], 'because its helper process did not start (ENOENT)'],
    ['crashes', ['sh', '-c', 'kill -SEGV $$'], 'because its helper process ended early (SIGSEGV)'],
    ['ends early', ['sh', '-c', 'exit 3'], 'because its helper process ended early (status 3)'],
    ['talks nonsense', ['sh', '-c', 'echo hello; exec sleep 60'], 'in a way that can be understood'],
    ['never starts', ['sleep', '60'], 'within 1.5 s'],
    ['never answers', ['sh', '-c', 'echo; exec sleep 60'], 'within 0.5 s'],
    ['leaves somebody behind who holds its output', ['sh', '-c', 'sleep 7 & exit 3'], 'within 1.5 s'],
  ])('is given up when the helper %s', async (_what, child, how) => {
    const { remove, ...world } = makeHome();
    try {
      plantRecord(world);
      const ended = await attempt(world, [READ], { platform: 'darwin', child, answerMs: 500 });
      expect(ended.results).toEqual([unavailable(`the OS keychain did not answer ${how}`)]);
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      expect(ended.ms).toBeLessThan(AT_ONCE_MS);
      const left = processesOf(world.home).map((pid) => commandOf(pid).join(' ').trim());
      expect(left).toEqual(child.includes('sleep 7 & exit 3') ? ['sleep 7'] : []);
    } finally {
      for (const pid of processesOf(world.home)) process.kill(pid, 'SIGKILL');
      remove();
    }
  });

  it('makes the command wait on a terminal, with a message that says why', async () => {
    const { remove, ...world } = makeHome();
    try {
      plantRecord(world);
      const asked = { platform: 'darwin', child: ['sleep', '60'], mayPrompt: true, promptMs: 3_000 } as const;
      const ended = await attempt(world, [READ], { ...asked, child: [...asked.child] });
      expect(ended.results).toEqual([locked]);
      expect(ended.stderr).toBe('waiting for the keychain: answer its prompt (up to 3 s)\n');
      expect(ended.ms).toBeGreaterThan(3_000);
    } finally {
      remove();
    }
  });
});

describe.skipIf(displaySkipReason() !== undefined)('the keychain, locked, with a display', () => {
  /** Runs the test with a keyring that has the entry and was locked afterwards. */
  async function withLocked(work: (keyring: Keyring) => Promise<void>): Promise<void> {
    await withKeyring({ display: true }, async (keyring) => {
      expect((await attempt(keyring, [WRITE])).results).toEqual([{ value: true }]);
      await keyring.lock();
      await work(keyring);
    });
  }

  it.each([
    ['reading', READ],
    ['writing', WRITE],
    ['removing', REMOVE],
  ])('%s opens the prompt, and ends if nobody answers it', async (_what, step) => {
    await withLocked(async (keyring) => {
      const ended = await attempt(keyring, [step], { mayPrompt: true, promptMs: 2_500 });
      expect(ended.results).toEqual([locked]);
      expect(ended).toMatchObject({
        status: 0,
        stderr: "the OS keychain is locked: answer the desktop's prompt (waiting up to 2.5 s)\n",
      });
      expect(ended.ms).toBeGreaterThan(2_500);
      expect(ended.ms).toBeLessThan(2_500 + AT_ONCE_MS);
      expect(driversIn(keyring)).toEqual([]);
      expect(programsIn(keyring)).toContain('gcr-prompter');
    });
  });

  it.skipIf(typingSkipReason() !== undefined).for([
    ['reading', READ, { value: 'the value' }],
    ['writing', WRITE, { value: true }],
    ['removing', REMOVE, { value: true }],
  ] as const)('%s goes on when the prompt is answered', async ([_what, step, result], { skip }) => {
    await withLocked(async (keyring) => {
      const running = attempt(keyring, [step], { mayPrompt: true });
      const problem = await typeIntoPrompt(keyring, KEYRING_PASSWORD);
      skip(problem !== undefined, problem);
      const ended = await running;
      expect(ended.results).toEqual([result]);
      expect(ended.status).toBe(0);
    });
  });

  it.skipIf(typingSkipReason() !== undefined)(
    'is still locked after the prompt is dismissed',
    async ({ skip }) => {
      await withLocked(async (keyring) => {
        const running = attempt(keyring, [READ], { mayPrompt: true });
        const problem = await typeIntoPrompt(keyring, undefined);
        skip(problem !== undefined, problem);
        expect((await running).results).toEqual([locked]);
      });
    },
  );

  it('does not wait when there is no terminal', async () => {
    await withLocked(async (keyring) => {
      const ended = await attempt(keyring, ALL);
      expect(ended.results).toEqual(failing(locked));
      expect(ended.ms).toBeLessThan(AT_ONCE_MS);
      expect(programsIn(keyring)).not.toContain('gcr-prompter');
    });
  });

  it('is asked by a helper process that ends with the program that started it', async () => {
    await withLocked(async (keyring) => {
      const running = attempt(keyring, [READ], { mayPrompt: true });
      await expect.poll(() => programsIn(keyring), { timeout: 10_000 }).toContain('gcr-prompter');
      const [program, helper, ...others] = driversIn(keyring).sort((a, b) => a - b);
      expect([typeof helper, others]).toEqual(['number', []]);
      process.kill(defined(program), 'SIGKILL');
      expect(await running).toMatchObject({ signal: 'SIGKILL' });
      await expect.poll(() => driversIn(keyring), { timeout: 10_000 }).toEqual([]);
    });
  });
});

describe.skipIf(noKeychain !== undefined || mountSkipReason() !== undefined)('the keychain', () => {
  it('names the package to install if libsecret is missing', async () => {
    const library = defined(
      execFileSync('sh', ['-c', 'ldconfig -p | grep -o "/[^ ]*libsecret-1.so.0$"'], {
        encoding: 'utf8',
      }).split('\n')[0],
    );
    await withKeyring({}, async (keyring) => {
      plantRecord(keyring);
      const hidden = `mount --bind /dev/null ${fs.realpathSync(library)} && exec "$@"`;
      const ended = await attempt(keyring, ALL, {}, ['unshare', '-m', 'sh', '-c', hidden, 'sh']);
      expect(ended.results).toEqual(
        failing({
          ...unavailable('the library that opens the OS keychain cannot be loaded'),
          hint: expect.stringContaining('apt install libsecret-1-0'),
        }),
      );
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      expect(ended.ms).toBeLessThan(AT_ONCE_MS);
    });
  });

  it('says how to install the package keytar if it is missing', async () => {
    await withKeyring({}, async (keyring) => {
      plantRecord(keyring);
      const hidden = 'mount -t tmpfs none node_modules/keytar && exec "$@"';
      const ended = await attempt(keyring, [READ], {}, ['unshare', '-m', 'sh', '-c', hidden, 'sh']);
      expect(ended.results).toEqual([
        {
          ...unavailable('the package keytar, which opens the OS keychain, is not installed'),
          hint: expect.stringContaining('npm install --include=optional'),
        },
      ]);
    });
  });

  it('holds no part of the value if the disk is full', async () => {
    await withKeyring({}, async (keyring) => {
      const small = `mkdir -p ${keyring.home}/state && mount -t tmpfs -o size=4k none ${keyring.home}/state && \
head -c 8192 /dev/zero > ${keyring.home}/state/filler 2>/dev/null; exec "$@"`;
      const ended = await attempt(keyring, [WRITE], {}, ['unshare', '-m', 'sh', '-c', small, 'sh']);
      expect(ended.results).toEqual([
        {
          code: 'STORE_UNAVAILABLE',
          message: `cannot write to ${keyring.home}/state: the disk is full`,
          hint: expect.stringContaining('free some space there'),
        },
      ]);
      expect(itemsOf(keyring)).toEqual([]);
    });
  });
});

function gdbus(world: World, ...args: string[]): string {
  return execFileSync('gdbus', ['call', '--session', '--dest', 'org.freedesktop.secrets', ...args], {
    env: world.env,
    encoding: 'utf8',
  });
}

/** Returns the object paths of graphcred's items in the keychain, found without graphcred's own code. */
function itemsOf(world: World): string[] {
  const found = gdbus(
    world,
    '--object-path',
    '/org/freedesktop/secrets',
    '--method',
    'org.freedesktop.Secret.Service.SearchItems',
    "{'service': 'graphcred'}",
  );
  return [...found.matchAll(/'(\/[^']+)'/g)].map((match) => defined(match[1]));
}

function labelOf(world: World, item: string): string {
  const get = ['--method', 'org.freedesktop.DBus.Properties.Get', 'org.freedesktop.Secret.Item', 'Label'];
  return gdbus(world, '--object-path', item, ...get);
}

function programsIn(world: World): string[] {
  return processesOf(world.home).map((pid) => path.basename(commandOf(pid)[0] ?? ''));
}

function driversIn(world: World): number[] {
  return processesOf(world.home).filter((pid) => commandOf(pid).includes(driver.file));
}

function commandOf(pid: number): string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

describe.skipIf(noKeychain !== undefined)('a value that another program put into the keychain', () => {
  /** Stores a token, and then replaces its value as another program would. */
  const replaced = (value: string) =>
    withKeyring({}, async (keyring) => {
      await attempt(keyring, [WRITE]);
      const script = 'require("keytar").setPassword("graphcred", "demo", process.argv[1])';
      const ended = await run([process.execPath, '-e', script, value], keyring.env);
      expect(ended).toMatchObject({ status: 0, stderr: '' });
      return attempt(keyring, [READ]);
    });

  it.each([
    ['a line break', 'first\nsecond'],
    ['a carriage return', 'token\r'],
    ['an escape sequence', 'token\u001b[31m'],
    ['a control character of Latin-1', 'token\u009b31m'],
  ])('with %s counts as missing, and nothing of it is printed', async (_what, value) => {
    const { results, stderr } = await replaced(value);
    expect(results).toEqual([{}]);
    expect(stderr).toBe(
      'the OS keychain holds a token with a line break or another control character as graphcred/demo; it is ignored, and replaced when a new one is stored\n',
    );
  });

  const noTool = noKeychain ?? skipWithout('secret-tool');
  it.skipIf(noTool !== undefined)(`that is empty counts as absent ${noTool ?? ''}`, async () => {
    await withKeyring({}, async (keyring) => {
      await attempt(keyring, [WRITE]);
      const item = ['service', 'graphcred', 'account', 'demo'];
      await run(['secret-tool', 'clear', ...item], keyring.env);
      expect(await run(['secret-tool', 'store', '--label=x', ...item], keyring.env)).toMatchObject({
        status: 0,
      });
      const { results, stderr } = await attempt(keyring, [READ]);
      expect({ results, stderr }).toEqual({ results: [{}], stderr: '' });
    });
  });
});

describe('a value with control characters', () => {
  it.each(['', 'a\0b', 'a\nb', 'a\u001b[31m'])('%j is not written to the keychain', async (value) => {
    const world = makeHome();
    try {
      const { results } = await attempt(world, [{ do: 'write', record: RECORD, value }]);
      expect(results).toEqual([expect.objectContaining({ code: 'STORE_UNAVAILABLE' })]);
      expect((results[0] as { message: string }).message).toContain('control characters');
    } finally {
      world.remove();
    }
  });
});

function skipWithout(program: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  if (folders.some((folder) => fs.existsSync(path.join(folder, program)))) return undefined;
  console.warn(`a keychain test is skipped: ${program} is not installed`);
  return `(skipped: ${program} is not installed)`;
}
