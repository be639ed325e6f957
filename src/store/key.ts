import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { errnoOf, readChecked } from './files.js';
import type { StoreOptions } from './store.js';

type KeyOptions = Pick<StoreOptions, 'configDir' | 'storeKey' | 'storeKeyFile' | 'warn'>;

const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;
const NEW_KEY =
  'make one with: node -p "crypto.randomBytes(32).toString(\'base64\')", and set GRAPHCRED_STORE_KEY to it';

/**
 * The 32 bytes that the file store encrypts with: given as text, in a named file, else in `store.key` of the
 * config folder, which is made when `mode` is `create`. Throws STORE_UNAVAILABLE.
 */
export async function loadKey(options: KeyOptions, mode: 'create'): Promise<Buffer>;
export async function loadKey(options: KeyOptions, mode: 'existing'): Promise<Buffer | undefined>;
export async function loadKey(options: KeyOptions, mode: 'create' | 'existing'): Promise<Buffer | undefined> {
  if (options.storeKey) return decode(options.storeKey.reveal(), 'the key in GRAPHCRED_STORE_KEY');
  if (options.storeKeyFile) return readNamedKey(options.storeKeyFile, options.warn);
  const file = path.join(options.configDir, 'store.key');
  const existing = await readGeneratedKey(file);
  if (existing || mode === 'existing') return existing;
  (await import('./make-key.js')).makeKey(file);
  const made = await readGeneratedKey(file);
  if (made) return made;
  throw new GraphException('STORE_UNAVAILABLE', `the key file ${file} vanished while it was being made`, {
    hint: 'run the command again',
  });
}

function decode(text: string, what: string): Buffer {
  const trimmed = text.trim();
  const key = KEY.test(trimmed) ? Buffer.from(trimmed, 'base64') : undefined;
  if (key?.length === 32) return key;
  throw new GraphException('STORE_UNAVAILABLE', `${what} is not 32 bytes in base64`, { hint: NEW_KEY });
}

/** A file the user named: it may be a link or belong to root, as secrets mounted into containers do. */
function readNamedKey(file: string, warn: (message: string) => void): Buffer {
  let text: string;
  try {
    const mode = process.geteuid ? fs.statSync(file).mode : 0o600;
    if ((mode & 0o022) !== 0) {
      throw new GraphException('STORE_UNAVAILABLE', `other users can change the key file ${file}`, {
        hint: `chmod 600 ${file}`,
      });
    }
    if ((mode & 0o044) !== 0) warn(`other users can read the key file ${file}; chmod 600 it`);
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof GraphException) throw error;
    throw new GraphException('STORE_UNAVAILABLE', `cannot read the key file ${file}: ${errnoOf(error)}`, {
      hint: `check GRAPHCRED_STORE_KEY_FILE, or ${NEW_KEY}`,
    });
  }
  return decode(text, `the key file ${file}`);
}

async function readGeneratedKey(file: string): Promise<Buffer | undefined> {
  for (let attempt = 1; ; attempt++) {
    const checked = readChecked(file);
    if (checked === undefined) return undefined;
    if ('refused' in checked) {
      throw new GraphException('STORE_UNAVAILABLE', `the key file ${file} is not used: ${checked.refused}`, {
        hint: `remove ${file} and log in again, or set GRAPHCRED_STORE_KEY`,
      });
    }
    // Where hard links do not exist another process may be between creating the file and filling it.
    if (checked.text !== '' || attempt === 20) return decode(checked.text, `the key file ${file}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
