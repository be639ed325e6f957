import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';
import { checkConfig } from './schema.js';

/** The keys `login` writes. A credential has no place among them. */
export type ProfileToWrite = Readonly<Record<string, string | number | Readonly<Record<string, string>>>>;

/**
 * Adds or replaces one profile in the user's `config.json`, leaving the rest as it is.
 * @returns the file written
 * @throws GraphException CONFIG_INVALID when the user's file is YAML or cannot be read or written
 */
export function writeProfile(configDir: string, name: string, profile: ProfileToWrite): string {
  for (const yaml of ['config.yaml', 'config.yml']) {
    const other = path.join(configDir, yaml);
    if (!fs.existsSync(other)) continue;
    throw new GraphException(
      'CONFIG_INVALID',
      `${other} is YAML, which graphcred reads but does not rewrite.`,
      {
        hint: `add the profile ${name} to it by hand; .graphcredrc.example shows how`,
      },
    );
  }
  const file = path.join(configDir, 'config.json');
  const data = readExisting(file);
  const others = data.profiles as Record<string, object> | undefined;
  const old = others?.[name] as { tls?: object } | undefined;
  const tls = typeof profile.tls === 'object' && { tls: { ...old?.tls, ...profile.tls } };
  const profiles = { ...others, [name]: { ...old, ...profile, ...tls } };
  const next = { ...(data.defaultProfile === undefined ? { defaultProfile: name } : {}), ...data, profiles };
  checkConfig(file, next);
  replaceFile(followed(file), `${JSON.stringify(next, null, 2)}\n`);
  return file;
}

/** Who keeps settings elsewhere and links to them wants to keep the link. */
function followed(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}

/** Puts a whole file of the user's in place of the old one, or changes nothing. Throws CONFIG_INVALID. */
export function replaceFile(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
    fs.renameSync(temporary, file);
  } catch (error) {
    try {
      fs.unlinkSync(temporary);
    } catch {
      // It was never made.
    }
    const { code } = error as NodeJS.ErrnoException;
    throw new GraphException('CONFIG_INVALID', `${file} cannot be written (${code}).`, {
      hint: 'look at the owner and mode of its folder, and at the room on the disk',
    });
  }
}

function readExisting(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new GraphException('CONFIG_INVALID', `${file} cannot be read.`, {
      hint: 'look at its owner and mode',
    });
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new GraphException('CONFIG_INVALID', `${file} is not valid JSON.`, {
      hint: 'correct it, then log in again',
    });
  }
}
