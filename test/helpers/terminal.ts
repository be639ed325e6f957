import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import xterm from '@xterm/headless';
import { onTestFinished } from 'vitest';
import { COMMAND } from './process.js';

const DRIVER = path.resolve('test/helpers/terminal.py');

/** The path of Python, which creates the terminals; undefined on a machine without it, where these tests cannot run. */
export const python = (process.env.PATH ?? '')
  .split(':')
  .map((folder) => path.join(folder, 'python3'))
  .find((file) => fs.existsSync(file));
if (!python) console.log('skipped: there is no python3 to make a terminal with');

export interface TerminalOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly columns?: number;
  /** Whether only stdin and stderr are a terminal, as in `$(graphcred token get)`. */
  readonly pipe?: boolean;
  /** Another program to run instead of graphcred, with its arguments. */
  readonly command?: readonly string[];
}

export interface Ended {
  /** The exit status, or minus the number of the signal that ended the process. */
  readonly status: number;
  /** The output in the pipe, if there is one. */
  readonly stdout: string;
  /** Everything on the screen, from the beginning. */
  readonly screen: string;
  /** Every byte that the program wrote to the terminal. */
  readonly bytes: string;
  /** Whether the terminal's settings are the same as before; undefined once the terminal is closed. */
  readonly restored: boolean | undefined;
  readonly cursorShown: boolean;
}

export interface Terminal {
  /** Resolves when the screen shows this text; rejects if the program ends before. */
  see(text: string | RegExp | ((screen: string) => boolean)): Promise<void>;
  type(keys: string): void;
  resize(columns: number): void;
  signal(name: NodeJS.Signals): void;
  /** Closes the terminal's window. */
  close(): void;
  screen(): string;
  /** Returns the screen. Lines that the terminal wrapped are joined again. */
  unbroken(): string;
  bytes(): string;
  readonly ended: Promise<Ended>;
}

/** The bytes that terminals send for these keys. */
export const KEYS = { ctrlC: '\x03', ctrlD: '\x04' } as const;

function isShown(text: string | RegExp | ((screen: string) => boolean), shown: string): boolean {
  if (typeof text === 'function') return text(shown);
  return typeof text === 'string' ? shown.includes(text) : text.test(shown);
}

/** Starts graphcred on a new terminal. A real terminal emulator draws its screen. */
export function onTerminal(argv: readonly string[], options: TerminalOptions): Terminal {
  const { env, cwd, columns = 100, pipe = false, command = COMMAND } = options;
  const rows = 40;
  const settings = JSON.stringify({ columns, rows, pipe });
  const child = spawn(python ?? 'python3', [DRIVER, settings, ...command, ...argv], {
    env: { PATH: process.env.PATH, TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(cwd !== undefined && { cwd }),
  });
  // When its own stdin ends, the driver ends its program.
  onTestFinished(() => {
    child.stdin.destroy();
  });
  child.stdin.on('error', () => {});
  const emulator = new xterm.Terminal({ cols: columns, rows, scrollback: 5000, allowProposedApi: true });
  let bytes = '';
  let stdout = '';
  let over = false;
  let watchers: (() => void)[] = [];
  const changed = () => {
    for (const watcher of watchers) watcher();
  };
  const screen = () => {
    const { active } = emulator.buffer;
    const lines = Array.from({ length: active.length }, (_, at) =>
      active.getLine(at)?.translateToString(true),
    );
    return lines.join('\n').trimEnd();
  };
  const unbroken = () => {
    const { active } = emulator.buffer;
    let text = '';
    for (let at = 0; at < active.length; at++) {
      const line = active.getLine(at);
      const goesOn = active.getLine(at + 1)?.isWrapped === true;
      text += `${line?.translateToString(!goesOn)}${goesOn ? '' : '\n'}`;
    }
    return text.trimEnd();
  };
  const send = (what: object) => child.stdin.write(`${JSON.stringify(what)}\n`);

  const ended = new Promise<Ended>((resolve, reject) => {
    let unread = '';
    let drawn = Promise.resolve();
    const hear = (line: string) => {
      const said = JSON.parse(line) as { end?: string; text?: string; ended?: number; restored?: boolean };
      const part = Buffer.from(said.text ?? '', 'base64');
      if (said.end === 'stdout') stdout += part.toString('utf8');
      else if (said.end === 'screen') {
        bytes += part.toString('latin1');
        drawn = drawn.then(() => new Promise<void>((then) => emulator.write(part, then))).then(changed);
      } else {
        void drawn.then(() => {
          over = true;
          changed();
          resolve({
            status: said.ended ?? -1,
            stdout,
            screen: screen(),
            bytes: Buffer.from(bytes, 'latin1').toString('utf8'),
            restored: said.restored ?? undefined,
            cursorShown: bytes.lastIndexOf('\x1b[?25h') >= bytes.lastIndexOf('\x1b[?25l'),
          });
        });
      }
    };
    child.once('error', reject);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      unread += text;
      const lines = unread.split('\n');
      unread = lines.pop() ?? '';
      lines.forEach(hear);
    });
  });

  return {
    ended,
    screen,
    unbroken,
    bytes: () => bytes,
    see: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const shown = screen();
          const found = isShown(text, shown);
          if (!found && !over) return;
          watchers = watchers.filter((watcher) => watcher !== look);
          if (found) resolve();
          else reject(new Error(`it ended without showing ${text}; the screen was:\n${shown}`));
        };
        watchers.push(look);
        look();
      }),
    type: (keys) => send({ type: keys }),
    resize: (wide) => {
      emulator.resize(wide, rows);
      send({ resize: [wide, rows] });
    },
    signal: (name) => send({ signal: name }),
    close: () => send({ close: true }),
  };
}
