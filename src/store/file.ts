import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { Sensitive } from '../core/sensitive.js';
import { readChecked, writePrivateFile } from '../files/private-files.js';
import { decrypt, encrypt } from './aes-gcm.js';
import { machineStore } from './machine-store.js';
import { listEntries } from './records.js';
import type { Store, StoreOptions, StoreRecord } from './store.js';

/** Encrypts each value in its record's file. It authenticates the record: no value gets another host or longer life. */
export function fileStore(options: StoreOptions): Store {
  const { configDir, warn } = options;
  const keyToWrite = async () => (await givenKey(options)) ?? generatedKey(options);
  return machineStore('file', options, {
    put: async (record, value) =>
      encrypt(await keyToWrite(), canonical(record), value.reveal()).toString('base64'),

    async get(record, encrypted) {
      if (encrypted === undefined) return undefined;
      const key = (await givenKey(options)) ?? readGeneratedKey(configDir);
      const value = key && decrypt(key, canonical(record), Buffer.from(encrypted, 'base64'));
      if (value !== undefined) return new Sensitive(value);
      const { kind, info } = record;
      const alias = kind === 'secret' ? info.alias : undefined;
      const entry = `${kind}${alias ? ` "${alias}"` : ''}${info.graph ? ` for graph "${info.graph}"` : ''}`;
      warn(
        `Ignoring a stored ${entry}: it was encrypted with another key; put that back (GRAPHCRED_STORE_KEY, or store.key in the config folder).`,
      );
      return undefined;
    },

    check: async () => void (await keyToWrite()),
  });
}

/** Serializes the record so that the order of its fields does not matter. */
function canonical(record: StoreRecord): string {
  const { v, kind, key, store, createdAtUnix, expiresAtUnix, info } = record;
  const sorted = Object.entries(info).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([v, kind, key, store, createdAtUnix, expiresAtUnix ?? null, sorted]);
}

const MAKE_WAIT_MS = 10_000;

/** 32 bytes in base64. */
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/** Returns the key that was given; undefined when none was. Throws STORE_UNAVAILABLE. */
export async function givenKey({ storeKey }: Pick<StoreOptions, 'storeKey'>): Promise<Buffer | undefined> {
  const key = await storeKey();
  const hint = 'correct it, or make a new one: node -p "crypto.randomBytes(32).toString(\'base64\')"';
  return key && decode(key.reveal(), 'the store key', hint);
}

function decode(text: string, what: string, hint: string): Buffer {
  const trimmed = text.trim();
  if (KEY.test(trimmed)) return Buffer.from(trimmed, 'base64');
  throw new GraphException('STORE_UNAVAILABLE', `${what} is not 32 bytes in base64`, { hint });
}

/** Loads `store.key` of the config folder; undefined when there is none. Throws STORE_UNAVAILABLE. */
export function readGeneratedKey(configDir: string): Buffer | undefined {
  const file = path.join(configDir, 'store.key');
  const checked = readChecked(file, true);
  if (checked === undefined) return undefined;
  const what = `the key file ${file}`;
  if ('text' in checked)
    return decode(checked.text, what, 'restore it; or remove it and what is stored: graphcred logout --all');
  throw new GraphException('STORE_UNAVAILABLE', `${what} is not used: ${checked.why}`, {
    hint: checked.mend,
  });
}

/** The same, but makes the key if there is none, and nothing is stored with another: one, however many processes do so at once. */
async function generatedKey({ configDir, stateDir }: StoreOptions): Promise<Buffer> {
  const existing = readGeneratedKey(configDir);
  if (existing) return existing;
  const { acquireLock } = await import('../files/lock.js');
  const file = path.join(configDir, 'store.key');
  const lock = await acquireLock(`${file}.lock`, MAKE_WAIT_MS);
  try {
    const made = readGeneratedKey(configDir);
    if (made) return made;
    if (listEntries(stateDir, undefined, { store: 'file', key: undefined }).length > 0) {
      const lost = 'put it back (GRAPHCRED_STORE_KEY, or store.key in the config folder); if it is lost';
      const hint = [lost, { command: 'logout --all' }];
      throw new GraphException('STORE_UNAVAILABLE', 'the key of the stored entries is missing', { hint });
    }
    const key = process.getBuiltinModule('node:crypto').randomBytes(32);
    writePrivateFile(file, `${key.toString('base64')}\n`);
    return key;
  } finally {
    lock?.release();
  }
}
