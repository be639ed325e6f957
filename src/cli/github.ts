// What the runner of GitHub Actions reads of a step: commands on standard output, and files with values.
import fs from 'node:fs';
import { GraphException } from '../core/errors.js';
import { cannotWrite } from '../files/private-files.js';
import type { Ports } from '../run/ports.js';

/** Returns a line that is a command of the runner. The data can hold neither a line break nor another command. */
export function runnerCommand(name: string, data: string): string {
  return `::${name}::${data.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A')}`;
}

/** @throws GraphException INPUT_REQUIRED, USAGE when these variables do not name files of the runner */
export function requireRunnerFiles(env: Ports['env'], names: readonly string[], what: string): void {
  for (const name of names) {
    const file = env[name];
    const problem = `${what} needs the variable ${name}, which GitHub Actions sets.`;
    const hint = 'outside GitHub Actions use another format, for example -o env';
    if (!file) throw new GraphException('INPUT_REQUIRED', problem, { hint });
    written(file, () => fs.appendFileSync(file, '', { mode: 0o600 }));
  }
}

export function appendPairs(file = '', pairs: Readonly<Record<string, string | undefined>>): void {
  // The delimiter is random: a value that contained it could set further variables.
  const end = `graphcred_${process.getBuiltinModule('node:crypto').randomBytes(16).toString('hex')}`;
  const text = Object.entries(pairs)
    .map(([name, value]) => (value === undefined ? '' : `${name}<<${end}\n${value}\n${end}\n`))
    .join('');
  written(file, () => {
    // The end of a pipe or device may never come, so only a regular file is read.
    const isRegular = fs.statSync(file, { throwIfNoEntry: false })?.isFile();
    const before = isRegular ? fs.readFileSync(file, 'utf8') : '';
    const separator = before === '' || before.endsWith('\n') ? '' : '\n';
    fs.appendFileSync(file, separator + text, { mode: 0o600 });
  });
}

/** Writes a file. @throws GraphException USAGE naming it */
export function written(file: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw cannotWrite(file, error, 'USAGE');
  }
}
