import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assignment } from '../../src/cli/print-token.js';
import { temporaryHome } from '../helpers/cli.js';
import { PROPERTY_MS, RUNS } from '../helpers/property.js';

interface Shell {
  readonly program: string;
  readonly args?: readonly string[];
  readonly syntax?: 'fish' | 'powershell';
}

const SHELLS: readonly Shell[] = [
  { program: 'sh' },
  { program: 'dash' },
  { program: 'bash' },
  { program: 'bash', args: ['--posix'] },
  { program: 'zsh' },
  { program: 'ksh' },
  { program: 'busybox', args: ['sh'] },
  { program: 'fish', args: ['--no-config'], syntax: 'fish' },
  { program: 'pwsh', args: ['-NoProfile', '-File'], syntax: 'powershell' },
];

const isThere = ({ program }: Shell) =>
  (process.env.PATH ?? '').split(path.delimiter).some((folder) => fs.existsSync(path.join(folder, program)));

// These values often contain characters that a shell interprets, and may contain any other character except the zero byte, which no variable can
// hold.
const special = fc.constantFrom(
  ...'\'"\\$`!*?~#&|;<>(){}[]= \t\n\r%^',
  '$(touch x)',
  '$HOME',
  "'\\''",
  '\\\n',
  '‘',
  '’',
  '‚',
  '‛',
);
const value = fc
  .array(fc.oneof(special, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 12 })
  .map((parts) => parts.join('').replaceAll('\0', ''));

const BATCH = 200;

describe.each(SHELLS)('$program $args', (shell) => {
  const there = isThere(shell);
  if (!there) console.log(`evaluating env output with ${shell.program} is skipped: it is not installed`);

  test.skipIf(!there)(
    'reads back every value that was written as an assignment',
    () => {
      // PowerShell requires this ending, and reads a file as UTF-8 only if it starts with a byte order mark.
      const file = path.join(temporaryHome(), 'script.ps1');
      const show =
        shell.syntax === 'powershell'
          ? '[Console]::Out.Write($env:TG_API_TOKEN + "`0")'
          : 'printf \'%s\\0\' "$TG_API_TOKEN"';
      fc.assert(
        fc.property(fc.array(value, { minLength: BATCH, maxLength: BATCH }), (values) => {
          const script = values
            .map((text) => `${assignment('TG_API_TOKEN', text, shell.syntax)}\n${show}\n`)
            .join('');
          fs.writeFileSync(file, shell.syntax === 'powershell' ? `\ufeff${script}` : script);
          const { stdout, stderr, status } = spawnSync(shell.program, [...(shell.args ?? []), file], {
            encoding: 'utf8',
            env: { PATH: process.env.PATH, LANG: 'C.UTF-8', HOME: '/nonexistent' },
          });
          expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
          expect(stdout.split('\0').slice(0, -1)).toEqual(values);
        }),
        { numRuns: Math.ceil(RUNS.numRuns / BATCH) },
      );
    },
    PROPERTY_MS,
  );
});
