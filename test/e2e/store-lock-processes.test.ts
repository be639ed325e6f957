import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tryLock } from '../../src/files/lock.js';
import { sweep } from '../../src/store/sweep.js';
import { defined } from '../helpers/defined.js';
import { buildDriver } from '../helpers/driver.js';

let driver: Awaited<ReturnType<typeof buildDriver>>;
let dir: string;
const started = new Set<ChildProcess>();

beforeAll(async () => {
  driver = await buildDriver('test/helpers/lock-driver.ts');
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
function start(rounds: number | 'endless', holdMs: number, prefix: readonly string[] = []) {
  const words = [...prefix, process.execPath, driver.file, dir, String(rounds), String(holdMs)];
  const child = spawn(words[0] as string, words.slice(1), {
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
  it('never belongs to two processes, while their owners are killed at random times', {
    timeout: 120_000,
  }, async () => {
    const all: ReturnType<typeof start>[] = [];
    const running = Array.from({ length: 20 }, () => start('endless', 3));
    all.push(...running);
    const taken = () => all.reduce((sum, { said }) => sum + said.length, 0);
    const witnessed = () => {
      try {
        return Number(fs.readFileSync(path.join(dir, 'endless.witness'), 'utf8'));
      } catch {
        return 0;
      }
    };
    let kills = 0;
    let holders = 0;
    while (kills < 120) {
      const before = taken();
      // The process is killed at a random time: sometimes between two locks, sometimes while it has one.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 100));
      if (before === 0) continue;
      // Every second time the process that has the lock is killed, if it can be found.
      const holder = kills % 2 === 0 ? running.findIndex(({ child }) => child.pid === witnessed()) : -1;
      const index = holder >= 0 ? holder : Math.floor(Math.random() * running.length);
      if (holder >= 0) holders++;
      await kill(defined(running[index]).child);
      kills++;
      running[index] = start('endless', 3);
      all.push(running[index]);
    }
    // The other processes go on.
    const before = taken();
    await expect.poll(taken, { timeout: 10_000 }).toBeGreaterThan(before + 20);
    await Promise.all(running.map(({ child }) => kill(child)));

    expect(all.map(({ errors }) => errors).join('')).toBe('');
    expect(all.map(({ said }) => said).join('')).toMatch(/^\++$/);
    expect(holders).toBeGreaterThan(10);
    console.log(
      `lock: taken ${taken()} times by ${all.length} processes, ${kills} of them killed, ${holders} while they had it; no overlap`,
    );

    // The files that the killed processes left are removed once they are old.
    fs.rmSync(path.join(dir, 'endless.witness'), { force: true });
    const old = new Date(Date.now() - 2 * 3600_000);
    for (const name of fs.readdirSync(dir)) fs.utimesSync(path.join(dir, name), old, old);
    sweep({ stateDir: dir, configDir: dir });
    sweep({ stateDir: dir, configDir: dir });
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('goes to exactly one of twenty processes when its owner is dead', { timeout: 60_000 }, async () => {
    const rounds = 60;
    // This process has ended, so its id belongs to no running process.
    const gone = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' });
    await once(gone, 'close');
    for (let round = 0; round < rounds; round++) {
      const file = path.join(dir, `${round}.lock`);
      tryLock(file);
      const text = fs.readFileSync(file, 'utf8');
      fs.writeFileSync(file, text.replace(`/${process.pid}/`, `/${gone.pid}/`));
    }
    const all = Array.from({ length: 20 }, () => start(rounds, 0));
    await Promise.all(all.map(({ child }) => once(child, 'close')));
    expect(all.map(({ errors }) => errors).join('')).toBe('');
    expect(all.map(({ said }) => said)).toEqual(all.map(() => '+'.repeat(rounds)));
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  const noNamespace = namespaceProblem();
  it.skipIf(noNamespace !== undefined)(
    `of another container is renewed while its owner lives, and taken over after its end ${noNamespace ?? ''}`,
    async () => {
      const holder = start('endless', 60_000, ['unshare', '--pid', '--fork', '--kill-child']);
      await expect
        .poll(() => fs.existsSync(path.join(dir, 'endless.witness')), { timeout: 10_000 })
        .toBe(true);
      const file = path.join(dir, 'endless.lock');
      const age = (seconds: number) => {
        const then = new Date(Date.now() - seconds * 1000);
        fs.utimesSync(file, then, then);
      };
      age(600);
      await expect
        .poll(() => Date.now() - fs.statSync(file).mtimeMs, { timeout: 15_000 })
        .toBeLessThan(10_000);
      expect(tryLock(file)).toBeUndefined();
      await kill(holder.child);
      // From here nobody can tell that the process was killed until its time is up.
      expect(tryLock(file)).toBeUndefined();
      age(31);
      expect(tryLock(file)).toBeDefined();
    },
  );
});

function namespaceProblem(): string | undefined {
  try {
    execFileSync('unshare', ['--pid', '--fork', 'true'], { stdio: 'pipe' });
    return undefined;
  } catch {
    const problem = '(skipped: this machine does not allow process namespaces, unshare --pid)';
    console.warn(problem);
    return problem;
  }
}
