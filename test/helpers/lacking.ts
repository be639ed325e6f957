// Says which tests cannot run on this machine.
import fs from 'node:fs';
import path from 'node:path';

/** Returns those of the programs that are not installed. */
export function absent(programs: readonly string[]): readonly string[] {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return programs.filter((program) => !folders.some((folder) => fs.existsSync(path.join(folder, program))));
}

/** Returns what is missing of the programs and how to install it; `undefined` if nothing is. */
export function missing(programs: readonly string[], remedy: string): string | undefined {
  const gone = absent(programs);
  return gone.length > 0 ? `not installed: ${gone.join(', ')} (${remedy})` : undefined;
}

/** Prints and returns why tests are skipped; `undefined` if they are not. Throws if the named variable requires them. */
export function skipped(what: string, problem: string | undefined, variable = ''): string | undefined {
  if (problem === undefined) return undefined;
  if (process.env[variable] === 'required')
    throw new Error(`the ${what} tests are required, but cannot run here: ${problem}`);
  console.warn(`${what} tests skipped: ${problem}`);
  return problem;
}

/** Returns those of the programs that are not installed, and prints what is skipped for lack of them. */
export function lacking(what: string, ...programs: readonly string[]): readonly string[] {
  const gone = absent(programs);
  if (gone.length > 0) skipped(what, `not installed: ${gone.join(', ')}`);
  return gone;
}
