import fs from 'node:fs';
import { GraphException } from '../core/errors.js';
import { errnoOf } from './files.js';
import { NEW_KEY } from './key-faults.js';

/** A file the user named: it may be a link or belong to root, as secrets mounted into containers do. */
export function readNamedKey(file: string, warn: (message: string) => void): string {
  try {
    const mode = process.geteuid ? fs.statSync(file).mode : 0o600;
    if ((mode & 0o022) !== 0) {
      throw new GraphException('STORE_UNAVAILABLE', `other users can change the key file ${file}`, {
        hint: `chmod 600 ${file}`,
      });
    }
    if ((mode & 0o044) !== 0) warn(`other users can read the key file ${file}; chmod 600 it`);
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof GraphException) throw error;
    throw new GraphException('STORE_UNAVAILABLE', `cannot read the key file ${file}: ${errnoOf(error)}`, {
      hint: `check GRAPHCRED_STORE_KEY_FILE, or ${NEW_KEY}`,
    });
  }
}
