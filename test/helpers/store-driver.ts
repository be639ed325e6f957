// Runs store operations in a process of its own: one job as JSON on stdin, one line of JSON on stdout.
import fs from 'node:fs';
import { GraphException } from '../../src/core/errors.js';
import { Sensitive } from '../../src/core/sensitive.js';
import { probeKeychain } from '../../src/store/dbus-probe.js';
import { runKeychainChild } from '../../src/store/keychain-child.js';
import { openStore } from '../../src/store/open.js';
import type { StoreName, StoreRecord } from '../../src/store/store.js';

export type Step =
  | { do: 'write'; record: StoreRecord; value: string }
  | { do: 'read' | 'remove' | 'find'; key: string }
  | { do: 'list' };

export interface Job {
  store: StoreName | 'probe';
  stateDir: string;
  configDir: string;
  mayPrompt?: boolean;
  /** Takes the path of another system. Default: this one. */
  platform?: NodeJS.Platform;
  /** Program and arguments instead of this driver's own keychain child. */
  child?: string[];
  split?: boolean;
  promptMs?: number;
  answerMs?: number;
  steps: Step[];
}

export type Result = { value: unknown } | { code: string; message: string; hint?: string | undefined };

async function main(): Promise<void> {
  if (process.argv[2] === '__keychain') return runKeychainChild(process.stdin, process.stdout);
  const job: Job = JSON.parse(fs.readFileSync(0, 'utf8'));
  const results: Result[] = [];
  if (job.store === 'probe') {
    results.push({ value: await probeKeychain({ env: process.env }) });
  } else {
    const say = (message: string) => fs.writeSync(2, `${message}\n`);
    const { mayPrompt = false, platform = process.platform, split, promptMs, answerMs } = job;
    const [command, ...args] = job.child ?? [process.execPath, process.argv[1]!, '__keychain'];
    const store = await openStore(job.store, {
      stateDir: job.stateDir,
      configDir: job.configDir,
      warn: say,
      keychain: {
        platform,
        env: process.env,
        mayPrompt,
        child: { command: command!, args },
        notify: say,
        ...(split !== undefined && { split }),
        ...(promptMs !== undefined && { promptMs }),
        ...(answerMs !== undefined && { answerMs }),
      },
    });
    for (const step of job.steps) results.push(await perform(store, step));
  }
  fs.writeSync(1, `${JSON.stringify(results)}\n`);
}

async function perform(store: Awaited<ReturnType<typeof openStore>>, step: Step): Promise<Result> {
  try {
    switch (step.do) {
      case 'write':
        await store.write(step.record, new Sensitive(step.value));
        return { value: true };
      case 'read': {
        const record = store.find(step.key);
        return { value: record && (await store.read(record))?.reveal() };
      }
      case 'find':
        return { value: store.find(step.key) };
      case 'remove':
        return { value: await store.remove(step.key) };
      case 'list':
        return { value: store.list() };
    }
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
    return { code: error.code, message: error.message, hint: error.hint };
  }
}

void main();
