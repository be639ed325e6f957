// Tests the keychain in every state that it may have on a machine: which message is printed, how soon, and that no process is left running. Each case
// runs in a process of its own, because the worst of these states keep a process from ending.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeEntry } from '../../src/store/records.js';
import { defined } from '../helpers/defined.js';
import { buildDriver } from '../helpers/driver.js';
import {
  displaySkipReason,
  KEYRING_PASSWORD,
  type Keyring,
  keyringSkipReason,
  NO_PROMPT,
  processesOf,
  typeIntoPrompt,
  typingSkipReason,
  withKeyring,
} from '../helpers/keyring.js';
import { spawned } from '../helpers/process.js';
import { tokenRecord } from '../helpers/store-options.js';
import type { Job, Step } from '../helpers/store-steps.js';

const RECORD = tokenRecord({ store: 'keychain' });
const WRITE: Step = { do: 'write', record: RECORD, value: 'the value' };
const READ: Step = { do: 'read', key: 'demo' };
const REMOVE: Step = { do: 'remove', key: 'demo' };

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
  const ended = await spawned(command, world.env, JSON.stringify(job));
  return { ...ended, results: ended.stdout === '' ? undefined : JSON.parse(ended.stdout) };
}

/** Creates a record, as it would be left from a time when the keychain could be used. */
function plantRecord(world: World): void {
  writeEntry(path.join(world.home, 'state'), { record: RECORD });
}

const unavailable = (message: string | RegExp) => ({
  code: 'STORE_UNAVAILABLE',
  message: typeof message === 'string' ? message : expect.stringMatching(message),
  hint: 'to use files instead: GRAPHCRED_STORE=file, or for good',
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
  it('is reported if it has no default keyring', async () => {
    await withKeyring({ state: 'no-collection' }, async (keyring) => {
      plantRecord(keyring);
      const ended = await attempt(keyring, ALL);
      expect(ended.results).toEqual(failing(unavailable('the OS keychain has no default keyring yet')));
      expect(ended).toMatchObject({ status: 0, stderr: '' });
    });
  });

  it('stores the value if it is unlocked, under a label that a person understands', async () => {
    await withKeyring({}, async (keyring) => {
      const ended = await attempt(keyring, [WRITE, READ]);
      expect(ended.results).toEqual([{ value: true }, { value: 'the value' }]);
      const [item, ...others] = itemsOf(keyring);
      expect(others).toEqual([]);
      expect(labelOf(keyring, defined(item))).toContain("'graphcred/demo'");
    });
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

  it('opens the prompt, and is not waited for if nobody answers it', async () => {
    await withLocked(async (keyring) => {
      const began = performance.now();
      const ended = await attempt(keyring, [READ], { mayPrompt: true, shorter: 24 });
      expect(performance.now() - began).toBeGreaterThan(2_500);
      expect(ended.results).toEqual([locked]);
      expect(ended).toMatchObject({
        status: 0,
        stderr: "the OS keychain is locked: answer the desktop's prompt (waiting up to 60 s)\n",
      });
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
      const ask = async () => {
        const running = attempt(keyring, [step], { mayPrompt: true });
        return { problem: await typeIntoPrompt(keyring, KEYRING_PASSWORD, running), ended: await running };
      };
      let asked = await ask();
      // A prompter that fails to start counts as a dismissed prompt; the next one starts.
      for (let n = 0; n < 4 && asked.problem === NO_PROMPT; n++) asked = await ask();
      const { problem, ended } = asked;
      skip(problem !== undefined && problem !== NO_PROMPT, problem);
      expect(ended.results).toEqual([result]);
      expect(ended.status).toBe(0);
    });
  });

  it.skipIf(typingSkipReason() !== undefined)(
    'is still locked after the prompt is dismissed',
    async ({ skip }) => {
      await withLocked(async (keyring) => {
        const running = attempt(keyring, [READ], { mayPrompt: true });
        const problem = await typeIntoPrompt(keyring, undefined, running);
        skip(problem !== undefined && problem !== NO_PROMPT, problem);
        expect((await running).results).toEqual([locked]);
      });
    },
  );

  it('does not prompt or wait when there is no terminal', async () => {
    await withLocked(async (keyring) => {
      const ended = await attempt(keyring, ALL);
      expect(ended.results).toEqual(failing(locked));
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
