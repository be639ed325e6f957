import fs from 'node:fs';
import path from 'node:path';
import type { Call } from '../auth/call.js';
import { fromFile } from '../auth/readers.js';
import { addressesSetAt } from '../auth/servers.js';
import { secretsInSettings } from '../auth/sources.js';
import { open } from '../auth/stores.js';
import { type ConfigLocation, type FindOptions, findConfigs } from '../config/find.js';
import type { ConfigValues, LoadedFile } from '../config/keys.js';
import { loadConfig, readConfig, resolveSettings } from '../config/settings.js';
import { isTrusted } from '../config/trust.js';
import { GraphException } from '../core/errors.js';
import { maskSecret } from '../core/redact.js';
import type { Sensitive } from '../core/sensitive.js';
import { listEntries } from '../store/records.js';
import type { StoreRecord } from '../store/store.js';
import type { Login } from './gsql-login.js';

/** Identifies a secret of the server's list as one that this machine uses. */
export interface InUse {
  readonly aliases: ReadonlySet<string>;
  readonly masks: ReadonlySet<string>;
  /** Profiles of this server whose secret comes from a program that was not run. */
  readonly unknown: readonly string[];
}

const SECRET_RECORD = /^secret-[0-9a-f]{28}\.json$/;

/**
 * Collects every secret that this machine uses, from settings and stores.
 * @throws GraphException STORE_UNAVAILABLE when a saved secret cannot be read and compared
 */
export async function secretsInUse({ call, credential }: Login): Promise<InUse> {
  const aliases = new Set<string>();
  const masks = new Set<string>();
  const add = (value: Sensitive | undefined) => {
    if (value !== undefined) masks.add(maskSecret(value.reveal()));
  };
  if (credential.kind === 'secret') add(await credential.value());
  for (const source of secretsInSettings(call)) {
    // Standard input can be read only once.
    if (source.label !== credential.label) add(await source.read());
  }
  const files = await configFiles(call);
  for (const value of otherLiterals(call, files)) masks.add(maskSecret(value));
  for (const file of otherFiles(call, files)) add(await fromFile(file, file, call.timeoutMs));
  for (const { secretAlias } of files.flatMap(tablesOf)) aliases.add(String(secretAlias));
  await addSaved(call, aliases, add);
  return { aliases, masks, unknown: programsNotRun(call, files) };
}

/** Returns the profiles with a `secretCommand` for this server, other than the one in force. */
function programsNotRun(call: Call, files: readonly LoadedFile[]): string[] {
  const { settings, target, ports } = call;
  return files.flatMap((file) =>
    [...file.config.profiles.keys()].filter((profile) => {
      if (file.path === settings.file?.path && profile === settings.profile.name) return false;
      const its = resolveSettings({ ...ports, ...call, flags: { profile }, env: {} }, file);
      const isHere = addressesSetAt(its, ['profile', 'fileDefaults'])?.gsqlUrl === target.gsqlUrl;
      return isHere && its.all.secretCommand.length > 0;
    }),
  );
}

/** Returns the values of variables that are ignored in this run, and the secrets written in any profile. */
function otherLiterals({ ports }: Call, files: readonly LoadedFile[]): string[] {
  const { TG_SECRET, GRAPHCRED_SECRET } = ports.env;
  const written = files.flatMap(tablesOf).map(({ secret }) => secret);
  return [TG_SECRET, GRAPHCRED_SECRET, ...written].filter(
    (one): one is string => typeof one === 'string' && one !== '',
  );
}

/** Returns the secret files that profiles name. */
function otherFiles({ ports }: Call, files: readonly LoadedFile[]): string[] {
  const { home = '' } = ports;
  return files.flatMap((file) =>
    tablesOf(file).flatMap(({ secretFile }) => {
      if (typeof secretFile !== 'string') return [];
      const name = secretFile.startsWith('~/') ? path.join(home, secretFile.slice(2)) : secretFile;
      return [path.resolve(path.dirname(file.path), name)];
    }),
  );
}

