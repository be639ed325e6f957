import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { accessOf, keepOthersOut, lookAt, type Problem, problemOf } from '../files/access.js';
import { errnoOf, readBounded, readJson, replaceFile, whyUnreadable } from '../files/private-files.js';
import { shellWord } from '../files/shell-word.js';
import { configError } from './errors.js';
import {
  type ConfigKey,
  type ConfigLocation,
  isLiteralCredential,
  type LoadedFile,
  RUNS_OR_READS,
  readSwitch,
  type SettingsInput,
  tablesOf,
  variableIn,
} from './keys.js';
import { parseConfig } from './parse.js';

const RC_NAMES = ['.graphcredrc', '.graphcredrc.json', '.graphcredrc.yaml', '.graphcredrc.yml'] as const;
const USER_NAMES = ['config.json', 'config.yaml', 'config.yml'] as const;
const MAX_CONFIG_BYTES = 1_000_000;
/** The value of `--config` that leaves project files out. */
export const NO_PROJECT_FILE = 'none';

export type ConfigText = Awaited<ReturnType<typeof readConfig>>;

function namedConfig({ flags, env }: SettingsInput): string | undefined {
  return (flags.config as string | undefined) || variableIn(env, 'GRAPHCRED_CONFIG', false);
}

/** Returns every file that may be in force, the nearest first. Throws CONFIG_INVALID for two in a folder or a missing one. */
export function* findConfigs(input: SettingsInput): Generator<ConfigLocation> {
  const named = namedConfig(input);
  if (named !== undefined && named !== NO_PROJECT_FILE) {
    const file = path.resolve(input.cwd, named);
    if (!isFile(file))
      throw configError(
        `There is no config file at ${file}.`,
        'check the path (an argument, --config or GRAPHCRED_CONFIG)',
      );
    return yield { path: file, place: 'named' };
  }
  for (const { dir, names, place } of searchedFolders(input)) {
    const found = place === 'user' ? findUserConfig(dir) : onlyFile(dir, names);
    if (found !== undefined) yield { path: found, place };
  }
}

/** Returns the folders to search where no file is named: up to the home folder, or to the root from outside of it. */
function* searchedFolders(input: SettingsInput) {
  const { cwd, home, configDir } = input;
  // The home folder may be a link, while the working directory is always resolved.
  const homeFolder = home === undefined ? undefined : resolveSymlink(home);
  const named = namedConfig(input);
  let isHome = false;
  for (let dir = path.resolve(cwd); named === undefined; dir = path.dirname(dir)) {
    isHome = resolveSymlink(dir) === homeFolder;
    yield { dir, names: RC_NAMES, place: isHome ? 'home' : 'project' } as const;
    if (isHome || dir === path.dirname(dir)) break;
  }
  if (home !== undefined && !isHome) yield { dir: home, names: ['.graphcredrc'], place: 'home' } as const;
  if (configDir !== undefined) yield { dir: configDir, names: USER_NAMES, place: 'user' } as const;
}

export function describeSearch(input: SettingsInput): string {
  const files = [...searchedFolders(input)].map(({ dir, names }) => path.join(dir, names[0]));
  return `${files.join(', ')}; .graphcredrc also with .json, .yaml or .yml at its end`;
}

/** Returns the user's config file. Throws CONFIG_INVALID for one that is there and cannot be read. */
export function findUserConfig(dir: string): string | undefined {
  try {
    fs.lstatSync(path.join(dir, USER_NAMES[0]), { throwIfNoEntry: false });
  } catch (error) {
    if (errnoOf(error) === 'ENOTDIR') return undefined;
    throw unreadable(dir, whyUnreadable(error), keepOthersOut(dir, '700'));
  }
  return onlyFile(dir, USER_NAMES);
}

function onlyFile(dir: string, names: readonly string[]): string | undefined {
  const found = names.map((name) => path.join(dir, name)).filter(isFile);
  if (found.length > 1)
    throw configError(
      `Two config files in one folder: ${found.join(' and ')}.`,
      'keep one of them; graphcred never merges config files',
    );
  return found[0];
}

function isFile(file: string): boolean {
  // Usually the file does not exist, and existsSync finds that out at a tenth of the cost of stat.
  try {
    if (fs.existsSync(file)) return fs.statSync(file).isFile();
    if (fs.lstatSync(file, { throwIfNoEntry: false }) === undefined) return false;
  } catch {
    return false;
  }
  throw unreadable(file, 'it is a link to a file that does not exist', 'remove the link, or make the file');
}

/** Follows symbolic links; a file or folder that does not exist has none. */
export function resolveSymlink(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}

/** Returns a file by the real place of its folder, where the search finds it. A file that is a link is not followed. */
export function realPlace(file: string): string {
  return path.join(resolveSymlink(path.dirname(file)), path.basename(file));
}

/** Reads a config file. Throws CONFIG_INVALID for what is no regular file, cannot be read, is too large or no UTF-8. */
export async function readConfig(location: ConfigLocation) {
  const { path: file } = location;
  const read = readBounded(file, { maxBytes: MAX_CONFIG_BYTES, timeoutMs: 0 });
  const { bytes, stat } = await read.catch((error) => {
    const hint = error.code === undefined ? 'name another one with --config' : undefined;
    throw unreadable(file, whyUnreadable(error), hint);
  });
  if (!stat.isFile()) throw unreadable(file, 'it is a pipe', 'name a regular file with --config');
  // A byte that is read as another character would change a password.
  if (!process.getBuiltinModule('node:buffer').isUtf8(bytes))
    throw configError(`${file} is not UTF-8 text.`, 'save it as UTF-8');
  // Editors on Windows put a byte order mark at the start of a file.
  const text = bytes.toString().replace(/^\ufeff/, '');
  return { ...location, bytes, text, stat };
}

