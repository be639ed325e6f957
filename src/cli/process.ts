import { fstatSync, statfsSync, statSync, writeSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { GraphException, usageError } from '../core/errors.js';
import { closeDebugger, ENDING } from '../files/signals.js';
import { ownHome } from '../run/places.js';
import { type Context, KEYCHAIN_CHILD, type Output } from './context.js';
import { main } from './main.js';
import { plainly } from './output/plain.js';
import { createReport, fail } from './output/report.js';
import { endWithTerminal } from './output/signals.js';

declare const __VERSION__: string;

/** Runs the program. @param build identifies the standalone executable, which runs without a script */
export async function run(build?: string): Promise<void> {
  if (process.argv[2] === KEYCHAIN_CHILD) {
    const { runKeychainHelper } = await import('../store/keychain/helper.js');
    return runKeychainHelper(process.stdin, process.stdout);
  }
  const ctx = realContext(build);
  const report = createReport(ctx);
  // Node would print the text of an error that no command caught, which may hold a credential.
  process.on('uncaughtException', (error) => process.exit(fail(error, report)));
  // All output is already written (see writeAll), so the process need not wait for what is still open.
  process.exit(await main(ctx, report));
}

function realContext(build: string | undefined): Context {
  return {
    argv: process.argv.slice(2),
    env: process.env,
    get cwd() {
      try {
        return process.cwd();
      } catch {
        const hint = 'go to a directory that exists (cd), then run the command again';
        throw usageError('The current directory no longer exists.', hint);
      }
    },
    ...ownHome(homeFolder()),
    platform: process.platform,
    stdin: {
      get isTTY() {
        return isTerminal(0);
      },
      read: readStdin,
    },
    stdout: output(1),
    stderr: output(2),
    now: Date.now,
    startedAt: Date.now() - process.uptime() * 1000,
    keychainHelper: {
      command: process.execPath,
      args: build === undefined ? [process.argv[1] as string, KEYCHAIN_CHILD] : [KEYCHAIN_CHILD],
    },
    version: [__VERSION__, build].join('\n').trimEnd(),
    stopped: () =>
      new Promise((resolve) => {
        endWithTerminal();
        closeDebugger();
        for (const signal of ENDING) process.once(signal, resolve);
      }),
  };
}

function isTerminal(fd: number): boolean {
  // To create process.stdout, or to load node:tty, takes as long as to read a token.
  try {
    const stat = fstatSync(fd);
    // In scripts stdin is often /dev/null or a similar device, which on Linux has the major number 1.
    const isMemory = process.platform === 'linux' && stat.rdev >> 8 === 1;
    if (!stat.isCharacterDevice() || isMemory) return false;
    return process.getBuiltinModule('node:tty').isatty(fd);
  } catch {
    // A closed file descriptor is not a terminal.
    return false;
  }
}

/** Looks whether what is written to a device or a file would be lost: nobody reads the one, and the other may be full. */
function whyLost(fd: number): string | undefined {
  try {
    const stat = fstatSync(fd);
    // On Windows all devices have one number, and those of a program are its console and the null device.
    if (process.platform === 'win32')
      return stat.isCharacterDevice() && !isTerminal(fd) ? 'it is the null device' : undefined;
    // Node opens the null device in place of a closed descriptor.
    for (const device of ['/dev/null', '/dev/full'])
      if (stat.rdev !== 0 && stat.rdev === statSync(device, { throwIfNoEntry: false })?.rdev)
        return `it is closed, or ${device}`;
    return stat.isFile() && statfsSync(`/dev/fd/${fd}`).bavail === 0 ? 'its disk is full' : undefined;
  } catch {
    return undefined;
  }
}

function output(fd: number): Output {
  let mustArrive = false;
  return {
    get isTTY() {
      return isTerminal(fd);
    },
    get columns() {
      return isTerminal(fd) ? (fd === 1 ? process.stdout : process.stderr).columns || undefined : undefined;
    },
    mustArrive: () => {
      mustArrive = true;
      const why = whyLost(fd);
      const lost = `The result cannot be printed to standard output: ${why}.`;
      const hint = 'nothing was changed; print to a terminal, a program, or a file on a disk with space';
      if (why) throw usageError(lost, hint);
    },
    write: plainly((content) => writeAll(fd, content, mustArrive)),
  };
}

/** Writes synchronously, so that nothing is cut off when the process ends. */
function writeAll(fd: number, content: string | Uint8Array, mustArrive: boolean): void {
  let rest = typeof content === 'string' ? Buffer.from(content) : content;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
        continue;
      }
      // An error on stderr cannot be reported anywhere.
      if (fd === 2 || (code === 'EPIPE' && !mustArrive)) return;
      const why =
        code === 'EPIPE' ? 'the program that reads it has ended' : 'check the free space on that disk';
      throw usageError(`The result cannot be written to standard output (${code}).`, why);
    }
  }
}

async function readStdin({ maxBytes, timeoutMs }: { maxBytes: number; timeoutMs: number }): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  const late = new GraphException('TIMEOUT', `Standard input did not end within ${timeoutMs / 1000} s.`, {
    hint: 'end the program that writes to it, or allow more time with --timeout',
  });
  const timer = setTimeout(() => process.stdin.destroy(late), timeoutMs);
  try {
    for await (const part of process.stdin) {
      parts.push(part as Buffer);
      size += (part as Buffer).length;
      if (size > maxBytes)
        throw usageError(`Standard input exceeds ${maxBytes} bytes.`, 'check what is written to it');
    }
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(parts);
}

/** Returns `HOME` if it is an absolute path, else the home folder that the system has for this user. */
function homeFolder(): string | undefined {
  const { HOME } = process.env;
  if (process.platform !== 'win32' && HOME !== undefined && isAbsolute(HOME)) return HOME;
  const os = process.getBuiltinModule('node:os');
  try {
    const home = process.platform === 'win32' ? os.homedir() : os.userInfo().homedir;
    return isAbsolute(home) ? home : undefined;
  } catch {
    // The user has no entry in the system's list, as in many containers.
    return undefined;
  }
}
