// Imitates one machine of a fleet: a process that runs many jobs at once, each as if it were a process of its own. It reads orders from stdin, one
// JSON document a line, and answers each with one line for each job that has ended.
import { AsyncLocalStorage } from 'node:async_hooks';
import fs from 'node:fs';
import readline from 'node:readline';
import { main } from '../../src/cli/main.js';
import { contextOf } from '../helpers/context.js';

export interface Order {
  readonly id: number;
  readonly jobs: number;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** How many ms the clock of this machine is ahead. */
  readonly clockMs: number;
}

export interface JobEnd {
  readonly id: number;
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Milliseconds since 1970, by the correct clock. */
  readonly at: number;
}

/** How many jobs have the lock of this machine, or wait for it. It is written whenever it changes. */
export interface Waiting {
  readonly waiting: number;
}

const write = (line: JobEnd | Waiting) => process.stdout.write(`${JSON.stringify(line)}\n`);

const currentJob = new AsyncLocalStorage<object>();
const waiting = new Set<object>();
const { openSync } = fs;
// A job that waits for the lock leaves no trace but its attempts to create the lock's file.
fs.openSync = (file, ...rest) => {
  const job = currentJob.getStore();
  if (job !== undefined && !waiting.has(job) && /token-[^/]*\.lock$/.test(String(file)))
    write({ waiting: waiting.add(job).size });
  return openSync(file, ...rest);
};

async function runJob({ id, argv, env, clockMs }: Order): Promise<void> {
  const now = () => Date.now() + clockMs;
  const { ctx, written } = contextOf(process.env.HOME as string, argv, { env, now });
  const status = await currentJob.run(ctx, () => main({ ...ctx, startedAt: now() }));
  if (waiting.delete(ctx)) write({ waiting: waiting.size });
  write({ id, status, ...written, at: Date.now() });
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const order = JSON.parse(line) as Order;
  for (let index = 0; index < order.jobs; index++) void runJob(order);
});
process.stdin.on('end', () => process.exit());
process.stdout.write('ready\n');
