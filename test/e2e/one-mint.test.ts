import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseFault } from '../../src/sandbox/args.js';
import { temporaryHome } from '../helpers/cli.js';
import { keyringSkipReason, withKeyring } from '../helpers/keyring.js';
import { sandboxFor, start } from '../helpers/process.js';
import { DEEP } from '../helpers/property.js';
import { foldersOf, randomFrom, seedFor } from '../helpers/storm.js';

// A hundred processes ask for a token while the store is empty. The process that has the lock is killed at a random time.

const MINT_MS = 250;
const CALLERS = 100;
const ROUNDS = DEEP ? 25 : 1;
const LIMIT_MS = DEEP ? 30 * 60_000 : 3 * 60_000;

/** Returns the process that has the lock. The last link of the lock's chain names it. */
function holderIn(home: string): number | undefined {
  const { stateDir } = foldersOf(home);
  let content = '';
  try {
    for (let name = fs.readdirSync(stateDir).find((file) => /^token-[0-9a-f]+\.lock$/.test(file)); name; ) {
      content = fs.readFileSync(path.join(stateDir, name), 'utf8');
      name = `${name.replace(/\.lock.*/, '.lock')}.${content.split(' ')[0]}`;
    }
  } catch {
    // The chain has ended, or the lock was released.
  }
  return Number(/\/(\d+)\/\d*\n$/.exec(content)?.[1]) || undefined;
}

async function round(home: string, more: Readonly<Record<string, string>>, random: () => number) {
  const { sandbox, env, mints } = await sandboxFor(home);
  // The time limit is long, so that no process gives up on a busy machine.
  const patient = { ...env, ...more, GRAPHCRED_TIMEOUT: '5m' };
  sandbox.addFault(parseFault(`route=POST /requesttoken,action=delay,ms=${MINT_MS}`));
  const callers = Array.from({ length: CALLERS }, () => start(['token', 'get'], patient));
  let over = false;
  void Promise.race(callers.map(({ ended }) => ended)).then(() => {
    over = true;
  });
  while (!over && holderIn(home) === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
  await new Promise((resolve) => setTimeout(resolve, random() * (MINT_MS + 150)));
  const victim = callers.find(({ child }) => child.pid === holderIn(home));
  victim?.child.kill('SIGKILL');
  const ends = await Promise.all(callers.map(({ ended }) => ended));
  const killed = ends.filter(({ signal }) => signal === 'SIGKILL').length;
  const answers = ends.filter(({ signal }) => signal === null);
  expect(killed).toBeLessThanOrEqual(1);
  expect(answers).toHaveLength(CALLERS - killed);
  expect(new Set(answers.map(({ status, stderr }) => `${status} ${stderr}`))).toEqual(new Set(['0 ']));
  expect({ mints: mints(), killed, stdout: [...new Set(answers.map(({ stdout }) => stdout))] }).toMatchObject(
    {
      stdout: [expect.any(String)],
    },
  );
  expect(mints()).toBeLessThanOrEqual(1 + killed);
  return { killed, mints: mints() };
}

async function rounds(
  name: string,
  one: (random: () => number) => Promise<{ killed: number; mints: number }>,
) {
  const random = randomFrom(seedFor(name));
  const seen = { rounds: 0, killed: 0, second: 0 };
  while (seen.rounds < ROUNDS) {
    const { killed, mints } = await one(random);
    seen.rounds++;
    seen.killed += killed;
    seen.second += mints - 1;
  }
  console.log(`${name}: ${JSON.stringify(seen)}`);
  return seen;
}

test(
  `if the process with the lock is killed, ${CALLERS} processes send one more request at most and get one token (file store)`,
  async () => {
    const seen = await rounds('one mint, file store', (random) =>
      round(temporaryHome(), { GRAPHCRED_STORE: 'file' }, random),
    );
    if (DEEP) expect(seen.killed).toBeGreaterThan(ROUNDS / 3);
  },
  LIMIT_MS,
);

const skip = keyringSkipReason();
if (skip !== undefined) console.log(`the same with the keychain is skipped: ${skip}`);

describe.skipIf(skip !== undefined)('with the real keychain', () => {
  test(
    `if the process with the lock is killed, ${CALLERS} processes send one more request at most and get one token`,
    async () => {
      const seen = await rounds('one mint, keychain', (random) =>
        withKeyring({ state: 'unlocked' }, (keyring) => round(keyring.home, keyring.env, random)),
      );
      if (DEEP) expect(seen.killed).toBeGreaterThan(ROUNDS / 3);
    },
    LIMIT_MS,
  );
});
