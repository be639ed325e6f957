import type { Sensitive } from '../core/sensitive.js';
import { loadKey } from './key.js';
import { readEntry } from './records.js';
import { canonical, IV_BYTES, TAG_BYTES } from './sealed.js';
import type { StoreOptions, StoreRecord } from './store.js';
import { sweep } from './sweep.js';
import { stageEntry } from './write-records.js';

/** Encrypts a value into its record's file, and takes it away from where it was before. Throws STORE_UNAVAILABLE. */
export async function writeSealed(
  options: StoreOptions,
  record: StoreRecord,
  value: Sensitive,
): Promise<void> {
  const { stateDir } = options;
  const key = await loadKey(options, 'create');
  const kept: StoreRecord = { ...record, store: 'file' };
  const before = readEntry(stateDir, record.key, () => {});
  stageEntry(stateDir, { record: kept, sealed: seal(key, kept, value) }).commit();
  sweep(options);
  if (before?.record.store === 'keychain') {
    const { forgetKeychainValue } = await import('./keychain.js');
    await forgetKeychainValue(options, record.key);
  }
}

/** iv, tag and ciphertext in one base64 string. */
function seal(key: Buffer, record: StoreRecord, value: Sensitive): string {
  const crypto = process.getBuiltinModule('node:crypto');
  const iv = crypto.randomBytes(IV_BYTES);
  const cipher = crypto.createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(canonical(record));
  const text = Buffer.concat([cipher.update(value.reveal(), 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64');
}
