// Runs store operations in a process of its own: one job as JSON on stdin, one line of JSON on stdout.
import fs from 'node:fs';
import { runKeychainHelper } from '../../src/store/keychain/helper.js';
import { type Job, performSteps } from './store-steps.js';

async function main(): Promise<void> {
  if (process.argv[2] === '__keychain') return runKeychainHelper(process.stdin, process.stdout);
  const job: Job = JSON.parse(fs.readFileSync(0, 'utf8'));
  const say = (message: string) => fs.writeSync(2, `${message}\n`);
  const results = await performSteps(job, say, [process.execPath, process.argv[1] as string, '__keychain']);
  fs.writeSync(1, `${JSON.stringify(results)}\n`);
}

void main();
