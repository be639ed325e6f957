import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildDriver } from '../helpers/driver.js';

let driver: Awaited<ReturnType<typeof buildDriver>>;
let dir: string;
const started = new Set<ChildProcess>();

beforeAll(async () => {
  driver = await buildDriver('test/e2e/lock-driver.ts');
});
afterAll(() => driver.remove());
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-lock-'));
});
afterEach(async () => {
  await Promise.all([...started].map(kill));
  fs.rmSync(dir, { recursive: true, force: true });
});

/** Starts a process that takes locks. `said` collects a plus for each time it had one, and `!` for each time two processes had one. */
function start(rounds: number | 'endless', holdMs: number) {
  const child = spawn(process.execPath, [driver.file, dir, String(rounds), String(holdMs)], {
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const process_ = { child, said: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (process_.said += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (process_.errors += text));
  started.add(child);
  child.on('close', () => started.delete(child));
  return process_;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'close');
}

describe.skipIf(process.platform !== 'linux')('a lock among processes (Linux)', () => {
  it('goes on to another process when its owner is killed, and never belongs to two', {
    timeout: 120_000,
  }, async () => {
    const all = Array.from({ length: 10 }, () => start('endless', 3));
    const taken = () => all.reduce((sum, { said }) => sum + said.length, 0);
    const owner = () => {
      try {
        const pid = Number(fs.readFileSync(path.join(dir, 'endless.witness'), 'utf8'));
        return all.find(({ child }) => child.pid === pid);
      } catch {
        return undefined;
      }
    };
    for (let killed = 0; killed < 3; killed++) {
      // A process that has it is stopped first, so that it still has it when it is killed.
      for (let holder = owner(); ; holder = owner()) {
        if (holder === undefined) {
          await new Promise(setImmediate);
          continue;
        }
        holder.child.kill('SIGSTOP');
        const isHolding = owner() === holder;
        holder.child.kill(isHolding ? 'SIGKILL' : 'SIGCONT');
        if (isHolding) break;
      }
      const before = taken();
      await expect.poll(taken, { timeout: 15_000 }).toBeGreaterThan(before + 20);
    }
    await Promise.all(all.map(({ child }) => kill(child)));
    expect(all.map(({ errors }) => errors).join('')).toBe('');
    expect(all.map(({ said }) => said).join('')).toMatch(/^\++$/);
  });

  it('goes to exactly one of twenty processes when its owner is dead', { timeout: 60_000 }, async () => {
    const rounds = 5;
    for (let round = 0; round < rounds; round++) fs.writeFileSync(path.join(dir, `${round}.lock`), '');
    const all = Array.from({ length: 20 }, () => start(rounds, 0));
    await Promise.all(all.map(({ child }) => once(child, 'close')));
    expect(all.map(({ errors }) => errors).join('')).toBe('');
    expect(all.map(({ said }) => said)).toEqual(all.map(() => '+'.repeat(rounds)));
    expect(fs.readdirSync(dir)).toEqual([]);
  });
});
