const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts a text, and authenticates the context with it. Returns IV, tag and ciphertext. @param key 32 bytes */
export function encrypt(key: Buffer, context: string, text: string): Buffer {
  const { randomBytes, createCipheriv } = process.getBuiltinModule('node:crypto');
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(context));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), encrypted]);
}

/** Decrypts a text. Undefined when the key, the context or any byte differs from those it was encrypted with. */
export function decrypt(key: Buffer, context: string, encrypted: Buffer): string | undefined {
  if (encrypted.length < IV_BYTES + TAG_BYTES) return undefined;
  const { createDecipheriv } = process.getBuiltinModule('node:crypto');
  const iv = encrypted.subarray(0, IV_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(encrypted.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    const text = decipher.update(encrypted.subarray(IV_BYTES + TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
