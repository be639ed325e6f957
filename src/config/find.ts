import fs from 'node:fs';
import path from 'node:path';
import { GraphException } from '../core/errors.js';

const RC_NAMES = ['.graphcredrc', '.graphcredrc.json', '.graphcredrc.yaml', '.graphcredrc.yml'];
const USER_NAMES = ['config.json', 'config.yaml', 'config.yml'];

/** Where a config file came from; decides whether it is trusted. */
export type ConfigPlace = 'named' | 'found' | 'home' | 'user';

export interface ConfigLocation {
  readonly path: string;
  readonly place: ConfigPlace;
}

export interface FindOptions {
  /** The value of `--config` or `GRAPHCRED_CONFIG`. */
  named?: string | undefined;
  cwd: string;
  home: string;
  /** `$XDG_CONFIG_HOME/graphcred` */
  configDir: string;
}

/**
 * The one config file in force, or undefined. Only data formats are ever looked for, and nothing is
 * imported or executed to find one.
 * @throws GraphException CONFIG_INVALID when one folder holds two, or when the named file is not there
 */
export function findConfig(options: FindOptions): ConfigLocation | undefined {
  if (options.named !== undefined) {
    const file = path.resolve(options.cwd, options.named);
    if (!isFile(file)) {
      throw new GraphException('CONFIG_INVALID', `There is no config file at ${file}.`, {
        hint: 'check --config and GRAPHCRED_CONFIG, or make the file with: graphcred login',
      });
    }
    return { path: file, place: 'named' };
  }
  for (let dir = path.resolve(options.cwd); ; dir = path.dirname(dir)) {
    const found = onlyOne(dir, RC_NAMES);
    if (found) return { path: found, place: dir === options.home ? 'home' : 'found' };
    if (dir === path.dirname(dir)) break;
  }
  const rc = path.join(options.home, '.graphcredrc');
  if (isFile(rc)) return { path: rc, place: 'home' };
  const user = onlyOne(options.configDir, USER_NAMES);
  return user === undefined ? undefined : { path: user, place: 'user' };
}

function onlyOne(dir: string, names: readonly string[]): string | undefined {
  const found = names.map((name) => path.join(dir, name)).filter(isFile);
  if (found.length > 1) {
    throw new GraphException('CONFIG_INVALID', `Two config files in one folder: ${found.join(' and ')}.`, {
      hint: 'keep one of them; graphcred never merges config files',
    });
  }
  return found[0];
}

function isFile(file: string): boolean {
  // Mostly there is none, and asking only that costs a tenth of the rest.
  if (!fs.existsSync(file)) return false;
  // A folder that may not be entered counts as empty, like everywhere in a search upwards.
  try {
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
