import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { replaceFile } from '../files/private-files.js';
import { checkConfig } from './schema.js';

/** What `login` writes to a profile. It is never a credential. */
export type ProfileToWrite = Readonly<Record<string, string | number | Readonly<Record<string, string>>>>;

export interface ProfileChange {
  readonly profile: ProfileToWrite;
  /** Keys that the profile loses unless `profile` gives them. */
  readonly removed: readonly string[];
  /** Whether it becomes the default profile; in a file without one it always does. */
  readonly makeDefault?: boolean;
}

type Config = Record<string, unknown>;

/** Runs `work` while no other process runs anything under the same lock file. */
export type WithLock = (lockFile: string, work: () => void) => Promise<void>;

/**
 * Adds or replaces one profile in the user's `config.json`, leaving the rest as it is.
 * @returns the file written
 * @throws GraphException CONFIG_INVALID when the user's file is YAML or cannot be read or written
 */
export function writeProfile(
  configDir: string,
  name: string,
  { profile, removed, makeDefault = false }: ProfileChange,
  withLock: WithLock,
): Promise<string> {
  return edit(configDir, adding(name), withLock, (data) => {
    const others = data.profiles as Record<string, object> | undefined;
    const before = Object.entries(others?.[name] ?? {}).filter(([key]) => !removed.includes(key));
    const old: { tls?: object } = Object.fromEntries(before);
    const tls = typeof profile.tls === 'object' && { tls: { ...old.tls, ...profile.tls } };
    const profiles = { ...others, [name]: { ...old, ...profile, ...tls } };
    return {
      // A profile named `default` is in force already.
      ...(others?.default === undefined && { defaultProfile: name }),
      ...data,
      profiles,
      ...(makeDefault && { defaultProfile: name }),
    };
  });
}

/**
 * Sets one key of a profile that exists.
 * @throws GraphException as `writeProfile`
 */
export function writeProfileKey(
  configDir: string,
  name: string,
  [key, value]: readonly [key: string, value: string],
  withLock: WithLock,
): Promise<string> {
  return edit(configDir, `set ${key} in the profile ${name}`, withLock, (data) => {
    const profiles = data.profiles as Record<string, object>;
    return { ...data, profiles: { ...profiles, [name]: { ...profiles[name], [key]: value } } };
  });
}

/**
 * Makes a profile the default one.
 * @throws GraphException as `writeProfile`
 */
export function writeDefaultProfile(configDir: string, name: string, withLock: WithLock): Promise<string> {
  return edit(configDir, `set defaultProfile: ${name}`, withLock, (data) => ({
    ...data,
    defaultProfile: name,
  }));
}

/**
 * Removes a profile from the user's file.
 * @throws GraphException as `writeProfile`
 */
export function removeProfile(configDir: string, name: string, withLock: WithLock): Promise<string> {
  return edit(configDir, `remove the profile ${name}`, withLock, ({ profiles, defaultProfile, ...rest }) => {
    const { [name]: _, ...others } = (profiles ?? {}) as Record<string, object>;
    return { ...(defaultProfile !== name && { defaultProfile }), ...rest, profiles: others };
  });
}

/** Checks that `writeProfile` need not refuse the user's file because it is YAML. Throws CONFIG_INVALID. */
export function requireRewritable(configDir: string, name: string): void {
  refuseYaml(configDir, adding(name));
}

const adding = (name: string) => `add the profile ${name}`;

function refuseYaml(configDir: string, what: string): void {
  for (const yaml of ['config.yaml', 'config.yml']) {
    const other = path.join(configDir, yaml);
    if (!fs.existsSync(other)) continue;
    throw new GraphException(
      'CONFIG_INVALID',
      `${other} is YAML, which graphcred reads but does not rewrite.`,
      { hint: `${what} by hand; .graphcredrc.example shows every key` },
    );
  }
}

/** Reads the user's `config.json`, changes it and writes it, while no other process does the same. */
async function edit(
  configDir: string,
  what: string,
  withLock: WithLock,
  change: (data: Config) => Config,
): Promise<string> {
  refuseYaml(configDir, what);
  const file = path.join(configDir, 'config.json');
  const rewrite = () => {
    const next = change(readExisting(file));
    checkConfig(file, next);
    replaceFile(followed(file), `${JSON.stringify(next, null, 2)}\n`);
  };
  // Two logins at the same time would each write what they have read, and one profile would be lost.
  try {
    await withLock(`${file}.lock`, rewrite);
  } catch (error) {
    if (!(error instanceof GraphException) || error.code !== 'STORE_UNAVAILABLE') throw error;
    // The lock cannot be created in that folder. The attempt to write there fails with the reason.
    rewrite();
  }
  return file;
}

/** Follows a symbolic link, so that the file it points to is replaced and the link stays. */
function followed(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}

function readExisting(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new GraphException('CONFIG_INVALID', `${file} cannot be read.`, {
      hint: 'look at its owner and mode',
    });
  }
  try {
    const data: unknown = JSON.parse(text.replace(/^\ufeff/, '').trim() || '{}');
    // The reader takes `null` for a file without settings, so here it becomes an empty object.
    checkConfig(file, data);
    return (data ?? {}) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof GraphException) throw error;
    throw new GraphException('CONFIG_INVALID', `${file} is not valid JSON.`, {
      hint: 'correct it, then log in again',
    });
  }
}
