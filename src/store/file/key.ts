import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../../core/errors.js';
import { keepOthersOut, othersCanRead } from '../../files/access-list.js';
import {
  cannotWrite,
  createFile,
  ensurePrivateFolder,
  errnoOf,
  howToMend,
  readBounded,
  readChecked,
  temporaryName,
} from '../../files/private-files.js';
import { problemOf } from '../../files/problem-of.js';
import type { StoreOptions } from '../store.js';

type KeyOptions = Pick<StoreOptions, 'configDir' | 'storeKey' | 'storeKeyFile' | 'timeoutMs' | 'warn'>;

const MAX_KEY_BYTES = 4096;
const DEFAULT_TIMEOUT_MS = 30_000;

const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/**
 * Loads the 32-byte key of the file store: the one given as text, else in a named file, else in `store.key` of the
 * config folder, which is created when `mode` is `create`. Throws STORE_UNAVAILABLE.
 */
export async function loadKey(options: KeyOptions, mode: 'create'): Promise<Buffer>;
export async function loadKey(options: KeyOptions, mode: 'existing'): Promise<Buffer | undefined>;
export async function loadKey(options: KeyOptions, mode: 'create' | 'existing'): Promise<Buffer | undefined> {
  const given = await loadNamedKey(options);
  if (given) return given;
  const file = path.join(options.configDir, 'store.key');
  const existing = await readGeneratedKey(file);
  if (existing || mode === 'existing') return existing;
  makeKey(file);
  const made = await readGeneratedKey(file);
  if (made) return made;
  throw fault(`the key file ${file} vanished while it was being made`, 'run the command again');
}

/** Loads the key that was given as text or in a named file; undefined when none was. Throws STORE_UNAVAILABLE. */
export async function loadNamedKey(options: KeyOptions): Promise<Buffer | undefined> {
  if (options.storeKey) return decode(options.storeKey.reveal(), 'the key in GRAPHCRED_STORE_KEY');
  const named = options.storeKeyFile;
  return named === undefined
    ? undefined
    : decode(await readNamedKey(named, options), `the key file ${named}`);
}

function decode(text: string, what: string, hint = NEW_KEY): Buffer {
  const trimmed = text.trim();
  const key = KEY.test(trimmed) ? Buffer.from(trimmed, 'base64') : undefined;
  if (key?.length === 32) return key;
  throw fault(`${what} is not 32 bytes in base64`, hint);
}

async function readGeneratedKey(file: string): Promise<Buffer | undefined> {
  for (let attempt = 1; ; attempt++) {
    const checked = readChecked(file, MAX_KEY_BYTES, true);
    if (checked === undefined) return undefined;
    if ('refused' in checked) {
      const why = checked.refused;
      throw fault(`the key file ${file} is not used: ${why}`, howToMend(file, why) ?? makeAnother(file));
    }
    // Without hard links another process may have created the file but not filled it yet.
    if (checked.text !== '' || attempt === 20)
      return decode(checked.text, `the key file ${file}`, makeAnother(file));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/**
 * Reads a key file that the user named. It may be a pipe, a link, or belong to root, as secrets mounted into containers
 * do.
 */
async function readNamedKey(file: string, { warn, timeoutMs }: KeyOptions): Promise<string> {
  let read: { bytes: Buffer; stat: fs.Stats };
  try {
    read = await readBounded(file, { maxBytes: MAX_KEY_BYTES, timeoutMs: timeoutMs ?? DEFAULT_TIMEOUT_MS });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const hint = `check GRAPHCRED_STORE_KEY_FILE, or ${NEW_KEY}`;
    throw fault(`cannot read the key file ${file}: ${code ?? message}`, hint);
  }
  const uid = process.geteuid?.();
  const problem = problemOf(file, read.stat, uid);
  if (problem) throw fault(`the key file ${file} is not used: ${problem.message}`, problem.mend);
  if (othersCanRead(file, read.stat.mode, uid))
    warn(`other users can read the key file ${file}: ${keepOthersOut(file)}`);
  return read.bytes.toString('utf8');
}

/** Creates the key file. If two processes do so at once, both use the key of the first. Throws STORE_UNAVAILABLE. */
export function makeKey(file: string): void {
  ensurePrivateFolder(path.dirname(file));
  const text = `${process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64')}\n`;
  const temporary = temporaryName(file);
  try {
    createFile(temporary, text);
    try {
      fs.linkSync(temporary, file);
    } catch {
      // Not every file system has hard links. A key that another process has made meanwhile is not replaced.
      createFile(file, text);
    } finally {
      fs.rmSync(temporary, { force: true });
    }
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw cannotWrite(path.dirname(file), error);
  }
}

const NEW_KEY =
  'make one with: node -p "crypto.randomBytes(32).toString(\'base64\')", and set GRAPHCRED_STORE_KEY to it';

function fault(message: string, hint: string): GraphException {
  return new GraphException('STORE_UNAVAILABLE', message, { hint, setting: 'storeKey' });
}

const makeAnother = (file: string) => `remove ${file} and log in again, or set GRAPHCRED_STORE_KEY`;
