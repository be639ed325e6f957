import path from 'node:path';
import { readChecked } from './files.js';
import { notAKey, notUsed, vanished } from './key-faults.js';
import type { StoreOptions } from './store.js';

type KeyOptions = Pick<StoreOptions, 'configDir' | 'storeKey' | 'storeKeyFile' | 'warn'>;

const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/**
 * The 32 bytes that the file store encrypts with: given as text, in a named file, else in `store.key` of the
 * config folder, which is made when `mode` is `create`. Throws STORE_UNAVAILABLE.
 */
export async function loadKey(options: KeyOptions, mode: 'create'): Promise<Buffer>;
export async function loadKey(options: KeyOptions, mode: 'existing'): Promise<Buffer | undefined>;
export async function loadKey(options: KeyOptions, mode: 'create' | 'existing'): Promise<Buffer | undefined> {
  if (options.storeKey) return decode(options.storeKey.reveal(), 'the key in GRAPHCRED_STORE_KEY');
  const named = options.storeKeyFile;
  if (named !== undefined)
    return decode(
      (await import('./named-key.js')).readNamedKey(named, options.warn),
      `the key file ${named}`,
    );
  const file = path.join(options.configDir, 'store.key');
  const existing = await readGeneratedKey(file);
  if (existing || mode === 'existing') return existing;
  (await import('./make-key.js')).makeKey(file);
  const made = await readGeneratedKey(file);
  if (made) return made;
  throw vanished(file);
}

function decode(text: string, what: string): Buffer {
  const trimmed = text.trim();
  const key = KEY.test(trimmed) ? Buffer.from(trimmed, 'base64') : undefined;
  if (key?.length === 32) return key;
  throw notAKey(what);
}

async function readGeneratedKey(file: string): Promise<Buffer | undefined> {
  for (let attempt = 1; ; attempt++) {
    const checked = readChecked(file);
    if (checked === undefined) return undefined;
    if ('refused' in checked) throw notUsed(file, checked.refused);
    // Where hard links do not exist another process may be between creating the file and filling it.
    if (checked.text !== '' || attempt === 20) return decode(checked.text, `the key file ${file}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