function tablesOf({ config }: LoadedFile): ConfigValues[] {
  return [config.defaults, ...config.profiles.values()];
}

/**
 * Loads the config file in force and those it hides. A file that is malformed or not trusted is skipped, because no
 * command can use it.
 */
async function configFiles({ settings, ports, configDir }: Call): Promise<LoadedFile[]> {
  const { cwd, home, uid } = ports;
  const files = new Map(settings.file ? [[settings.file.path, settings.file]] : []);
  // The first search fails when a folder holds two files; the second still finds the user's own files.
  for (const named of [undefined, 'none']) {
    for (const location of locationsOf({ named, cwd, home, configDir })) {
      try {
        const { bytes, text, stat } = readConfig(location);
        if (files.has(location.path) || !isTrusted({ location, bytes, stat, uid, configDir })) continue;
        files.set(location.path, await loadConfig({ path: location.path, text, stat }, uid));
      } catch (error) {
        if (!(error instanceof GraphException)) throw error;
      }
    }
  }
  return [...files.values()];
}

function locationsOf(options: FindOptions): ConfigLocation[] {
  const found: ConfigLocation[] = [];
  try {
    for (const location of findConfigs(options)) found.push(location);
  } catch (error) {
    if (!(error instanceof GraphException)) throw error;
  }
  return found;
}

/** Adds the secrets of all stores and servers, because the same server may have several host names. */
async function addSaved(
  call: Call,
  aliases: Set<string>,
  add: (value: Sensitive | undefined) => void,
): Promise<void> {
  const { stateDir } = call;
  if (stateDir === undefined) return;
  const believed = listEntries(stateDir, () => {}).filter(({ record }) => record.kind === 'secret');
  for (const { record } of believed) {
    const alias = knownAlias(record.info);
    if (alias !== undefined) aliases.add(alias);
    const value = await readSaved(call, record).catch(() => undefined);
    if (value !== undefined) add(value);
    else if (alias === undefined)
      throw cannotTell('a saved secret cannot be read, and its alias is not known');
  }
  // A record that is ignored, for example because of its mode, may still belong to a secret in use.
  for (const name of recordFiles(stateDir)) {
    const info = readInfo(path.join(stateDir, name));
    const alias = info && knownAlias(info);
    if (alias !== undefined) aliases.add(alias);
    else if (!isBelieved(believed, info))
      throw cannotTell(`${path.join(stateDir, name)} cannot be read, and its alias is not known`);
  }
}

async function readSaved(call: Call, record: StoreRecord): Promise<Sensitive | undefined> {
  return (await open(call, record.store, true)).read(record);
}

/** Returns the server's alias of a saved secret, if it is known. */
function knownAlias({ alias }: StoreRecord['info']): string | undefined {
  return typeof alias === 'string' ? alias : undefined;
}

function isBelieved(
  believed: readonly { readonly record: StoreRecord }[],
  info: StoreRecord['info'] | undefined,
): boolean {
  const text = JSON.stringify(info);
  return believed.some(({ record }) => JSON.stringify(record.info) === text);
}

function recordFiles(stateDir: string): string[] {
  try {
    return fs.readdirSync(stateDir).filter((name) => SECRET_RECORD.test(name));
  } catch {
    return [];
  }
}

function readInfo(file: string): StoreRecord['info'] | undefined {
  try {
    const { info, key } = JSON.parse(fs.readFileSync(file, 'utf8'));
    // An entry left over from a test of the store is not a secret.
    if (String(key).startsWith('trial entry ')) return { alias: '' };
    return typeof info === 'object' && info !== null ? info : undefined;
  } catch {
    return undefined;
  }
}

function cannotTell(why: string): GraphException {
  return new GraphException(
    'STORE_UNAVAILABLE',
    `Nothing was dropped: ${why}, so it could be one of these.`,
    {
      hint: 'unlock the store, or forget what is saved here: graphcred logout',
    },
  );
}
