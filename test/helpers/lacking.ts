import fs from 'node:fs';
import path from 'node:path';

/** Returns those of the programs that are not installed, and prints what is skipped for lack of them. */
export function lacking(what: string, ...programs: readonly string[]): readonly string[] {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const absent = programs.filter(
    (program) => !folders.some((folder) => fs.existsSync(path.join(folder, program))),
  );
  if (absent.length > 0) console.log(`skipped: ${what}: not installed: ${absent.join(', ')}`);
  return absent;
}
