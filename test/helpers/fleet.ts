// A fleet for storms: a database, a Redis server, and machines that each have a home, a way to the Redis server of their
// own, and where this computer allows it a network namespace of their own.
import { execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import readline from 'node:readline';
import { onTestFinished } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.js';
import { temporaryHome } from './cli.js';
import type { JobEnd, Order } from './fleet-machine.js';
import { type RedisServer, startRedis } from './redis.js';
import { type Relay, startRelay } from './relay.js';

export interface Machine {
  /** Starts jobs, all at once; their ends. A machine that was killed ends them with status -1. */
  run(jobs: number, line?: string, more?: Readonly<Record<string, string>>): Promise<JobEnd[]>;
  /** Ends it with SIGKILL. */
  kill(): void;
  /** Its way to the Redis server. */
  readonly network: Relay;
}

export interface Fleet {
  readonly machines: readonly Machine[];
  readonly redis: RedisServer;
  /** What passes to the database; it counts and can hold back the requests for a token. */
  readonly database: Relay;
  readonly env: Readonly<Record<string, string>>;
  readonly storeKey: Buffer;
  /** Runs so many jobs, in equal parts on all machines. */
  runAll(jobs: number, line?: string, more?: Readonly<Record<string, string>>): Promise<JobEnd[]>;
  /** Resolves when so many jobs have looked at the Redis server, and are still connected. */
  looked(count: number): Promise<void>;
  /** Whether the database takes this token. */
  accepts(token: string): Promise<boolean>;
}

export interface FleetOptions {
  /** The bundle of fleet-machine.ts. */
  readonly driver: string;
  readonly machines: number;
  readonly serverVersion?: string;
  /** A network namespace for each machine. */
  readonly namespaces?: boolean;
  /** How far the clock of a machine is ahead, in ms. */
  readonly clockMs?: (index: number) => number;
  readonly redis?: RedisServer;
  /** What machines are given beside what all have. */
  readonly env?: Readonly<Record<string, string>>;
  readonly sandbox?: Parameters<typeof startSandbox>[0];
}

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { serverVersion = '3.10.1', clockMs = () => 0 } = options;
  const is4 = serverVersion.startsWith('4');
  const sandbox = await startSandbox({
    serverVersion,
    gsqlPort: 0,
    ...(!is4 && { restPort: 0 }),
    ...options.sandbox,
  });
  onTestFinished(() => sandbox.close());
  const redis = options.redis ?? (await startRedis({ args: ['--rdbcompression', 'no'] }));
  const network = options.namespaces ? makeNetwork(options.machines) : undefined;
  const host = network?.host ?? '127.0.0.1';
  const portOf = (url: string) => Number(new URL(url).port);
  const gsql = await startRelay(portOf(sandbox.gsqlUrl), { host, pattern: is4 ? MINT_4 : MINT_3 });
  const rest = is4 ? gsql : await startRelay(portOf(sandbox.restUrl), { host, pattern: MINT_3 });
  const gsqlUrl = `http://${host}:${gsql.port}`;
  const storeKey = crypto.randomBytes(32);
  const env = {
    GRAPHCRED_REST_URL: is4 ? `${gsqlUrl}/restpp` : `http://${host}:${rest.port}`,
    GRAPHCRED_GSQL_URL: gsqlUrl,
    GRAPHCRED_GRAPH: sandbox.graph,
    GRAPHCRED_USERNAME: sandbox.username,
    GRAPHCRED_PASSWORD: sandbox.password,
    // Thousands of jobs on one computer are slow by themselves.
    GRAPHCRED_TIMEOUT: '120',
    GRAPHCRED_STORE: 'redis',
    GRAPHCRED_STORE_KEY: storeKey.toString('base64'),
    ...options.env,
  };
  const machines = await Promise.all(
    Array.from({ length: options.machines }, async (_, index) => {
      const relay = await startRelay(redis.port, { host });
      const own = { GRAPHCRED_REDIS_URL: `redis://${host}:${relay.port}`, ...env };
      return startMachine(options.driver, relay, own, clockMs(index), network?.prefixes[index] ?? []);
    }),
  );
  return {
    machines,
    redis,
    database: rest,
    env,
    storeKey,
    async runAll(jobs, line, more) {
      const ends = await Promise.all(
        machines.map((machine) => machine.run(Math.ceil(jobs / machines.length), line, more)),
      );
      return ends.flat();
    },
    async looked(count) {
      const deadline = Date.now() + LOOK_MS;
      for (;;) {
        // Whom the server has answered shows a command of the store as its last one.
        const clients = await redis.cli('CLIENT', 'LIST');
        const seen = clients.match(/ cmd=(mget|pttl|get|eval) /g)?.length ?? 0;
        if (seen >= count) return;
        // Jobs that were not answered in time have gone on without the server: this computer is too busy for so many.
        if (Date.now() > deadline) throw new Error(`only ${seen} of ${count} jobs wait for the Redis server`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
    async accepts(token) {
      const reply = await fetch(`${sandbox.restUrl}/echo`, {
        headers: { authorization: `Bearer ${token.trim()}` },
      });
      return reply.status === 200;
    },
  };
}

/** Time for jobs to start in. */
const LOOK_MS = 60_000;
const MINT_3 = /^(POST|GET) \S*\/requesttoken/;
const MINT_4 = /^POST \S*\/gsql\/v1\/tokens /;

async function startMachine(
  driver: string,
  network: Relay,
  env: Readonly<Record<string, string>>,
  clockMs: number,
  prefix: readonly string[],
): Promise<Machine> {
  const [command = '', ...args] = [...prefix, process.execPath, driver];
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: temporaryHome() },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  child.stdin.on('error', () => {});
  const running = new Map<number, { left: number; ends: JobEnd[]; resolve: (ends: JobEnd[]) => void }>();
  let orders = 0;
  const ready = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    readline.createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'ready') {
        resolve();
        return;
      }
      const end = JSON.parse(line) as JobEnd;
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

/** Why machines have no network namespaces here; undefined when they can have them. */
export function namespaceSkipReason(): string | undefined {
  const name = `gctry${process.pid}`;
  try {
    execFileSync('ip', ['netns', 'add', name], { stdio: 'ignore' });
    execFileSync('ip', ['netns', 'exec', name, 'true'], { stdio: 'ignore' });
    execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'network namespaces cannot be made here: that takes `ip` and root';
  }
}

/** A bridge, and namespaces on it, all gone with the test. */
function makeNetwork(count: number): { host: string; prefixes: string[][] } {
  const ip = (line: string) => execFileSync('ip', line.split(' '), { stdio: 'pipe' });
  // Interface names have at most 15 letters.
  const id = (process.pid % 100_000).toString(36);
  const bridge = `gcb${id}`;
  const net = `10.${200 + (process.pid % 50)}.${process.pid % 250}`;
  const names = Array.from({ length: count }, (_, index) => `gcn${id}x${index}`);
  onTestFinished(() => {
    for (const line of [...names.map((name) => `netns del ${name}`), `link del ${bridge}`]) {
      try {
        ip(line);
      } catch {
        // It was not made.
      }
    }
  });
  ip(`link add ${bridge} type bridge`);
  ip(`addr add ${net}.1/24 dev ${bridge}`);
  ip(`link set ${bridge} up`);
  for (const [index, name] of names.entries()) {
    ip(`netns add ${name}`);
    ip(`link add gcv${id}x${index} type veth peer name eth0 netns ${name}`);
    ip(`link set gcv${id}x${index} master ${bridge} up`);
    ip(`-n ${name} addr add ${net}.${index + 2}/24 dev eth0`);
    ip(`-n ${name} link set eth0 up`);
    ip(`-n ${name} link set lo up`);
  }
  return { host: `${net}.1`, prefixes: names.map((name) => ['ip', 'netns', 'exec', name]) };
}
