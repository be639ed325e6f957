import path from 'node:path';

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

/** Returns the folders below this home in which graphcred stores files. */
export function foldersOf(home: string): { stateDir: string; configDir: string } {
  return {
    stateDir: path.join(home, '.local/state/graphcred'),
    configDir: path.join(home, '.config/graphcred'),
  };
}
