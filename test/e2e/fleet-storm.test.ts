// Measures how many tokens a fleet mints when all jobs start at once, or when something breaks. The short form runs with the e2e tests;
// GRAPHCRED_DEEP=1 runs the full numbers. With GRAPHCRED_WRITE_DOCS=1 each row writes its figure into docs/dev/performance.md.
import fs from 'node:fs';
import os from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defined } from '../helpers/defined.js';
import { buildDriver } from '../helpers/driver.js';
import { DEEP } from '../helpers/property.js';
import { redisSkipReason, startCluster, startSentinels } from '../helpers/redis.js';
import { openRedis } from '../helpers/redis-store.js';
import { type FleetOptions, startFleet } from './fleet.js';
import type { JobEnd } from './fleet-machine.js';

const [JOBS, MACHINES] = DEEP ? [1000, 20] : [60, 4];
/** The numbers of jobs and machines in rows in which something breaks. */
const [FEW_JOBS, FEW_MACHINES] = DEEP ? [200, 10] : [24, 4];
const RUNS = DEEP ? 20 : 1;
/** One computer runs all machines and other tests too, so a wait may take this many times longer. */
const LOADED = 3;
const PAGE = 'docs/dev/performance.md';

let driver: Awaited<ReturnType<typeof buildDriver>>;
beforeAll(async () => {
  driver = await buildDriver('test/e2e/fleet-machine.ts');
});
afterAll(() => driver?.remove());

const fleetOf = (machines: number, more: Partial<FleetOptions> = {}) =>
  startFleet({ driver: driver.file, machines, ...more });

/** Returns the different tokens of the jobs. Fails unless every job has one. */
function tokensOf(ends: readonly JobEnd[]): string[] {
  const bad = ends.find(({ status, stdout }) => status !== 0 || stdout === '');
  expect(bad, bad?.stderr).toBeUndefined();
  return [...new Set(ends.map(({ stdout }) => stdout))];
}

/** More data than this Redis server may hold, and more than the buffers of its clients hold. */
const FLOOD = "for i = 1, 8000 do redis.call('SET', 'other:' .. i, string.rep('x', 4000)) end";

/** Deletes that data. Otherwise the next token would be evicted while its jobs still read it. */
const EBB = "for i = 1, 8000 do redis.call('DEL', 'other:' .. i) end";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts jobs that all wait for the same answer of the database. The database answers when the last one waits. Returns how they ended. */
async function allAtOnce(
  fleet: Awaited<ReturnType<typeof fleetOf>>,
  jobs: number,
  more: Readonly<Record<string, string>> = {},
): Promise<JobEnd[]> {
  fleet.database.hold();
  const running: Promise<JobEnd[]>[] = [];
  // The jobs do not all start in the same instant, because on one computer each of them would then take seconds to begin.
  const step = 5 * fleet.machines.length;
  for (let started = 0; started < jobs; started += step) {
    running.push(fleet.runAll(Math.min(step, jobs - started), 'token get', more));
    await fleet.looked(Math.min(started + step, jobs));
  }
  fleet.database.release();
  return (await Promise.all(running)).flat();
}

/** Starts one job that has the lock and waits for the database, and many jobs that wait for that lock. */
async function stormBefore(fleet: Awaited<ReturnType<typeof fleetOf>>, jobs: number, line = 'token get') {
  fleet.database.hold();
  const holder = defined(fleet.machines[0]).run(1, line);
  await fleet.database.matched(fleet.database.matches() + 1);
  const others = fleet.machines.slice(1);
  const waiting = others.map((machine) => machine.run(Math.ceil(jobs / others.length), line));
  await fleet.looked(1 + others.length * Math.ceil(jobs / others.length));
  return { holder, waiting: Promise.all(waiting).then((ends) => ends.flat()) };
}

/**
 * Lets something break down while all jobs wait for one answer of the database, and notes how many tokens are minted.
 * @param breakDown returns how many may be minted
 * @returns how the jobs ended, first the one that has the lock
 */
