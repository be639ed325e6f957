import fs from 'node:fs';
import path from 'node:path';
import { type MockInstance, onTestFinished, vi } from 'vitest';

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
  put(home, path.relative(home, configOf(home)), content);

/** Returns the folder of the records. */
export const stateOf = (home: string) => path.join(home, '.local/state/graphcred');

/** Returns the folders below this home in which graphcred stores files. */
export const foldersOf = (home: string) => ({
  stateDir: stateOf(home),
  configDir: path.dirname(configOf(home)),
});

/** Returns the records of saved secrets. */
export function secretFiles(home: string): string[] {
  const names = fs.readdirSync(stateOf(home)).filter((name) => /^secret-.*\.json$/.test(name));
  return names.map((name) => path.join(stateOf(home), name));
}

/** Returns the profiles of the user's own config file. */
export const profilesOf = (home: string) => JSON.parse(fs.readFileSync(configOf(home), 'utf8')).profiles;

const failing = (code: string) => Object.assign(new Error(code), { code });

/** Until the end of the test, or until it is restored, no record of this kind can be removed. */
export function unremovable(kind: 'token' | 'secret', code = 'EIO'): MockInstance {
  const remove = fs.unlinkSync;
  const spy = vi.spyOn(fs, 'unlinkSync').mockImplementation((file) => {
    if (new RegExp(`${kind}-[0-9a-f-]+\\.json$`).test(String(file))) throw failing(code);
    remove(file);
  });
  onTestFinished(() => spy.mockRestore());
  return spy;
}

/** Until the end of the test, or until it is restored, the secret with this alias cannot be saved. */
export function unsavable(alias: string): MockInstance {
  const rename = fs.renameSync;
  const spy = vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
    if (fs.readFileSync(from, 'utf8').includes(`"alias":"${alias}"`)) throw failing('EROFS');
    rename(from, to);
  });
  onTestFinished(() => spy.mockRestore());
  return spy;
}
