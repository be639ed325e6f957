import fs from 'node:fs';
import path from 'node:path';
import { errnoOf } from './files.js';
import { cannotWrite, createFile, ensurePrivateFolder, temporaryName } from './write-files.js';

/** Makes the key file. Two processes may do this at once: the first one's key stands, and both use it. Throws STORE_UNAVAILABLE. */
export function makeKey(file: string): void {
  ensurePrivateFolder(path.dirname(file));
  const text = `${process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64')}\n`;
  const temporary = temporaryName(file);
  try {
    createFile(temporary, text);
    try {
      fs.linkSync(temporary, file);
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') createFile(file, text);
    } finally {
      fs.rmSync(temporary, { force: true });
    }
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw cannotWrite(path.dirname(file), error);
  }
}
