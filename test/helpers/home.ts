import fs from 'node:fs';
import path from 'node:path';

/** Returns the path of the user's own config file. */
export const configOf = (home: string) => path.join(home, '.config/graphcred/config.json');

/** Writes a file below a home folder, which nobody else can read. Returns its path. */
export function put(home: string, name: string, content: unknown): string {
  const file = path.join(home, name);
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
  return file;
}

/** Writes the user's own config file. Returns its path. */
export const configure = (home: string, content: unknown) =>
  put(home, '.config/graphcred/config.json', content);

/** Returns the folder of the records. */
export const stateOf = (home: string) => path.join(home, '.local/state/graphcred');

/** Returns the records of saved secrets. */
export function secretFiles(home: string): string[] {
  const names = fs.readdirSync(stateOf(home)).filter((name) => /^secret-.*\.json$/.test(name));
  return names.map((name) => path.join(stateOf(home), name));
}

/** Returns the profiles of the user's own config file. */
export const profilesOf = (home: string) => JSON.parse(fs.readFileSync(configOf(home), 'utf8')).profiles;
