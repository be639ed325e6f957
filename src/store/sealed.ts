import { Sensitive } from '../core/sensitive.js';
import { openAesGcm } from './aes-gcm.js';
import type { StoreRecord } from './store.js';

export const IV_BYTES = 12;
export const TAG_BYTES = 16;

/** The value, or undefined when key, record or text are not those it was sealed with. */
export function unseal(key: Buffer, record: StoreRecord, sealed: string): Sensitive | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
  const [iv, tag, text] = [
    bytes.subarray(0, IV_BYTES),
    bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES),
    bytes.subarray(IV_BYTES + TAG_BYTES),
  ];
  const value = openAesGcm(key, iv, canonical(record), text, tag);
  return value && new Sensitive(value.toString('utf8'));
}

/** The record as bytes that do not depend on the order of its fields. */
export function canonical(record: StoreRecord): Buffer {
  const { v, kind, key, store, createdAtUnix, expiresAtUnix, info } = record;
  const sorted = Object.entries(info).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(JSON.stringify([v, kind, key, store, createdAtUnix, expiresAtUnix ?? null, sorted]));
}
