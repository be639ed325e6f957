import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { keepOthersOut } from '../files/access.js';
import {
  errnoOf,
  parseObject,
  readChecked,
  removeOlder,
  whyUnreadable,
  writePrivateFile,
} from '../files/private-files.js';
import { shellWord } from '../files/shell-word.js';
import { MACHINE_STORES, type StoreName, type StoreRecord } from './store.js';

export interface Entry {
  readonly record: StoreRecord;
  /** The encrypted value, if it is in the file store, under the name that it has on the disk. */
  readonly sealed?: string | undefined;
}

export interface Unread {
  readonly file: string;
  readonly why: string;
  readonly mend: string;
}

type OnUnread = (unread: Unread) => void;
type Kind = StoreRecord['kind'];

/** What the record of each kind says at least, beside for which database it is. */
const REQUIRED: Readonly<Record<Kind, readonly string[]>> = {
  token: ['principal', 'lifetime', 'serverVersion'],
  secret: ['id'],
  password: ['username'],
  login: ['username', 'issuer', 'clientId'],
};
const KINDS = Object.keys(REQUIRED);
const RECORD_NAME = /^(?:token|secret|password|login)-[0-9a-f]{32}(?:-[0-9a-f]{12})?\.json$/;
/** A record that a process has not finished writing, and when it is taken to have been killed. */
const [UNFINISHED_NAME, UNFINISHED_MS] = [/\.json\.\d+\.[a-z0-9]+\.tmp$/, 10_000];

/** Sorts records so that the newest comes first, and every process has the same order. */
export function newestFirst(a: StoreRecord, b: StoreRecord): number {
  return b.createdAtUnix - a.createdAtUnix || (a.key < b.key ? -1 : 1);
}

/** Returns the path of an entry's lock, or of the error that the lock's owner met. All stores share them. */
export function entryPath(stateDir: string, kind: Kind, key: string, suffix: 'lock' | 'refused'): string {
  return path.join(stateDir, `${kind}-${hashOf(key)}.${suffix}`);
}

type RecordId = Pick<StoreRecord, 'kind' | 'key' | 'store'>;

/** Returns the path of a record, of which each token and each store has its own. */
export function recordPath(stateDir: string, { kind, key, store }: RecordId): string {
  const { identity, token } = partsOf(key);
  return path.join(stateDir, `${kind}${prefixOf(store, identity)}${token && `-${token}`}.json`);
}

/** Returns the part of a file's name that says of which store and identity a record is. */
function prefixOf(store: StoreName, identity: string): string {
  return `-${hashOf(`${store} ${identity}`)}`;
}

/** Returns the key of one token of an identity. @param token 12 hexadecimal digits that tell it from the others */
export function tokenKey(identity: string, token: string): string {
  return `${identity} #${token}`;
}

/** Returns the identity that a key begins with, and what tells its token from the others; '' where there is none. */
export function partsOf(key: string): { readonly identity: string; readonly token: string } {
  const [, identity = key, token = ''] = /^(.*) #([0-9a-f]{12})$/s.exec(key) ?? [];
  return { identity, token };
}

/** Reads the entry of a record. An entry that is not valid or cannot be read counts as absent. */
export function readEntry(stateDir: string, record: RecordId, onUnread?: OnUnread): Entry | undefined {
  const entry = readUsable(recordPath(stateDir, record), onUnread);
  return entry?.record.key === record.key ? entry : undefined;
}

/**
 * Returns every readable entry, in no order; none without a folder.
 * @param onUnread told of each file that is left out
 * @param of takes only those of a store, and of a key or the tokens of an identity there
 * @throws GraphException STORE_UNAVAILABLE for a folder that cannot be read, which is not an empty one
 */
