import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileStore } from '../../src/store/file/store.js';
import { tryLock } from '../../src/store/lock/lock.js';
import { temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, start } from '../helpers/process.js';
import { DEEP } from '../helpers/property.js';
import { expectReadable, foldersOf, leftOver, randomFrom, seedFor, storm } from '../helpers/storm.js';

// The contract allows a killed process to delay the next one by 5 s. On a busy machine it may take three times as long.
const DELAY_MS = 15_000;
const MINUTES = 60_000;

const LINES = [
  'token get',
  'token get --fresh',
  'token get --lifetime 1h',
  'secret rotate ci',
  'secret rotate ci',
  'secret rotate ci',
];

async function scene(home: string, store: 'file' | 'keychain', more: Readonly<Record<string, string>> = {}) {
  const { sandbox, env } = await sandboxFor(home);
  const all = { ...more, ...env, GRAPHCRED_STORE: store } as Record<string, string>;
  const { GRAPHCRED_PASSWORD: _, ...savedOnly } = all;
  const run = (line: string, which = all) => start(line.split(' '), which).ended;
  expect(await run('secret create ci --save')).toMatchObject({ status: 0 });
  const works = async (token: string) => {
    const reply = await fetch(`${sandbox.restUrl}/echo`, { headers: { authorization: `Bearer ${token}` } });
    return reply.status === 200;
  };
  return { sandbox, env: all, savedOnly, run, works };
}

async function survives(home: string, kills: number, made: Awaited<ReturnType<typeof scene>>, seed: number) {
  const { env, savedOnly, run, works } = made;
  const random = randomFrom(seed);
  const rounds = Math.ceil(kills / 60);
  for (let round = 1; round <= rounds; round++) {
    const finished = await storm({
      kills: Math.ceil(kills / rounds),
      random,
      env,
      lines: LINES,
      longestMs: 900,
    });
    // The processes that were not killed have succeeded.
    expect(finished.filter(({ status }) => status !== 0)).toEqual([]);
    expectReadable(home);
    const { stateDir } = foldersOf(home);
    for (const name of fs.readdirSync(stateDir)) {
      if (!name.endsWith('.lock')) continue;
      const lock = tryLock(path.join(stateDir, name));
      expect(lock, `${name} is free at once`).toBeDefined();
      lock?.release();
    }
    // The saved secret works right after the kill, without the password.
    const fresh = await run('token get --fresh', savedOnly);
    expect(fresh, `round ${round}`).toMatchObject({ status: 0 });
    expect(await works(fresh.stdout.trim())).toBe(true);
  }
  const start_ = performance.now();
  expect(await run('secret rotate ci')).toMatchObject({ status: 0 });
  expect(performance.now() - start_).toBeLessThan(DELAY_MS);
  for (const line of ['token get', 'token get --lifetime 1h', 'token get --fresh']) {
    const started = performance.now();
    const { status, stdout } = await run(line);
    expect(performance.now() - started, line).toBeLessThan(DELAY_MS);
    expect({ status, works: await works(stdout.trim()) }).toEqual({ status: 0, works: true });
  }
  // The last of these commands has written to the store, and so has removed what the killed processes left.
  expect(leftOver(home)).toEqual([]);
  const listed = await run('secret list -o json');
  expect(JSON.parse(listed.stdout).secrets.map(({ alias }: { alias: string }) => alias)).toEqual(['ci']);
  const kept = fs.readdirSync(foldersOf(home).stateDir).filter((name) => name.startsWith('secret-'));
  expect(kept).toHaveLength(1);
  expect(await run('token get --fresh', savedOnly)).toMatchObject({ status: 0 });
}

test(
  'processes killed at random moments leave no damage in the file store',
  async () => {
    const home = temporaryHome();
    const made = await scene(home, 'file');
    await survives(home, DEEP ? 1000 : 60, made, seedFor('storm on the file store'));
    const { stateDir, configDir } = foldersOf(home);
    const warn = (warning: string) => expect.fail(warning);
    const keychain = {
      platform: process.platform,
      env: {},
      mayPrompt: false,
      child: { command: '', args: [] },
      notify: warn,
    };
    const store = fileStore({ stateDir, configDir, keychain, warn });
    for (const record of await store.list()) expect(await store.read(record)).toBeDefined();
  },
  DEEP ? 20 * MINUTES : 4 * MINUTES,
);

const skip = keyringSkipReason();
if (skip !== undefined) console.log(`the storm on the keychain is skipped: ${skip}`);

describe.skipIf(skip !== undefined)('with the real keychain', () => {
  test(
    'processes killed at random moments leave no damage',
    async () => {
      await withKeyring({ state: 'unlocked' }, async (keyring) => {
        const made = await scene(keyring.home, 'keychain', keyring.env);
        await survives(keyring.home, DEEP ? 240 : 24, made, seedFor('storm on the keychain'));
      });
    },
    DEEP ? 20 * MINUTES : 4 * MINUTES,
  );
});
