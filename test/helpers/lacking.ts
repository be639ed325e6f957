import fs from 'node:fs';
import path from 'node:path';

/** Returns those of the programs that are not installed. */
export function absent(programs: readonly string[]): readonly string[] {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return programs.filter((program) => !folders.some((folder) => fs.existsSync(path.join(folder, program))));
}

/** Does the same, and prints what is skipped for lack of them. */
export function lacking(what: string, ...programs: readonly string[]): readonly string[] {
  const gone = absent(programs);
  if (gone.length > 0) console.log(`skipped: ${what}: not installed: ${gone.join(', ')}`);
  return gone;
}
