import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { defined } from './defined.js';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/**
 * Bundles a TypeScript file into plain CommonJS, so that tests can run it in processes of their own. It lies
 * below `node_modules/`, because it requires the native keychain module from there.
 */
export async function buildDriver(entry: string): Promise<{ file: string; remove(): void }> {
  const cache = path.join(root, 'node_modules/.cache');
  fs.mkdirSync(cache, { recursive: true });
  const dir = fs.mkdtempSync(path.join(cache, 'graphcred-driver-'));
  const bundle = await rolldown({ input: path.resolve(root, entry), platform: 'node', external: ['keytar'] });
  await bundle.write({
    format: 'cjs',
    dir,
    entryFileNames: 'driver.cjs',
    chunkFileNames: '[name]-[hash].cjs',
  });
  await bundle.close();
  return {
    file: path.join(dir, 'driver.cjs'),
    remove: () => fs.rmSync(dir, { recursive: true, force: true }),
  };
}

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The duration of the whole process in ms. */
  readonly ms: number;
}

/** Runs a program to its end, with exactly this environment. */
export async function run(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  input = '',
): Promise<Ended> {
  const start = performance.now();
  const child = spawn(defined(command[0]), command.slice(1), { env, stdio: 'pipe' });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  child.stdin.on('error', () => {}).end(input);
  const [status, signal] = await once(child, 'close');
  return { stdout, stderr, status, signal, ms: performance.now() - start };
}

/** Creates a home folder for the processes of a test, without a session bus. */
export function makeHome(): { home: string; env: Record<string, string>; remove(): void } {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred-home-'));
  const env = { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: path.join(home, 'tmp') };
  fs.mkdirSync(env.TMPDIR);
  return { home, env, remove: () => fs.rmSync(home, { recursive: true, force: true }) };
}