export function listEntries(
  stateDir: string | undefined,
  onUnread?: OnUnread,
  of?: { readonly store: StoreName; readonly key: string | undefined },
): Entry[] {
  if (stateDir === undefined) return [];
  let names: string[];
  try {
    names = fs.readdirSync(stateDir);
    // Without this right the names can be read and no file can.
    fs.accessSync(stateDir, fs.constants.X_OK);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    const message = `${stateDir} cannot be read: ${whyUnreadable(error)}`;
    throw new GraphException('STORE_UNAVAILABLE', message, { hint: keepOthersOut(stateDir, '700') });
  }
  // It may hold a value, and nothing else would find it.
  for (const name of names)
    if (UNFINISHED_NAME.test(name)) removeOlder(path.join(stateDir, name), UNFINISHED_MS);
  const part = of?.key === undefined ? '' : prefixOf(of.store, partsOf(of.key).identity);
  const isOf = ({ key, store }: StoreRecord) =>
    !of || (store === of.store && [undefined, key, partsOf(key).identity].includes(of.key));
  return names
    .filter((name) => RECORD_NAME.test(name) && name.includes(part))
    .flatMap((name) => readUsable(path.join(stateDir, name), onUnread) ?? [])
    .filter(({ record }) => isOf(record));
}

function readUsable(file: string, onUnread?: OnUnread): Entry | undefined {
  const content = readContent(file, onUnread);
  if (content === undefined) return undefined;
  const { sealed, ...record } = content;
  const isText = sealed === undefined || typeof sealed === 'string';
  if (!isText || !isStoreRecord(record) || !MACHINE_STORES.includes(record.store)) {
    onUnread?.({ file, why: 'it is not a graphcred record', mend: `delete it: rm ${shellWord(file)}` });
    return undefined;
  }
  // A copy of the file under another name cannot be found by its key, so it is not listed either.
  return recordPath(path.dirname(file), record) === file ? { record, sealed } : undefined;
}

/** Reads what may be a record. What is unread for a reason told here may still be used one day. */
function readContent(file: string, onUnread?: OnUnread): Record<string, unknown> | undefined {
  const checked = readChecked(file);
  if (checked && 'why' in checked) onUnread?.({ file, ...checked });
  if (checked === undefined || 'why' in checked) return undefined;
  const content = parseObject(checked.text);
  if (!(Number(content.v) > 1)) return content;
  onUnread?.({ file, why: 'a newer graphcred wrote it', mend: 'use that version of graphcred' });
  return undefined;
}

export function isStoreRecord(value: unknown): value is StoreRecord {
  const { v, kind, key, createdAtUnix, expiresAtUnix, info } = Object(value);
  if (v !== 1 || !KINDS.includes(kind) || typeof key !== 'string') return false;
  return isTime(createdAtUnix) && isTime(expiresAtUnix) === (kind === 'token') && isInfo(kind, info);
}

/** Whether a value is a time in seconds from 1970 to the end of the year 9999, the last that can be shown as a date. */
function isTime(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value < 253_402_300_800;
}

const NUMBERS: readonly string[] = ['lifetime', 'requestedAtMs', 'clockAheadSeconds'];

function isInfo(kind: Kind, info: unknown): boolean {
  const facts = Object(info);
  const isValid = ([name, value]: [string, unknown]) =>
    (name === 'graph' && value === null) || typeof value === (NUMBERS.includes(name) ? 'number' : 'string');
  const names = ['host', 'gsqlUrl', 'restUrl', 'graph', ...REQUIRED[kind]];
  return names.every((name) => name in facts) && Object.entries(facts).every(isValid);
}

/** Returns a file name for a key, which the record holds too: an FNV-1a sum, as loading node:crypto takes milliseconds. */
export function hashOf(text: string): string {
  let sum = 0x6c62272e07bb014262b821756295c58dn;
  for (let i = 0; i < text.length; i++)
    sum = BigInt.asUintN(128, (sum ^ BigInt(text.charCodeAt(i))) * 0x1000000000000000000013bn);
  return sum.toString(16).padStart(32, '0');
}

/** Replaces an entry. @throws GraphException STORE_UNAVAILABLE, also if the old one may hold what a mend brings back */
export function writeEntry(stateDir: string, { record, sealed }: Entry): void {
  const file = recordPath(stateDir, record);
  readContent(file, ({ why, mend }) => {
    throw new GraphException('STORE_UNAVAILABLE', `${file} is not replaced: ${why}`, { hint: mend });
  });
  const { v, kind, key, store, createdAtUnix, expiresAtUnix, info } = record;
  const text = JSON.stringify({ v, kind, key, store, createdAtUnix, expiresAtUnix, info, sealed });
  writePrivateFile(file, `${text}\n`);
}
