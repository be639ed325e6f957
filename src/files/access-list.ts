import fs from 'node:fs';
import path from 'node:path';
import { shellWord } from './shell-word.js';

/** The most that others may do to a file. */
type Access = 'none' | 'read' | 'write';

const SYSTEM = 'S-1-5-18';
const ADMINISTRATORS = 'S-1-5-32-544';
const TRUSTED_INSTALLER = 'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464';
/** Whom Windows trusts with every file, as other systems do root: by number and by their short names. */
const TRUSTED = [SYSTEM, 'SY', ADMINISTRATORS, 'BA', 'LA', TRUSTED_INSTALLER];

const [DATA_READ, DATA_WRITE, APPEND, DELETE_CHILD] = [0x1, 0x2, 0x4, 0x40];
const [DELETE, CHANGE_LIST, CHANGE_OWNER] = [0x1_0000, 0x4_0000, 0x8_0000];
const [ALL, WRITE, READ] = [0x1000_0000, 0x4000_0000, 0x8000_0000];
const CHANGES = DATA_WRITE | APPEND | DELETE_CHILD | DELETE | CHANGE_LIST | CHANGE_OWNER | ALL | WRITE;
const READS = DATA_READ | ALL | READ;
/** The short names of the rights that read a file, and of those that do nothing to it. All others may change it. */
const READING = ['GR', 'FR', 'CC'];
const HARMLESS = ['GX', 'FX', 'SW', 'RP', 'WP', 'LO', 'CR', 'RC'];

/** Returns what an access list of Windows, in its text form (SDDL), lets others than this user do. */
export function accessOfOthers(list: string, ownSid: string): Access {
  if (list.includes('NO_ACCESS_CONTROL')) return 'write';
  let rights = 0;
  for (const [, kind = '', flags = '', text = '', sid = ''] of list.matchAll(
    /\((\w+);(\w*);(\w*);[^;]*;[^;]*;([\w-]+)/g,
  )) {
    // An entry that is only inherited is about other files.
    const applies = /^(?:A|OA|XA|ZA)$/.test(kind) && !flags.match(/../g)?.includes('IO');
    // The owner's rights are this user's: whoever owns a file can change its list anyway.
    if (applies && ![...TRUSTED, 'OW', 'S-1-3-4', ownSid].includes(sid)) rights |= maskOf(text);
  }
  return (rights & CHANGES) !== 0 ? 'write' : (rights & READS) !== 0 ? 'read' : 'none';
}

function maskOf(text: string): number {
  if (/^\d/.test(text)) return Number(text);
  const names = text.match(/../g) ?? [];
  if (names.some((name) => !READING.includes(name) && !HARMLESS.includes(name))) return CHANGES;
  return names.some((name) => READING.includes(name)) ? READS : 0;
}

/**
 * Returns what others may do to a file on Windows; undefined on other systems, and where nothing answers, such as on a
 * drive without access lists.
 */
export function askAccess(file: string): Access | undefined {
  if (process.platform !== 'win32') return undefined;
  const { tmpdir } = process.getBuiltinModule('node:os');
  const saved = path.join(tmpdir(), `graphcred-${process.pid}-${Math.random().toString(36).slice(2)}`);
  try {
    runTool('icacls.exe', [file, '/save', saved]);
    const list = /^D:.*/m.exec(fs.readFileSync(saved, 'utf16le'))?.[0];
    const sid = ownSid();
    return list === undefined || sid === undefined ? undefined : accessOfOthers(list, sid);
  } catch {
    return undefined;
  } finally {
    fs.rmSync(saved, { force: true });
  }
}

/**
 * Returns the most that other users may do to a file: by its mode, and on Windows by its access list, but for files in
 * the user's home folder, in which Windows keeps others out: asking takes two processes.
 */
export function accessOf(file: string, mode: number, uid: number | undefined): Access {
  if (uid !== undefined) return (mode & 0o022) !== 0 ? 'write' : (mode & 0o044) !== 0 ? 'read' : 'none';
  return (process.platform === 'win32' && !isInHome(file) && askAccess(file)) || 'none';
}

export function isInHome(file: string): boolean {
  const home = process.getBuiltinModule('node:os').homedir();
  try {
    const relative = path.relative(fs.realpathSync.native(home), fs.realpathSync.native(file));
    return !relative.startsWith('..') && !path.isAbsolute(relative);
  } catch {
    return false;
  }
}

/**
 * Leaves a file or folder of Windows to this user, SYSTEM and the administrators.
 * @throws ErrnoException EPERM
 */
export function closeToOthers(file: string, isFolder: boolean): void {
  const sid = ownSid();
  if (sid === undefined) return;
  try {
    const grants = [SYSTEM, ADMINISTRATORS, sid].map((one) => grant(one, isFolder));
    runTool('icacls.exe', [file, '/inheritance:r', '/grant:r', ...grants]);
  } catch {
    throw Object.assign(new Error('not closed'), { code: 'EPERM' });
  }
}

const grant = (sid: string, isFolder: boolean) => `*${sid}:${isFolder ? '(OI)(CI)' : ''}F`;

/** Returns the number of this user, which no name of another user can be taken for. */
function ownSid(): string | undefined {
  try {
    return /S-1-[\d-]+/.exec(runTool('whoami.exe', ['/user', '/fo', 'csv', '/nh']))?.[0];
  } catch {
    return undefined;
  }
}

/** Runs a tool of Windows itself, never one of that name on the PATH. */
function runTool(name: string, args: readonly string[]): string {
  const { execFileSync } = process.getBuiltinModule('node:child_process');
  // biome-ignore lint/style/noProcessEnv: where Windows itself lies is no setting
  const folder = path.join(process.env.SystemRoot ?? 'C:\\Windows', 'System32');
  return execFileSync(path.join(folder, name), args, {
    encoding: 'latin1',
    stdio: ['ignore', 'pipe', 'ignore'],
    windowsHide: true,
  });
}

/**
 * Returns the command that keeps other users out of a file.
 * @param mode what `chmod` is told on other systems than Windows
 */
export function keepOthersOut(file: string, mode = '600'): string {
  if (process.platform !== 'win32') return `chmod ${mode} ${shellWord(file)}`;
  const isFolder = fs.statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
  return `icacls ${shellWord(file)} /inheritance:r /grant:r "${grant(ownSid() ?? 'S-1-3-4', isFolder)}"`;
}

/** The command that shows who may do what to a file. */
export function lookAt(file: string): string {
  return `${process.platform === 'win32' ? 'icacls' : 'ls -l'} ${shellWord(file)}`;
}

/** Why a file or folder cannot be trusted, and what to type. */
export interface Problem {
  readonly message: string;
  readonly mend: string;
}

/**
 * Returns why a file or folder of the user's is not trusted: it belongs to the user or root, and nobody else can write
 * it. On Windows the access list is looked at, and no owner.
 */
export function problemOf(
  file: string,
  stat: fs.Stats | undefined,
  uid: number | undefined,
): Problem | undefined {
  const found = stat ?? fs.statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  const { uid: owner, mode } = found;
  if (uid !== undefined && owner !== uid && owner !== 0)
    return { message: `${file} belongs to another user`, mend: `chown ${uid} ${shellWord(file)}` };
  if (accessOf(file, mode, uid) !== 'write') return undefined;
  return { message: `other users can write ${file}`, mend: keepOthersOut(file, 'go-w') };
}
