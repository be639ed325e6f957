import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';

const MAX_BYTES = 64 * 1024;
const COMMAND_MS = 30_000;

/** One trailing line end is the editor's, not the credential's. */
function trimmed(text: string, from: string): Sensitive {
  const value = text.replace(/\r?\n$/, '');
  if (value === '')
    throw new GraphException('INPUT_REQUIRED', `There is nothing in ${from}.`, {
      hint: `put the credential there, on one line`,
    });
  if (/[\r\n\0]/.test(value)) {
    throw new GraphException('USAGE', `There is more than one line in ${from}.`, {
      hint: 'a credential is one line',
    });
  }
  return new Sensitive(value);
}

/** @throws GraphException INPUT_REQUIRED when it is empty */
export async function fromStdin(read: () => Promise<string>, flag: string): Promise<Sensitive> {
  return trimmed(await read(), `stdin (${flag})`);
}

/** @throws GraphException INPUT_REQUIRED when it cannot be read or is empty */
export function fromFile(file: string, label: string): Sensitive {
  let text: string;
  try {
    if (fs.statSync(file).size > MAX_BYTES) throw new Error('too large');
    text = fs.readFileSync(file, 'utf8');
  } catch {
    throw new GraphException('INPUT_REQUIRED', `The file named by ${label} cannot be read: ${file}`, {
      hint: 'check the path, the owner and the mode of the file',
    });
  }
  return trimmed(text, `the file named by ${label}`);
}

/**
 * Runs a program that prints a credential, without a shell, for at most 30 seconds.
 * @param say receives its stderr, redacted, when it fails
 * @throws GraphException INPUT_REQUIRED
 */
export async function fromCommand(
  command: readonly string[],
  label: string,
  options: { cwd: string; env: Readonly<Record<string, string | undefined>>; timeoutMs?: number },
): Promise<Sensitive> {
  const { spawn } = await import('node:child_process');
  const [program, ...args] = command as [string, ...string[]];
  const name = path.basename(program);
  const failed = (what: string, stderr = '') => {
    const words = redact(stderr);
    return new GraphException('INPUT_REQUIRED', `${label}: ${name} ${what}${words && `: ${words}`}`, {
      hint: `run it by hand to see what it says: ${name} …`,
    });
  };
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: options.env as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const outcome = await collect(child, options.timeoutMs ?? COMMAND_MS);
  if (outcome.error) throw failed(outcome.error.code === 'ENOENT' ? 'was not found' : 'could not be started');
  if (outcome.late) throw failed('gave no answer in 30 seconds and was stopped');
  if (outcome.status !== 0) throw failed(`ended with status ${outcome.status ?? 'unknown'}`, outcome.stderr);
  return trimmed(outcome.stdout, `the output of ${name} (${label})`);
}

interface Outcome {
  status: number | null;
  stdout: string;
  stderr: string;
  late: boolean;
  error?: NodeJS.ErrnoException;
}

function collect(child: ChildProcess, timeoutMs: number): Promise<Outcome> {
  return new Promise((resolve) => {
    const outcome: Outcome = { status: null, stdout: '', stderr: '', late: false };
    const kill = () => {
      try {
        // The whole group: a helper of the helper may hold the pipe open.
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        child.kill('SIGKILL');
      }
    };
    const timer = setTimeout(() => {
      outcome.late = true;
      kill();
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, timeoutMs);
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      outcome.stdout += text;
      if (outcome.stdout.length > MAX_BYTES) kill();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      outcome.stderr = (outcome.stderr + text).slice(0, 2000);
    });
    child.on('error', (error) => {
      clearTimeout(timer);
      resolve({ ...outcome, error });
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      resolve({ ...outcome, status });
    });
  });
}

/** Leaves plain words and hides everything long enough to be a credential. */
export function redact(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 300)
    .replace(/\S*[A-Za-z0-9+/=_~-]{16,}\S*/g, '[redacted]')
    .replace(/((?:password|secret|token|key)["']?\s*[:=]\s*)\S+/gi, '$1[redacted]');
}