async function brokenDown(
  fleet: Awaited<ReturnType<typeof fleetOf>>,
  row: string,
  promised: string,
  breakDown: () => Promise<number>,
  more: (ends: readonly JobEnd[]) => string = () => '',
): Promise<JobEnd[]> {
  const { holder, waiting } = await stormBefore(fleet, FEW_JOBS);
  const bound = await breakDown();
  fleet.database.release();
  const ends = [...(await holder), ...(await waiting)];
  tokensOf(ends);
  const mints = fleet.database.matches();
  expect(mints).toBeLessThanOrEqual(bound);
  note(row, promised, `${many(FEW_JOBS, FEW_MACHINES)}: ${mints}${more(ends)}`);
  return ends;
}

describe.skipIf(redisSkipReason())('a storm', () => {
  test.each(['3.10.1', '4.1.2'])(
    'all jobs ask twice, first without a cached token: %s',
    async (serverVersion) => {
      const fleet = await fleetOf(MACHINES, { serverVersion });
      const cold = await allAtOnce(fleet, JOBS);
      expect(tokensOf(cold)).toHaveLength(1);
      expect(fleet.database.matches()).toBe(1);
      tokensOf(await fleet.runAll(JOBS));
      expect(fleet.database.matches()).toBe(1);
      note(`all at once, cold, ${serverVersion}`, '1 mint', `${many(JOBS, MACHINES)}: 1`);
      note(`all at once, warm, ${serverVersion}`, '0', `${many(JOBS, MACHINES)}: 0`);
    },
  );

  test('the holder of the lock is killed', async () => {
    let slowest = 0;
    let most = 0;
    for (let run = 0; run < RUNS; run++) {
      // There are few machines, so that the measured time is that of the lock and not that of a busy computer.
      const fleet = await fleetOf(4);
      const { holder, waiting } = await stormBefore(fleet, 24);
      const killedAt = Date.now();
      defined(fleet.machines[0]).kill();
      await holder;
      const next = fleet.database.matched(2).then(() => fleet.database.release());
      const ends = await waiting;
      await next;
      expect(tokensOf(ends)).toHaveLength(1);
      slowest = Math.max(slowest, Math.min(...ends.map(({ at }) => at)) - killedAt);
      most = Math.max(most, fleet.database.matches());
    }
    expect(most).toBeLessThanOrEqual(2);
    expect(slowest).toBeLessThanOrEqual(3500 * LOADED);
    note(
      'the holder of the lock is killed',
      '≤ 2 mints, next token in ≤ 3.5 s',
      `${many(24, 4)}, ${RUNS} ${RUNS === 1 ? 'run' : 'runs'}: ${most}, ${seconds(slowest)}`,
    );
  });

  test.each([500, 3000])('the Redis server is killed and starts again empty after %d ms', async (ms) => {
    const fleet = await fleetOf(FEW_MACHINES);
    const row = `the Redis server is killed, back empty after ${ms / 1000} s`;
    await brokenDown(fleet, row, ms < 1000 ? '≤ 2 mints' : '≤ machines + 1', async () => {
      const killedAt = Date.now();
      await fleet.redis.kill();
      await pause(ms);
      await fleet.redis.restart();
      // A connection is tried again after a second. A busy computer may not have started the server by then.
      return Date.now() - killedAt < 1000 ? 2 : FEW_MACHINES + 1;
    });
  });

  test('the Redis server is killed and never starts again', async () => {
    const fleet = await fleetOf(FEW_MACHINES);
    let killedAt = Number.NaN;
    const kill = async () => {
      killedAt = Date.now();
      await fleet.redis.kill();
      return FEW_MACHINES + 1;
    };
    await brokenDown(fleet, 'the Redis server is gone for good', '≤ machines + 1', kill, (ends) => {
      const slowest = Math.max(...ends.map(({ at }) => at)) - killedAt;
      expect(slowest).toBeLessThanOrEqual(7_000 * LOADED);
      return `, the last after ${seconds(slowest)} at a load of ${Math.round(os.loadavg()[0] ?? 0)}`;
    });
  });

  // A command is waited for five seconds; after that each machine mints for itself.
  test.each([
    [500, 1],
    [2000, 1],
    [8000, FEW_MACHINES + 1],
  ])('the Redis server is stopped for %d ms', async (ms, bound) => {
    const fleet = await fleetOf(FEW_MACHINES);
    const row = `the Redis server is stopped for ${ms / 1000} s`;
    await brokenDown(fleet, row, bound === 1 ? '1 mint' : '≤ machines + 1', async () => {
      fleet.redis.suspend();
      fleet.database.release();
      await pause(ms);
      fleet.redis.resume();
      return bound;
    });
  });

  test('Sentinels replace the Redis server', async () => {
    const { master, replica, url } = await startSentinels();
    const env = { GRAPHCRED_REDIS_URL: url, GRAPHCRED_REDIS_SENTINEL_MASTER: 'tokens' };
    const fleet = await fleetOf(FEW_MACHINES, { redis: master, env });
    await brokenDown(fleet, 'Sentinel failover', '≤ machines + 1', async () => {
      await master.kill();
      return FEW_MACHINES + 1;
    });
    await expect.poll(() => replica.cli('ROLE'), { timeout: 30_000 }).toMatch(/^master/);
    // Then the store is used again, by machines that have not been told that it is away.
    const { store } = openRedis(url, { sentinelMaster: 'tokens' });
    await store.check();
  });

  test('the node of a cluster that has the tokens is killed', async () => {
    const { nodes, url } = await startCluster();
    const fleet = await fleetOf(FEW_MACHINES, {
      redis: defined(nodes[0]),
      env: { GRAPHCRED_REDIS_URL: url },
    });
    await brokenDown(fleet, 'the node of a cluster with the tokens is killed', '≤ machines + 1', async () => {
      const sizes = await Promise.all(nodes.map((node) => node.cli('DBSIZE')));
      await defined(nodes.find((_, index) => sizes[index] !== '0')).kill();
      return FEW_MACHINES + 1;
    });
  });

  test('the machine of the holder is cut off from the Redis server', async () => {
    const fleet = await fleetOf(FEW_MACHINES);
    const [, ...others] = await brokenDown(fleet, 'the holder is cut off', '≤ 2 mints', async () => {
      defined(fleet.machines[0]).network.cut();
      // The lock expires after three seconds, and another machine asks the database too.
      await fleet.database.matched(2);
      return 2;
    });
    expect(tokensOf(others)).toHaveLength(1);
  });

  test('half of the machines are cut off from the Redis server', async () => {
    const fleet = await fleetOf(FEW_MACHINES);
    await brokenDown(fleet, 'half of the machines are cut off', '≤ 1 + machines cut off', async () => {
      const half = FEW_MACHINES / 2;
      for (const { network } of fleet.machines.slice(half)) network.cut();
      return 1 + half;
    });
  });

  test('clocks are an hour ahead or behind, and tokens live for half an hour', async () => {
    const hour = 3_600_000;
    const fleet = await fleetOf(FEW_MACHINES, { clockMs: (index) => defined([-hour, hour, 0][index % 3]) });
    const line = 'token get --lifetime 30m';
    expect(tokensOf(await fleet.runAll(FEW_JOBS, line))).toHaveLength(1);
    expect(tokensOf(await fleet.runAll(FEW_JOBS, line))).toHaveLength(1);
    expect(fleet.database.matches()).toBe(1);
    const [fresh] = tokensOf(await defined(fleet.machines[0]).run(1, `${line} --fresh`));
    expect(tokensOf(await fleet.runAll(FEW_JOBS, line))).toEqual([fresh]);
    expect(fleet.database.matches()).toBe(2);
    note(
      'clocks an hour off, both ways',
      '1 mint, 1 more with `--fresh`',
      `${many(FEW_JOBS, FEW_MACHINES)}: 1, 1`,
    );
  });

  test('the Redis server has no memory left and evicts keys (allkeys-lru)', async () => {
    const fleet = await fleetOf(FEW_MACHINES);
    const waves = DEEP ? 10 : 3;
    const { redis } = fleet;
    await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await redis.cli('CONFIG', 'SET', 'maxmemory', '24mb');
    for (let wave = 0; wave < waves; wave++) {
      expect(tokensOf(await allAtOnce(fleet, FEW_JOBS))).toHaveLength(1);
      expect(fleet.database.matches()).toBe(wave + 1);
      // Redis evicts entries from a random sample, so one round may miss the token.
      while ((await redis.cli('KEYS', 'graphcred:*:t:*')) !== '') await redis.cli('EVAL', FLOOD, '0');
      await redis.cli('EVAL', EBB, '0');
    }
    note(
      'evictions (`allkeys-lru`)',
      '1 mint for each token evicted',
      `${many(FEW_JOBS, FEW_MACHINES)}, ${waves} times evicted: ${waves}`,
    );
  });

  test('the secret is wrong', async () => {
    const fleet = await fleetOf(MACHINES);
    const wrong = {
      GRAPHCRED_SECRET: 'wrong0wrong0wrong0wrong0wrong0wr',
      GRAPHCRED_USERNAME: '',
      GRAPHCRED_PASSWORD: '',
    };
    const ends = await allAtOnce(fleet, JOBS, wrong);
    expect([...new Set(ends.map(({ status }) => status))]).toEqual([4]);
    expect(fleet.database.matches()).toBeLessThanOrEqual(3);
    note('a wrong secret', '≤ 3 attempts by all', `${many(JOBS, MACHINES)}: ${fleet.database.matches()}`);
  });

  // holds: C11.11
  test('machines that wait cost the Redis server one connection each, and a few commands a second', async () => {
    const fleet = await fleetOf(FEW_MACHINES);
    const measure = async () => {
      const info = await fleet.redis.cli('INFO');
      const number = (name: string) => Number(new RegExp(`${name}:(\\d+)`).exec(info)?.[1]);
      // One client and one command are those of this question.
      return {
        at: performance.now(),
        clients: number('connected_clients') - 1,
        connections: number('total_connections_received'),
        commands: number('total_commands_processed') - 1,
      };
    };
    const { holder, waiting } = await stormBefore(fleet, FEW_JOBS);
    const before = await measure();
    await pause(5000);
    const after = await measure();
    fleet.database.release();
    tokensOf([...(await holder), ...(await waiting)]);
    const perSecond = (1000 * (after.commands - before.commands)) / (after.at - before.at) / FEW_MACHINES;
    expect(after.clients).toBeLessThanOrEqual(FEW_MACHINES);
    expect(perSecond).toBeLessThan(8);
    const cold = await measure();
    tokensOf(await fleet.runAll(FEW_JOBS));
    const warm = await measure();
    const keys = (await fleet.redis.cli('KEYS', 'graphcred:*')).split('\n');
    const sizes = await Promise.all(keys.map((key) => fleet.redis.cli('MEMORY', 'USAGE', key)));
    const each = (from: number, to: number) => ((to - from) / FEW_JOBS).toFixed(1);
    console.log(
      `${FEW_MACHINES} waiting machines: ${after.clients} connections, ${perSecond.toFixed(1)} commands/s each;`,
      `a cached token: ${each(cold.connections, warm.connections)} connections, ${each(cold.commands, warm.commands)} commands a job;`,
      `memory of an identity: ${sizes.reduce((sum, size) => sum + Number(size), 0)} bytes in ${keys.length} keys`,
    );
  });
});

