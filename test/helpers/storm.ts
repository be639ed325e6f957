import fs from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { readEntry } from '../../src/store/records.js';
import type { Result } from './cli.js';
import { defined } from './defined.js';
import { start } from './process.js';

/** Returns a sequence of numbers from 0 up to 1 that looks random and is the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a seed for a test and prints it, so that a failure can be repeated with GRAPHCRED_SEED. */
export function seedFor(name: string): number {
  const seed = Number(process.env.GRAPHCRED_SEED ?? Math.trunc(Math.random() * 2 ** 31));
  console.log(`${name}: seed ${seed}; again with GRAPHCRED_SEED=${seed}`);
  return seed;
}

export interface Storm {
  readonly kills: number;
  readonly random: () => number;
  readonly env: Readonly<Record<string, string>>;
  /** The command lines to choose from. */
  readonly lines: readonly string[];
  /** Each process is killed at a random time, at most this many milliseconds after its start. */
  readonly longestMs: number;
}

/** Runs eight processes at once and kills each at a random time, unless it ends before. Returns the results of those that ended by themselves. */
export async function storm(options: Storm): Promise<(Result & { line: string })[]> {
  const { kills, random, env, lines, longestMs } = options;
  const finished: (Result & { line: string })[] = [];
  let killed = 0;
  const one = async () => {
    while (killed < kills) {
      const line = defined(lines[Math.trunc(random() * lines.length)]);
      const running = start(line.split(' '), env);
      const timer = setTimeout(() => running.child.kill('SIGKILL'), random() * longestMs);
      const { signal, ...result } = await running.ended;
      clearTimeout(timer);
      if (signal === 'SIGKILL') killed++;
      else finished.push({ ...result, line });
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
  return finished;
}

/** Returns the folders below this home in which graphcred stores files. */
export function foldersOf(home: string): { stateDir: string; configDir: string } {
  return {
    stateDir: path.join(home, '.local/state/graphcred'),
    configDir: path.join(home, '.config/graphcred'),
  };
}

function namesIn(folder: string): string[] {
  return fs.existsSync(folder) ? (fs.readdirSync(folder, { recursive: true }) as string[]) : [];
}

/** Returns the names of temporary files and locks. */
export function leftOver(home: string): string[] {
  const { stateDir, configDir } = foldersOf(home);
  return [...namesIn(stateDir), ...namesIn(configDir)].filter((name) => /\.tmp$|\.lock/.test(name));
}

/** Fails unless every record in this home can be read. */
export function expectReadable(home: string): void {
  const { stateDir } = foldersOf(home);
  for (const name of namesIn(stateDir)) {
    if (!name.endsWith('.json')) continue;
    const raw = JSON.parse(fs.readFileSync(path.join(stateDir, name), 'utf8'));
    if (!/^(token|secret|password)-/.test(name)) continue;
    const warn = (warning: string) => expect.fail(warning);
    expect(readEntry(stateDir, raw.store, raw.key, warn)?.record.key).toBe(raw.key);
  }
}
