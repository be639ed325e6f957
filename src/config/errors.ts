import { type Fix, GraphException, type Hint } from '../core/errors.js';
import { shellWord } from '../files/shell-word.js';
import { type ConfigKey, isInFile, type LoadedFile, type Settings } from './keys.js';

/** Creates the error for a config file that cannot be used. */
export function configError(message: string, hint: Hint): GraphException {
  return new GraphException('CONFIG_INVALID', message, { hint });
}

/** Creates the error for a setting of a config file. It never shows the value, which may be a password. */
export function keyError(
  file: string,
  path: readonly string[],
  problem: string,
  hint: Hint = 'correct the file; to see all settings: graphcred help environment',
): GraphException {
  // A name with other characters is quoted, so that it cannot run into the sentence.
  const names = path.map((name) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name)));
  const what = names.join('.') || 'the file';
  return configError(`${file}: ${what} ${problem}.`, hint);
}

export function formatError(file: string, line: number | undefined, format: string): GraphException {
  const at = line === undefined ? '' : `, line ${line}`;
  return configError(
    `${file}${at}: this is not valid ${format}.`,
    'correct the file, or name another one with --config',
  );
}

/** @param source what names it. @param hidden the user's own config file, when `file`, which is in force, is another one */
export function noSuchProfile(name: string, source: string, file?: LoadedFile, hidden?: string) {
  const names = [...(file?.config.profiles.keys() ?? [])].join(', ');
  const there: Fix[] = names
    ? [`its profiles are: ${names}${source && '; choose one with -p NAME'}`]
    : ['create it', { command: `login -p ${shellWord(name)}` }];
  const own = file?.place === 'user' ? 'your own config file, ' : '';
  const where = file ? ` in ${own}${file.path}` : ': no config file was found';
  const message = `There is no profile ${JSON.stringify(name)}${source && ` (${source})`}${where}.`;
  const hint = hidden === undefined ? there : [hidesOwn(file?.path, hidden), ...there];
  return new GraphException('NOT_FOUND', message, { hint });
}

export function hidesOwn(file: string | undefined, hidden: string): string {
  return `${file} is used in place of your own profiles in ${hidden}; to use those: --config ${shellWord(hidden)}`;
}

/** Refuses a value that is not valid. Throws USAGE when a flag or variable set it, CONFIG_INVALID when a file did. */
export function refuseValue(
  settings: Pick<Settings, 'all' | 'file'>,
  key: ConfigKey,
  problem: string,
  hint: Hint,
): never {
  const [setting] = settings.all[key];
  const fromFile = isInFile(setting?.level);
  const label = setting?.label ?? key;
  const where = fromFile ? `${settings.file?.path}: the value of ${label}` : `The value of ${label}`;
  throw new GraphException(fromFile ? 'CONFIG_INVALID' : 'USAGE', `${where} ${problem}.`, { hint });
}
