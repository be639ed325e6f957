// Imitates a fleet: a database, a Redis server, and machines. Each machine has a home and a connection to the Redis server.

import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import readline from 'node:readline';
import { onTestFinished } from 'vitest';
import { settingsFor, temporaryHome } from '../helpers/cli.js';
import { type RedisServer, startRedis } from '../helpers/redis.js';
import { testSandbox } from '../helpers/sandbox.js';
import type { JobEnd, Order, Waiting } from './fleet-machine.js';
import { type Relay, startRelay } from './relay.js';

export interface Machine {
  /** Starts jobs, all at once, and returns how they ended. If the machine is killed, their status is -1. */
  run(jobs: number, line?: string, more?: Readonly<Record<string, string>>): Promise<JobEnd[]>;
  /** How many jobs have the lock of this machine, or wait for it. */
  waiting(): number;
  /** Kills the machine with SIGKILL. */
  kill(): void;
  /** The connection of this machine to the Redis server. */
  readonly network: Relay;
}

export interface Fleet {
  readonly machines: readonly Machine[];
  readonly redis: RedisServer;
  /** The connection to the database. It counts the requests for a token and can hold them back. */
  readonly database: Relay;
  /** Runs this many jobs, divided equally among all machines. */
  runAll(jobs: number, line?: string, more?: Readonly<Record<string, string>>): Promise<JobEnd[]>;
  /** Resolves when this many jobs have looked for a token and have the lock of their machine, or wait for it. */
  looked(count: number): Promise<void>;
}

export interface FleetOptions {
  /** The bundle of fleet-machine.ts. */
  readonly driver: string;
  readonly machines: number;
  readonly serverVersion?: string;
  /** How many ms the clock of a machine is ahead. */
  readonly clockMs?: (index: number) => number;
  readonly redis?: RedisServer;
  /** More variables for the machines. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { serverVersion = '3.10.1', clockMs = () => 0 } = options;
  const is4 = serverVersion.startsWith('4');
  const sandbox = await testSandbox({
    serverVersion,
  });
  const redis = options.redis ?? (await startRedis());
  const portOf = (url: string) => Number(new URL(url).port);
  const gsql = await startRelay(portOf(sandbox.gsqlUrl), is4 ? MINT_4 : MINT_3);
  const rest = is4 ? gsql : await startRelay(portOf(sandbox.restUrl), MINT_3);
  const gsqlUrl = `http://127.0.0.1:${gsql.port}`;
  const restUrl = is4 ? `${gsqlUrl}/restpp` : `http://127.0.0.1:${rest.port}`;
  const env = {
    ...settingsFor({ ...sandbox, gsqlUrl, restUrl }),
    // The time limit is long, because thousands of jobs on one computer are slow.
    GRAPHCRED_TIMEOUT: '120',
    GRAPHCRED_STORE: 'redis',
    GRAPHCRED_STORE_KEY: crypto.randomBytes(32).toString('base64'),
    ...options.env,
  };
  const machines = await Promise.all(
    Array.from({ length: options.machines }, async (_, index) => {
      const relay = await startRelay(redis.port);
      const own = { GRAPHCRED_REDIS_URL: `redis://127.0.0.1:${relay.port}`, ...env };
      return startMachine(options.driver, relay, own, clockMs(index));
    }),
  );
  return {
    machines,
    redis,
    database: rest,
    async runAll(jobs, line, more) {
      const ends = await Promise.all(
        machines.map((machine) => machine.run(Math.ceil(jobs / machines.length), line, more)),
      );
      return ends.flat();
    },
    async looked(count) {
      const deadline = Date.now() + LOOK_MS;
      for (;;) {
        const seen = machines.reduce((sum, machine) => sum + machine.waiting(), 0);
        if (seen >= count) return;
        // Jobs that got no answer in time have gone on without the server: this computer is too busy for so many jobs.
        if (Date.now() > deadline) throw new Error(`only ${seen} of ${count} jobs wait`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
  };
}

/** The time within which jobs have to start. */
const LOOK_MS = 60_000;
const MINT_3 = /^(POST|GET) \S*\/requesttoken/;
const MINT_4 = /^POST \S*\/gsql\/v1\/tokens /;

async function startMachine(
  driver: string,
  network: Relay,
  env: Readonly<Record<string, string>>,
  clockMs: number,
): Promise<Machine> {
  const home = temporaryHome();
  const child = spawn(process.execPath, [driver], {
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  child.stdin.on('error', () => {});
  const running = new Map<number, { left: number; ends: JobEnd[]; resolve: (ends: JobEnd[]) => void }>();
  let orders = 0;
  let waiting = 0;
  const ready = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    readline.createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'ready') {
        resolve();
        return;
      }
      const end = JSON.parse(line) as JobEnd | Waiting;
      if ('waiting' in end) {
        waiting = end.waiting;
        return;
      }
      const order = running.get(end.id);
      order?.ends.push(end);
      if (order && --order.left === 0) order.resolve(order.ends);
    });
    child.once('exit', () => {
      const killed = { status: -1, stdout: '', stderr: 'the machine was killed', at: Date.now() };
      for (const [id, { left, ends, resolve: end }] of running)
        end([...ends, ...Array.from({ length: left }, () => ({ id, ...killed }))]);
    });
  });
  await ready;
  return {
    network,
    waiting: () => waiting,
    kill: () => void child.kill('SIGKILL'),
    run(jobs, line = 'token get', more = {}) {
      const id = orders++;
      const order: Order = { id, jobs, argv: line.split(' '), env: { ...env, ...more }, clockMs };
      return new Promise((resolve) => {
        running.set(id, { left: jobs, ends: [], resolve });
        child.stdin.write(`${JSON.stringify(order)}\n`);
      });
    },
  };
}
