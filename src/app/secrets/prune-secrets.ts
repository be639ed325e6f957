import { sourcesInSettings } from '../../auth/credential.js';
import { findConfigs, loadConfig, readConfig, whyNotTrusted } from '../../config/find.js';
import { type ConfigLocation, type LoadedFile, tablesOf, variableIn } from '../../config/keys.js';
import { settingsOfFile } from '../../config/settings.js';
import { expected, GraphException } from '../../core/errors.js';
import { maskSecret } from '../../core/redact.js';
import type { Sensitive } from '../../core/sensitive.js';
import { fromFile } from '../../run/read.js';
import type { Run } from '../../run/run.js';
import { listEntries } from '../../store/records.js';
import type { Login } from '../gsql-login.js';

/** Finds the generated secrets that are not used here, and the profiles whose program, which was not run, may give one. */
export async function planPrune(login: Login) {
  const listed = await login.connection.listSecrets();
  const generated = listed.filter(({ alias }) => alias.startsWith('AUTO_GENERATED_ALIAS_'));
  if (generated.length === 0) return { unused: [], unknown: [] };
  const { aliases, masks, unknown } = await secretsInUse(login);
  const unused = generated.filter(({ alias, masked }) => !aliases.has(alias) && !masks.has(masked));
  return { unused: unused.map(({ alias }) => alias).sort(), unknown };
}

async function secretsInUse({ run, credential }: Login) {
  const aliases = new Set<string>();
  const masks = new Set<string>();
  const addText = (text: unknown) => {
    if (typeof text === 'string' && text !== '') masks.add(maskSecret(text));
  };
  const add = (value: Sensitive) => addText(value.reveal());
  if (credential.kind === 'secret') add(await credential.read());
  for (const source of sourcesInSettings(run)) {
    // Standard input can be read only once.
    if (source.kind === 'secret' && source.label !== credential.label) add(await source.read());
  }
  // A variable may be ignored in this run.
  const { env } = run.ports;
  for (const name of ['TG_SECRET', 'GRAPHCRED_SECRET']) addText(variableIn(env, name, true));
  const name = env.GRAPHCRED_SECRET_FILE;
  if (name && run.settings.all.secretFile.every(({ level }) => level !== 'variable'))
    add(await fromFile(run, { value: name, level: 'variable', label: 'GRAPHCRED_SECRET_FILE' }));
  const files = await configFiles(run);
  for (const file of files) {
    for (const { secret, secretFile, secretAlias } of tablesOf(file.config)) {
      addText(secret);
      aliases.add(String(secretAlias));
      if (typeof secretFile !== 'string') continue;
      const ofFile = { ...run, settings: { ...run.settings, file } };
      const label = `${file.path}: secretFile`;
      add(await fromFile(ofFile, { value: secretFile, level: 'profile', label }));
    }
  }
  await addSaved(run, aliases, add);
  return { aliases, masks, unknown: files.flatMap((file) => programsNotRun(run, file)) };
}

/** Returns the profiles of a file, other than one whose command counts in this run, that have a `secretCommand` for this server. */
function programsNotRun({ settings, target }: Run, file: LoadedFile): string[] {
  const counting = settings.all.secretCommand.length > 0 ? settings.profile.name : undefined;
  return [...file.config.profiles.keys()].filter((profile) => {
    if (file.path === settings.file?.path && profile === counting) return false;
    const { database, all } = settingsOfFile(file, profile);
    const isHere = 'gsqlUrl' in database && database.gsqlUrl === target.gsqlUrl;
    return isHere && all.secretCommand.length > 0;
  });
}

/** Loads the config file in force and those it hides, but none that is malformed or not trusted: no command can use it. */
async function configFiles({ settings, search }: Run): Promise<LoadedFile[]> {
  const files = new Map(settings.file ? [[settings.file.path, settings.file]] : []);
  const load = async (location: ConfigLocation) => {
    const read = await readConfig(location);
    if (files.has(read.path) || whyNotTrusted(read, search.configDir)) return;
    files.set(read.path, await loadConfig(read));
  };
  // The first search fails when a folder holds two files; the second still finds the user's own files.
  for (const config of [undefined, 'none'])
    try {
      for (const location of findConfigs({ ...search, flags: { config }, env: {} }))
        await load(location).catch(expected);
    } catch (error) {
      expected(error);
    }
  return [...files.values()];
}

/** Adds the secrets of all stores and servers, because the same server may have several host names. */
async function addSaved({ stores }: Run, aliases: Set<string>, add: (value: Sensitive) => void) {
  await stores.requireReadable();
  for (const { record } of listEntries(stores.stateDir)) {
    if (record.kind !== 'secret') continue;
    const { alias } = record.info;
    if (alias !== undefined) aliases.add(alias);
    const reading = stores.open(record.store, true).then((store) => store.get(record));
    const value = await reading.catch(() => undefined);
    if (value !== undefined) add(value);
    else if (alias === undefined)
      throw new GraphException(
        'STORE_UNAVAILABLE',
        'Nothing was dropped: a saved secret cannot be read, and its alias is not known, so it could be one of the secrets to drop.',
        { hint: ["put the old store key back, or with the secret's profile", { command: 'logout' }] },
      );
  }
}
