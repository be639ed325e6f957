// What the command line is run with in the process of a test. No module of vitest is loaded here, so a bundle can use it.
import { isUtf8 } from 'node:buffer';
import path from 'node:path';
import { type Context, KEYCHAIN_CHILD } from '../../src/cli/context.js';
import { plainly } from '../../src/cli/output/plain.js';
import { GraphException } from '../../src/core/errors.js';
import { ownHome } from '../../src/run/places.js';

export interface Result {
  status: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** Standard output is the null device. */
  toNowhere?: boolean;
  env?: Record<string, string | undefined>;
  cwd?: string;
  stdin?: string;
  now?: () => number;
  /** Stops `graphcred sandbox` when it resolves. Without it only a signal would. */
  stopped?: () => Promise<NodeJS.Signals>;
  /** Whether stdout is a terminal. */
  terminal?: boolean;
  /** Whether stderr is a terminal. No person is there, so nothing is asked. */
  stderrTerminal?: boolean;
  /** Whether a person sits at the terminal: stdin and stderr are one. The answers are those of helpers/person.ts. */
  person?: boolean;
  /** The width of the terminals. */
  columns?: number;
  /** Whether the user has no home folder. */
  homeless?: boolean;
  /** The platform that the program takes itself to run on. */
  platform?: NodeJS.Platform;
  /** Is given what is written to stderr, while the command runs. */
  onStderr?: (text: string) => void;
  /** Whether the disk that stdout goes to is full. */
  fullDisk?: boolean;
}

/** Like the real function, this one reads no more than the limit, and each byte once. */
const readText = (input: string) => {
  let rest = input;
  return async (limits: { maxBytes: number }) => {
    const text = rest;
    rest = '';
    if (Buffer.byteLength(text) > limits.maxBytes)
      throw new GraphException('USAGE', 'There is more on stdin.', { hint: 'check what is written to it' });
    return Buffer.from(text);
  };
};

/** Returns the context of a command line, and what it writes. */
export function contextOf(
  home: string,
  argv: readonly string[],
  options: RunOptions,
): { ctx: Context; written: { stdout: string; stderr: string } } {
  const written = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr') => ({
    mustArrive: () => {
      if (name === 'stdout' && options.toNowhere)
        throw new GraphException('USAGE', 'The result cannot be printed to standard output.', {
          hint: 'send it to a file',
        });
    },
    isTTY: (name === 'stdout' ? options.terminal : options.stderrTerminal || options.person) === true,
    columns: options.columns,
    write: plainly((content) => {
      // Bytes that are no text become one character each.
      const bytes = Buffer.from(content as Uint8Array);
      const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
      if (name === 'stdout' && options.fullDisk)
        throw new GraphException('USAGE', 'The result cannot be written.', { hint: 'check the disk' });
      written[name] += text;
      if (name === 'stderr') options.onStderr?.(text);
    }),
  });
  const ctx: Context = {
    version: '0.0.0-source',
    argv,
    env: { PATH: process.env.PATH, ...options.env },
    cwd: options.cwd ?? home,
    ...ownHome(options.homeless ? undefined : home),
    platform: options.platform ?? process.platform,
    stdin: { isTTY: options.person === true, read: readText(options.stdin ?? '') },
    stdout: output('stdout'),
    stderr: output('stderr'),
    now: options.now ?? Date.now,
    startedAt: Date.now(),
    keychainHelper: { command: process.execPath, args: [path.resolve('bin/graphcred.js'), KEYCHAIN_CHILD] },
    stopped: options.stopped ?? (() => new Promise(() => {})),
  };
  return { ctx, written };
}
