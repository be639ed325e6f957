import fs from 'node:fs';
import { GraphException } from '../core/errors.js';
import { refuseCredentials } from './argv.js';
import { COMPLETE, type Context, KEYCHAIN_CHILD, type Output } from './context.js';
import { fail } from './fail.js';
import { type Parsed, parseQuickly } from './fast.js';
import { createReport } from './output.js';
import { TOKEN_GET } from './token-get.js';

declare const __VERSION__: string;
/** Put in by the build; tests run the sources. */
export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-source';

/** Runs one command line and returns the exit status. Everything it touches comes in through `ctx`. */
export async function main(ctx: Context, report = createReport(ctx)): Promise<number> {
  try {
    refuseCredentials(ctx.argv);
    if (ctx.argv.length === 1 && ctx.argv[0] === '--version') {
      ctx.stdout.write(`${versionText(ctx)}\n`);
      return 0;
    }
    if (ctx.argv[0] === COMPLETE) {
      await (await import('./complete.js')).complete(ctx, ctx.argv.slice(1));
      return 0;
    }
    const quick = quickly(ctx.argv);
    if (quick) {
      const { run } = await import('./commands/token/get.js');
      await run({
        ctx,
        report,
        ...quick,
        get spec() {
          return TOKEN_GET;
        },
      });
      return 0;
    }
    const chosen = await (await import('./program.js')).parseCommandLine(ctx, versionText(ctx));
    if (chosen === undefined) return 0;
    const { run } = await chosen.spec.load();
    return (await run({ ctx, report, ...chosen })) ?? 0;
  } catch (error) {
    return fail(error, report);
  }
}

/** The command that stands in loops, without commander where that is beyond doubt. */
function quickly([group, command, ...words]: readonly string[]): Parsed | undefined {
  if (group !== 'token' || command !== 'get') return undefined;
  return words.length === 0 ? { args: [], flags: {} } : parseQuickly(TOKEN_GET, words);
}

function versionText({ build }: Context): string {
  return build === undefined ? VERSION : `${VERSION}\n${build}`;
}

/** The bin. As a standalone executable, which is a program of its own and needs no script, it says so by `build`. */
export async function run(build?: string): Promise<void> {
  if (process.argv[2] === KEYCHAIN_CHILD) {
    const { runKeychainChild } = await import('../store/keychain-child.js');
    return runKeychainChild(process.stdin, process.stdout);
  }
  const ctx = realContext(build);
  const report = createReport(ctx);
  // What no command could catch. Node would print the text of the error, and the line of code beside it.
  process.on('uncaughtException', (error) => process.exit(fail(error, report)));
  // Everything is written by now (see writeAll), and whatever is still open here is of no use to anyone.
  process.exit(await main(ctx, report));
}

function realContext(build: string | undefined): Context {
  const startedAt = Date.now() - process.uptime() * 1000;
  return {
    argv: process.argv.slice(2),
    env: process.env,
    get cwd() {
      return workingFolder();
    },
    home: process.env.HOME || process.getBuiltinModule('node:os').homedir(),
    platform: process.platform,
    uid: process.getuid?.(),
    pid: process.pid,
    stdin: {
      get isTTY() {
        return isTerminal(0);
      },
      read: readStdin,
    },
    stdout: output(1),
    stderr: output(2),
    now: Date.now,
    startedAt,
    self: { command: process.execPath, args: build === undefined ? [process.argv[1] as string] : [] },
    ...(build !== undefined && { build }),
    stopped: () =>
      new Promise((resolve) => {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
      }),
  };
}

/** @throws GraphException USAGE when it has been removed under the shell that is in it */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    throw new GraphException('USAGE', 'The folder this was started in is gone.', {
      hint: 'go to one that exists, then run the command again: cd',
    });
  }
}

function isTerminal(fd: number): boolean {
  // Not process.stdout.isTTY: making that stream costs as much as reading a token, and so does node:tty.
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isCharacterDevice() || isNullDevice(stat.rdev)) return false;
    return process.getBuiltinModule('node:tty').isatty(fd);
  } catch {
    // A descriptor that was closed is nobody's terminal.
    return false;
  }
}

/** `/dev/null` and its kin, where a script's stdin so often comes from: major number 1 on Linux. */
function isNullDevice(rdev: number): boolean {
  return process.platform === 'linux' && rdev >> 8 === 1;
}

function output(fd: number): Output {
  return {
    get isTTY() {
      return isTerminal(fd);
    },
    get columns() {
      return isTerminal(fd) ? (fd === 1 ? process.stdout : process.stderr).columns : undefined;
    },
    write: (text) => writeAll(fd, text),
  };
}

/** Writes all of it, now: nothing is cut off when the process ends, and a reader that has left is no error. */
function writeAll(fd: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(fd, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Nobody can be told that standard error takes nothing.
      if (code === 'EPIPE' || (code !== 'EAGAIN' && fd === 2)) return;
      if (code !== 'EAGAIN') {
        throw new GraphException('USAGE', `The result cannot be written to standard output (${code}).`, {
          hint: 'if it goes to a file, look at the room on that disk',
        });
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

async function readStdin(): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of process.stdin) {
    parts.push(part as Buffer);
    size += (part as Buffer).length;
    if (size > 1_000_000) break;
  }
  return Buffer.concat(parts).toString('utf8');
}