function unreadable(file: string, why: string, hint = `check its owner and mode: ${lookAt(file)}`) {
  return configError(`${file} cannot be read: ${why}.`, hint);
}

/** Returns why a file is not the user's alone; of one that counts by its place, also why its folder is not. */
function problemOfConfig({ place, path: file, stat }: ConfigText): Problem | undefined {
  const countsByPlace = place === 'home' || place === 'user';
  return problemOf(file, stat) ?? (countsByPlace ? problemOf(path.dirname(file)) : undefined);
}

/** Returns why a file's settings are not used; undefined when it is trusted. */
export function whyNotTrusted(read: ConfigText, configDir: string | undefined): GraphException | undefined {
  const { place, path: file, bytes } = read;
  const problem = problemOfConfig(read);
  if (place === 'named' || (place !== 'project' && !problem)) return undefined;
  if (configDir !== undefined && isApproved(file, bytes, configDir)) return undefined;
  // One of the user's own is trusted as soon as nobody else can change it.
  if (problem && place !== 'project') return refused(problem);
  return new GraphException('CONFIG_UNTRUSTED', `${file} is not trusted, so it is not used.`, {
    hint: [
      ...(problem ? [`${problem.message}, so first: ${problem.mend}`] : []),
      'check what it sets; to trust it',
      { command: `config trust ${shellWord(file)}` },
      'to use another file: --config FILE; to leave project files out: --config none',
    ],
  });
}

function refused({ message, mend }: Problem): GraphException {
  const hint = `check its content, which others may have changed; then: ${mend}`;
  return new GraphException('CONFIG_UNTRUSTED', `${message}, so the config is not used.`, { hint });
}

export function approve(file: string, bytes: Buffer, configDir: string): void {
  const approval = { v: 1, path: file, sha256: sha256(bytes) };
  replaceFile(approvalFile(file, configDir), `${JSON.stringify(approval)}\n`);
}

function isApproved(file: string, bytes: Buffer, configDir: string): boolean {
  const approval = approvalFile(file, configDir);
  if (problemOf(path.dirname(approval))) return false;
  const { path: approved, sha256: hash } = readJson(approval);
  return approved === file && hash === sha256(bytes);
}

function approvalFile(file: string, configDir: string): string {
  return path.join(configDir, 'trusted', `${sha256(file).slice(0, 32)}.json`);
}

function sha256(data: string | Buffer): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(data).digest('hex');
}

/** Returns the config file in force, the first that is trusted, and those before it with the reason. Throws like `loadConfig`. */
export async function findTrustedConfig(input: SettingsInput) {
  const untrusted: { readonly read: ConfigText; readonly why: GraphException }[] = [];
  for (const location of findConfigs(input)) {
    const read = await readConfig(location);
    const why = whyNotTrusted(read, input.configDir);
    if (!why) return { file: await loadConfig(read), untrusted };
    untrusted.push({ read, why });
  }
  return { file: undefined, untrusted };
}

/** Finds the user's own config file, even when a file of higher priority exists. Throws like `loadConfig`. */
export async function findOwnConfig(input: SettingsInput) {
  const ofUser = { ...input, home: undefined, env: {}, flags: { config: NO_PROJECT_FILE } };
  const found = await findTrustedConfig(ofUser);
  for (const { why } of found.untrusted) throw why;
  return found;
}

export function hiddenUserConfig({ configDir }: Partial<SettingsInput>, file?: LoadedFile) {
  const own = file && configDir && findUserConfig(configDir);
  return own === file?.path ? undefined : own;
}

/** Parses and checks a config file. Throws CONFIG_INVALID naming file, key and line, and CONFIG_UNTRUSTED. */
export async function loadConfig(read: ConfigText): Promise<LoadedFile> {
  const { path: file, text, stat, place } = read;
  const config = await parseConfig(file, text);
  const set = tablesOf(config).flatMap((table) => Object.entries(table) as [ConfigKey, string | string[]][]);
  if (place === 'project' && set.some(([key, value]) => key === 'tls.insecure' && readSwitch(`${value}`)))
    throw configError(
      `${file} sets tls.insecure, which a project's config file may not.`,
      'remove it from the file; give the CA certificate with tls.ca, or type --insecure',
    );
  const holdsCredential = set.some(([key, value]) => isLiteralCredential(key, value));
  const access = holdsCredential ? accessOf(file, stat.mode) : 'none';
  // Who can write the file could change the address that the credential is sent to.
  if (access === 'write')
    throw configError(
      `${file} holds a credential, and other users can write to it.`,
      `remove their permission: ${keepOthersOut(file)}`,
    );
  // They could also make a program or a file that it names any other.
  const namesOne = place === 'named' && set.some(([key]) => RUNS_OR_READS.includes(key));
  const problem = namesOne ? problemOfConfig(read) : undefined;
  if (problem) throw refused(problem);
  return { path: file, place, stat, config, showsCredential: access !== 'none' };
}
