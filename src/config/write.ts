import fs from 'node:fs';
import path from 'node:path';
import type { Document, Node } from 'yaml';
import { acquireLock, ifUnwritable } from '../files/lock.js';
import { replaceFile } from '../files/private-files.js';
import { formatError } from './errors.js';
import { findUserConfig, readConfig, resolveSymlink } from './find.js';
import { type ConfigFile, type ConfigKey, defaultProfileOf, defaultWith, topOf } from './keys.js';
import { checkedConfig, parseConfig } from './parse.js';

/** What `login` writes to a profile; what is undefined is left out. It is never a credential. */
export type ProfileToWrite = Readonly<Partial<Record<ConfigKey, string | number | undefined>>>;

type Yaml = typeof import('yaml');

const LOCK_WAIT_MS = 10_000;

/** Writes one profile to the user's config file, and returns that. @param change.removed what it loses unless `profile` gives it */
export function writeProfile(
  configDir: string,
  name: string,
  { profile, removed }: { readonly profile: ProfileToWrite; readonly removed: readonly string[] },
): Promise<string> {
  return edit(configDir, (document, _yaml, config) => {
    if (defaultProfileOf(config) === undefined && defaultWith(config, name) === name)
      document.set('defaultProfile', name);
    const at = ['profiles', name];
    // A table with nothing in it is null in YAML, and nothing can be set in it.
    for (const table of [['profiles'], at, ...Object.keys(profile).map((key) => [...at, topOf(key)])])
      if (document.getIn(table) === null) document.deleteIn(table);
    if (!document.hasIn(at)) document.setIn(at, document.createNode({}));
    const given = Object.entries(profile).filter(([, value]) => value !== undefined);
    const pathOf = (key: string) => [...at, ...key.split('.')];
    const kept = given.map(([key]): string => key);
    for (const key of removed)
      if (!kept.includes(key) && document.hasIn(pathOf(key))) document.deleteIn(pathOf(key));
    for (const [key, value] of given) document.setIn(pathOf(key), value);
  });
}

export function writeDefaultProfile(configDir: string, name: string): Promise<string> {
  return edit(configDir, (document) => document.set('defaultProfile', name));
}

export function removeProfile(configDir: string, name: string): Promise<string> {
  return edit(configDir, (document, { isMap, isScalar }) => {
    if (document.get('defaultProfile') === name) {
      // YAML gives the comment at the top of the file to the first key, which is this one as a rule.
      const first = isMap(document.contents) ? document.contents.items[0]?.key : undefined;
      if (isScalar(first) && first.value === 'defaultProfile')
        document.commentBefore ??= first.commentBefore ?? null;
      document.delete('defaultProfile');
    }
    document.deleteIn(['profiles', name]);
  });
}

/** Throws CONFIG_INVALID for a file of the user's that cannot be read, before a login asks anything. */
export async function requireRewritable(configDir: string): Promise<void> {
  await readDocument(await import('yaml'), userConfigFile(configDir));
}

function userConfigFile(configDir: string): string {
  return findUserConfig(configDir) ?? path.join(configDir, 'config.json');
}

async function edit(
  configDir: string,
  change: (document: Document, yaml: Yaml, config: ConfigFile) => void,
): Promise<string> {
  const file = userConfigFile(configDir);
  const yaml = await import('yaml');
  // Two logins at the same time would each write what they have read, and one profile would be lost.
  const lock = await acquireLock(`${file}.lock`, LOCK_WAIT_MS).catch(ifUnwritable);
  try {
    const { document, config } = await readDocument(yaml, file);
    makeWritable(yaml, document);
    change(document, yaml, config);
    const data: unknown = document.toJS();
    checkedConfig(file, data);
    const isJson = file.endsWith('.json');
    const text = isJson ? `${JSON.stringify(data, null, 2)}\n` : document.toString({ lineWidth: 0 });
    // The file that a link points to is replaced, and the link stays.
    replaceFile(resolveSymlink(file), text);
  } finally {
    lock?.release();
  }
  return file;
}

async function readDocument({ parseDocument }: Yaml, file: string) {
  const exists = fs.existsSync(file);
  const text = exists ? (await readConfig({ path: file, place: 'user' })).text : '';
  const config = await parseConfig(file, text);
  // In JSON a key may stand twice, and the last one counts.
  const source = text.trim() !== '' && file.endsWith('.json') ? JSON.stringify(JSON.parse(text)) : text;
  // A profile named 2024 or true has that text as its key.
  const document = parseDocument(source, { merge: true, stringKeys: true });
  const [fault] = document.errors;
  if (fault) throw formatError(file, fault.linePos?.[0].line, 'YAML');
  return { document, config };
}

/** Writes the aliases and merged keys (`<<`) of a YAML document out, so that a change of one profile changes no other. */
function makeWritable({ isScalar, visit }: Yaml, document: Document): void {
  visit(document, {
    Alias: (_, alias) => alias.resolve(document)?.clone() as Node | undefined,
    Map: (_, map) => {
      // The reader, which has read the file before, does not count aliases.
      const values: Record<string, unknown> = map.toJS(document, { maxAliasCount: -1 });
      map.items = map.items.filter(({ key }) => !isScalar(key) || String(key.value) in values);
      for (const [key, value] of Object.entries(values))
        if (!map.has(key)) map.add(document.createPair(key, value));
    },
  });
  visit(document, {
    Value: (_, node) => {
      delete node.anchor;
    },
  });
}