const figures = new Map<string, string>();

const many = (jobs: number, machines: number) => `${jobs.toLocaleString('en')} jobs on ${machines} machines`;
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

function note(row: string, promised: string, seen: string): void {
  console.log(`${row}: ${seen} (promised: ${promised})`);
  figures.set(row, `| ${row} | ${promised} | ${seen} |`);
}

/** Replaces the rows that were run, and leaves the other rows unchanged. */
afterAll(() => {
  if (process.env.GRAPHCRED_WRITE_DOCS !== '1') return;
  const page = fs.readFileSync(PAGE, 'utf8');
  const [, before = '', rows = '', after = ''] =
    /^([\s\S]*<!-- storm: [^\n]*-->\n\n\| [^\n]*\n\| -[^\n]*\n)([\s\S]*?)(\n<!-- end of storm -->[\s\S]*)$/.exec(
      page,
    ) ?? [];
  if (before === '') throw new Error(`${PAGE} has no marks for the storm.`);
  const lines = new Map(
    rows.split('\n').flatMap((line) => (line === '' ? [] : [[defined(line.split(' | ')[0]).slice(2), line]])),
  );
  for (const [row, line] of figures) lines.set(row, line);
  fs.writeFileSync(PAGE, `${before}${[...lines.values()].join('\n')}\n${after}`);
});
